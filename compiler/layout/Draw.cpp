// SPDX-License-Identifier: Apache-2.0
// Fills the table of a drawing and writes it.
#include "compiler/layout/Draw.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "fattn/Error.h"

namespace fattn::layout {
namespace {

struct Window {
  std::int64_t rows, columns, ofRows, ofColumns;
  Coords coords(std::int64_t row, std::int64_t column, std::size_t rank) const { return rank == 1 ? Coords{column} : Coords{row, column}; }
  std::string note() const {
    if (rows == ofRows && columns == ofColumns) return "";
    return fmt::format("; first {} of {} rows, first {} of {} columns", rows, ofRows, columns, ofColumns);
  }
};

Window windowOf(const Coords& shape, std::int64_t rows, std::int64_t columns) {
  if (shape.empty() || shape.size() > 2) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("a tile of {} dimensions cannot be drawn; 1 and 2 can", shape.size()));
  }
  std::int64_t ofRows = shape.size() == 1 ? 1 : shape[0], ofColumns = shape.back();
  return {rows > 0 ? std::min(rows, ofRows) : ofRows, columns > 0 ? std::min(columns, ofColumns) : ofColumns, ofRows, ofColumns};
}

struct Holder {
  Coords first;
  int copies = 0;
};

Drawing drawRegisters(const NamedLayout& named, std::int64_t rows, std::int64_t columns) {
  const LinearLayout layout = named.registers->asTile(static_cast<int>(named.registers->outputs().size()));
  Coords shape = layout.outputShape();
  Window window = windowOf(shape, rows, columns);
  std::int64_t registers = layout.inputSize(kRegister), lanes = layout.inputSize(kLane), warps = layout.inputSize(kWarp);
  std::map<Coords, Holder> holders;
  for (std::int64_t w = 0; w < warps; ++w) {
    for (std::int64_t l = 0; l < lanes; ++l) {
      for (std::int64_t r = 0; r < registers; ++r) {
        Holder& holder = holders[layout.apply({r, l, w})];
        if (holder.copies++ == 0) holder.first = {r, l, w};
      }
    }
  }
  Drawing drawing;
  drawing.title = fmt::format("{}: {} elements, {} register(s) a lane, {} lanes, {} warp(s)", named.name, fmt::join(shape, " x "),
                              registers, lanes, warps);
  drawing.legend =
      fmt::format("cell = {}lane:register{}{}", warps > 1 ? "warp." : "", layout.isInjective() ? "" : "+further copies", window.note());
  drawing.shades = static_cast<int>(lanes);
  for (std::int64_t column = 0; column < window.columns; ++column) drawing.columns.push_back(std::to_string(column));
  for (std::int64_t row = 0; row < window.rows; ++row) {
    drawing.rows.push_back(std::to_string(row));
    drawing.cells.emplace_back();
    drawing.colours.emplace_back();
    for (std::int64_t column = 0; column < window.columns; ++column) {
      const Holder& holder = holders.at(window.coords(row, column, shape.size()));
      std::string cell = warps > 1 ? fmt::format("{}.", holder.first[2]) : "";
      cell += fmt::format("{}:{}", holder.first[1], holder.first[0]);
      if (holder.copies > 1) cell += fmt::format("+{}", holder.copies - 1);
      drawing.cells.back().push_back(std::move(cell));
      drawing.colours.back().push_back(static_cast<int>(holder.first[1]));
    }
  }
  return drawing;
}

/// The widest vector, up to 16 bytes, whose elements lie behind each other everywhere.
std::int64_t unitOf(const SharedLayout& layout, const Coords& shape, const Window& window, int bits) {
  std::int64_t unit = std::max(1, 128 / bits);
  auto holds = [&](std::int64_t candidate) {
    if (shape.back() % candidate) return false;
    for (std::int64_t row = 0; row < window.rows; ++row) {
      for (std::int64_t column = 0; column < window.columns; ++column) {
        std::int64_t first = column - column % candidate;
        if (layout.offsetOf(window.coords(row, column, shape.size())) !=
            layout.offsetOf(window.coords(row, first, shape.size())) + column - first)
          return false;
      }
    }
    return true;
  };
  while (unit > 1 && !holds(unit)) unit /= 2;
  return unit;
}

Drawing drawShared(const NamedLayout& named, std::int64_t rows, std::int64_t columns) {
  const SharedLayout& layout = *named.shared;
  Coords shape = layout.elements().outputShape();
  Window window = windowOf(shape, rows, columns);
  std::int64_t unit = unitOf(layout, shape, window, named.bits);
  Drawing drawing;
  drawing.title = fmt::format("{}: {} elements of {} bits, {} bytes of shared memory", named.name, fmt::join(shape, " x "), named.bits,
                              layout.size() * named.bits / 8);
  drawing.legend = fmt::format("cell = byte offset of {} element(s) @ bank (32 banks of 4 bytes){}", unit, window.note());
  for (std::int64_t column = 0; column < window.columns; column += unit) drawing.columns.push_back(std::to_string(column));
  for (std::int64_t row = 0; row < window.rows; ++row) {
    drawing.rows.push_back(std::to_string(row));
    drawing.cells.emplace_back();
    drawing.colours.emplace_back();
    for (std::int64_t column = 0; column < window.columns; column += unit) {
      std::int64_t offset = layout.offsetOf(window.coords(row, column, shape.size())) * named.bits / 8;
      drawing.cells.back().push_back(fmt::format("{}@{}", offset, offset / 4 % 32));
      drawing.colours.back().push_back(static_cast<int>(offset / 4 % 32));
    }
  }
  return drawing;
}

}  // namespace

Drawing draw(const NamedLayout& layout, std::int64_t rows, std::int64_t columns) {
  return layout.registers ? drawRegisters(layout, rows, columns) : drawShared(layout, rows, columns);
}

std::string text(const Drawing& drawing) {
  std::size_t width = 0, heading = 0;
  for (const std::string& name : drawing.columns) width = std::max(width, name.size());
  for (const std::string& name : drawing.rows) heading = std::max(heading, name.size());
  for (const auto& row : drawing.cells) {
    for (const std::string& cell : row) width = std::max(width, cell.size());
  }
  std::string result = fmt::format("{}\n{}\n\n{:{}} |", drawing.title, drawing.legend, "", heading);
  for (const std::string& name : drawing.columns) result += fmt::format(" {:>{}}", name, width);
  result += fmt::format("\n{:->{}}+{:->{}}\n", "", heading + 1, "", drawing.columns.size() * (width + 1));
  for (std::size_t row = 0; row < drawing.rows.size(); ++row) {
    result += fmt::format("{:>{}} |", drawing.rows[row], heading);
    for (const std::string& cell : drawing.cells[row]) result += fmt::format(" {:>{}}", cell, width);
    result += "\n";
  }
  return result;
}

std::string svg(const Drawing& drawing) {
  constexpr int kHeight = 22, kLeft = 40, kTop = 64;
  std::size_t longest = 3;
  for (const auto& row : drawing.cells) {
    for (const std::string& cell : row) longest = std::max(longest, cell.size());
  }
  int cellWidth = static_cast<int>(longest) * 7 + 8;
  int width = std::max(kLeft + static_cast<int>(drawing.columns.size()) * cellWidth + 10, static_cast<int>(drawing.title.size()) * 8 + 20);
  int height = kTop + static_cast<int>(drawing.rows.size()) * kHeight + 10;
  std::string result = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" font-family=\"monospace\" font-size=\"11\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n<text x=\"8\" y=\"18\" font-size=\"13\">{2}</text>\n<text x=\"8\" "
      "y=\"36\">{3}</text>\n",
      width, height, drawing.title, drawing.legend);
  for (std::size_t column = 0; column < drawing.columns.size(); ++column) {
    result += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"gray\">{}</text>\n",
                          kLeft + static_cast<int>(column) * cellWidth + cellWidth / 2, kTop - 6, drawing.columns[column]);
  }
  for (std::size_t row = 0; row < drawing.rows.size(); ++row) {
    int y = kTop + static_cast<int>(row) * kHeight;
    result += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"gray\">{}</text>\n", kLeft - 6, y + 15, drawing.rows[row]);
    for (std::size_t column = 0; column < drawing.columns.size(); ++column) {
      int x = kLeft + static_cast<int>(column) * cellWidth;
      result += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"hsl({},70%,82%)\" stroke=\"gray\"/><text x=\"{}\" y=\"{}\" "
          "text-anchor=\"middle\">{}</text>\n",
          x, y, cellWidth, kHeight, drawing.colours[row][column] * 360 / std::max(1, drawing.shades), x + cellWidth / 2, y + 15,
          drawing.cells[row][column]);
    }
  }
  return result + "</svg>\n";
}

}  // namespace fattn::layout
