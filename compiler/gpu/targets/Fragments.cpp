// SPDX-License-Identifier: Apache-2.0
// The table's names of layouts, and what they stand for in the layout library.
#include "compiler/gpu/Fragments.h"

#include <fmt/format.h>

#include "compiler/layout/Amd.h"
#include "compiler/layout/Nvidia.h"
#include "fattn/Error.h"

namespace fattn::gpu {

using layout::LinearLayout, layout::Operand;

namespace {

/// gfx11's accumulator has every second row in a lane, and the rows between in another lane. Which row of a tile an instruction computes as
/// its i-th is free, as long as A's rows and the accumulator's agree, and B's columns likewise: with the tile's row 8 (i % 2) + i / 2 as
/// its i-th a lane has eight rows that follow each other, as an operand of the next product holds them, and stores and loads of them are
/// wide.
LinearLayout inRuns(const LinearLayout& fragment, Operand operand) {
  std::vector<LinearLayout::Input> inputs;
  for (std::string_view name : {layout::kRegister, layout::kLane, layout::kWarp}) {
    LinearLayout::Input input{std::string(name), {}};
    for (int bit = 0; bit < fragment.inputBits(name); ++bit) input.bases.push_back(fragment.at({{name, std::int64_t{1} << bit}}));
    for (layout::Coords& basis : input.bases)
      for (std::size_t d = 0; d < basis.size(); ++d)
        if (operand == Operand::C || d == (operand == Operand::A ? 0U : 1U)) basis[d] = basis[d] / 2 + basis[d] % 2 * 8;
    inputs.push_back(std::move(input));
  }
  return LinearLayout(inputs, fragment.outputs(), fragment.repeats());
}

/// An operand's fragment with the depth renumbered so that a lane's numbers follow each other: its registers come first, then the lanes.
LinearLayout withWholeRuns(const LinearLayout& fragment, Operand operand) {
  const int depth = operand == Operand::A ? 1 : 0;
  const auto registers = static_cast<int>(fragment.inputSize(layout::kRegister)), size = static_cast<int>(fragment.outputShape()[depth]);
  const auto lines = static_cast<int>(fragment.outputShape()[1 - depth]);
  return (LinearLayout::identity(layout::kRegister, registers, layout::dim(depth)) *
          LinearLayout::identity(layout::kLane, lines, layout::dim(1 - depth)) *
          LinearLayout::identity(layout::kLane, size / registers, layout::dim(depth)))
      .asTile(2);
}

}  // namespace

LinearLayout fragmentOf(const MatrixInstruction& row, Operand operand, int depth, int bits) {
  if (row.layout == "mma.m16n8") return layout::nvidia::mma(operand, depth, bits);
  if (row.layout == "mfma") return layout::amd::mfma(operand, row.m, depth, bits);
  if (row.layout == "wmma.gfx11") return inRuns(layout::amd::wmma(11, operand, 32, bits), operand);
  if (row.layout == "wmma.gfx12") return layout::amd::wmma(12, operand, 32, bits);
  if (row.layout == "wmma.gfx12.runs") {
    const LinearLayout fragment = layout::amd::wmma(12, operand, 32, bits);
    return operand == Operand::C ? fragment : withWholeRuns(fragment, operand);
  }
  throw Error(ErrorCode::InvalidArgument, fmt::format("the instruction {} has no fragments in registers", row.name));
}

std::optional<GroupGrid> groupGridOf(const LinearLayout& accumulator, int64_t groupRows, int64_t groupWarps) {
  const int64_t warps = accumulator.inputSize(layout::kWarp), groups = warps / groupWarps;
  if (warps % groupWarps) return std::nullopt;
  auto startOf = [&](int64_t warp) { return accumulator.apply({0, 0, warp}); };
  GroupGrid grid{.rowStep = groupRows, .columnStep = accumulator.outputShape()[1]};
  while (grid.rows < groups && startOf(grid.rows * groupWarps)[1] == 0) ++grid.rows;
  if (groups % grid.rows) return std::nullopt;
  grid.columns = groups / grid.rows;
  if (grid.rows > 1) grid.rowStep = startOf(groupWarps)[0];
  if (grid.columns > 1) grid.columnStep = startOf(grid.rows * groupWarps)[1];
  if (grid.rowStep % groupRows) return std::nullopt;
  for (int64_t warp = 0; warp < warps; ++warp) {
    const int64_t group = warp / groupWarps, row = groupRows / groupWarps * (warp % groupWarps) + grid.rowStep * (group % grid.rows);
    if (startOf(warp) != layout::Coords{row, grid.columnStep * (group / grid.rows)}) return std::nullopt;
  }
  const int64_t together = grid.columnStep * grid.columns;
  grid.columnParts = accumulator.outputShape()[1] / together;
  for (int64_t r = 0; r < accumulator.inputSize(layout::kRegister); ++r)
    if (accumulator.apply({r, 0, 0})[1] % together >= grid.columnStep) return std::nullopt;
  return grid;
}

bool isMirrored(const MatrixInstruction& row, int depth, int bits) {
  const int swap[] = {1, 0};
  return row.m == row.stepN && fragmentOf(row, Operand::A, depth, bits).transpose(swap) == fragmentOf(row, Operand::B, depth, bits);
}

LinearLayout readAccessOf(const Target& target, const LinearLayout& fragment, int memoryDim, int bits) {
  if (target.shared.readsMatrices)
    if (auto access = layout::nvidia::matrixAccess(fragment, memoryDim, bits)) return access->access;
  return fragment;
}

layout::Banks banksOf(const Target& target) {
  return {.count = target.shared.banks, .bytes = target.shared.bankBytes, .wideGroup = target.shared.wideGroup};
}

}  // namespace fattn::gpu
