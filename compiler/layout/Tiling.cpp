// SPDX-License-Identifier: Apache-2.0
// Products of a fragment with registers and warps until a tile is covered.
#include "compiler/layout/Tiling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "compiler/layout/Invalid.h"

namespace fattn::layout {
namespace {

/// The copies of a fragment along one dimension, divided between warps, warps that only repeat others, and registers.
struct Split {
  std::int64_t warps = 1, idleWarps = 1, registers = 1;  // powers of two
  std::int64_t oddWarps = 1, oddRegisters = 1;
};

Split splitCopies(std::int64_t copies, std::int64_t warps, int d) {
  Split result;
  std::int64_t odd = copies / powerOfTwoIn(copies);
  result.warps = std::min(powerOfTwoIn(warps), powerOfTwoIn(copies));
  result.idleWarps = powerOfTwoIn(warps) / result.warps;
  result.registers = powerOfTwoIn(copies) / result.warps;
  result.oddWarps = warps / powerOfTwoIn(warps);
  if (odd % result.oddWarps) {
    invalid(fmt::format("{} warps along dimension {} cannot share {} copies of the fragment evenly", warps, d, copies));
  }
  result.oddRegisters = odd / result.oddWarps;
  return result;
}

/// The odd copies that a fragment brings along go outside of everything, so an even number of them cannot be beside each other.
LinearLayout repeatsOf(const LinearLayout& fragment) {
  std::vector<Axis> ins, outs;
  for (const Axis& axis : fragment.inputs()) ins.push_back({axis.name, 0});
  for (const Axis& axis : fragment.outputs()) outs.push_back({axis.name, 0});
  return LinearLayout::fromColumns(ins, outs, {}, fragment.repeats());
}

void checkOddWidths(const LinearLayout& fragment, int d, const Split& split) {
  std::int64_t extent = fragment.outputSize(dim(d)), even = split.warps * split.registers;
  if (extent != powerOfTwoIn(extent) && even > 1) {
    invalid(fmt::format("an even number of fragments of {} along dimension {} is not a linear layout", extent, d),
            fmt::format("fragments of {} divide the same tile", powerOfTwoIn(extent)));
  }
}

void checkSizes(const Coords& sizes, const char* what) {
  if (sizes.empty()) invalid(fmt::format("a tile without {}", what));
  for (std::int64_t size : sizes) {
    if (size < 1) invalid(fmt::format("{} of ({}): each has to be at least 1", what, fmt::join(sizes, ",")));
  }
}

}  // namespace

LinearLayout tileFragment(const LinearLayout& fragment, const Coords& shape, const Coords& warps, WarpOrder order) {
  checkSizes(shape, "dimensions");
  checkSizes(warps, "warps");
  if (warps.size() != shape.size()) invalid(fmt::format("warps ({}) for a tile of ({})", fmt::join(warps, ","), fmt::join(shape, ",")));
  int rank = static_cast<int>(shape.size());
  std::vector<Split> splits;
  for (int d = 0; d < rank; ++d) {
    std::int64_t extent = fragment.outputSize(dim(d));
    if (shape[d] % extent) {
      invalid(fmt::format("dimension {} of the tile is {}, which is no multiple of the fragment's {}", d, shape[d], extent),
              fmt::format("the nearest that is: {}", (shape[d] + extent - 1) / extent * extent));
    }
    splits.push_back(splitCopies(shape[d] / extent, warps[d], d));
    checkOddWidths(fragment, d, splits.back());
  }
  LinearLayout ofWarps, ofRegisters, result = fragment.linearPart();
  for (int d = 0; d < rank; ++d) {
    ofWarps = ofWarps * LinearLayout::identity(kWarp, splits[d].warps, dim(d)) * LinearLayout::broadcast(kWarp, splits[d].idleWarps);
  }
  for (int d = rank - 1; d >= 0; --d) ofRegisters = ofRegisters * LinearLayout::identity(kRegister, splits[d].registers, dim(d));
  result = order == WarpOrder::Adjacent ? result * ofWarps * ofRegisters : result * ofRegisters * ofWarps;
  result = result * repeatsOf(fragment);
  for (int d = 0; d < rank; ++d) result = result * LinearLayout::identity(kWarp, splits[d].oddWarps, dim(d));
  for (int d = rank - 1; d >= 0; --d) result = result * LinearLayout::identity(kRegister, splits[d].oddRegisters, dim(d));
  return result.asTile(rank);
}

LinearLayout blocked(const BlockedOptions& options) {
  checkSizes(options.shape, "dimensions");
  checkSizes({options.lanes, options.warps}, "lanes and warps");
  int rank = static_cast<int>(options.shape.size());
  std::vector<int> sorted = options.order;
  std::ranges::sort(sorted);
  for (int i = 0; i < rank; ++i) {
    if (static_cast<int>(sorted.size()) != rank || sorted[i] != i) {
      invalid(fmt::format("({}) is no order of the {} dimensions of the tile", fmt::join(options.order, ","), rank));
    }
  }
  if (powerOfTwoIn(options.lanes) != options.lanes) invalid(fmt::format("{} lanes in a warp; the number is a power of two", options.lanes));
  Coords left, odd;
  for (std::int64_t extent : options.shape) {
    left.push_back(powerOfTwoIn(extent));
    odd.push_back(extent / powerOfTwoIn(extent));
  }
  LinearLayout result;
  auto take = [&](std::string_view in, std::int64_t wanted) {
    for (int d : options.order) {
      std::int64_t size = std::min(wanted, left[d]);
      result = result * LinearLayout::identity(in, size, dim(d));
      left[d] /= size;
      wanted /= size;
    }
    result = result * LinearLayout::broadcast(in, wanted);
  };
  int first = options.order.front();
  std::int64_t vector = std::min<std::int64_t>(std::max(1, options.vectorBytes * 8 / options.elementBits), left[first]);
  result = result * LinearLayout::identity(kRegister, powerOfTwoIn(vector), dim(first));
  left[first] /= powerOfTwoIn(vector);
  take(kLane, options.lanes);
  take(kWarp, powerOfTwoIn(options.warps));
  std::int64_t all = 1;
  for (std::int64_t extent : left) all *= extent;
  take(kRegister, all);
  // An odd number of warps shares an odd number of copies where a dimension has as many, the slowest one first.
  std::int64_t oddWarps = options.warps / powerOfTwoIn(options.warps);
  for (auto d = options.order.rbegin(); d != options.order.rend(); ++d) {
    if (oddWarps == 1 || odd[*d] % oddWarps) continue;
    result = result * LinearLayout::identity(kWarp, oddWarps, dim(*d));
    odd[*d] /= oddWarps;
    oddWarps = 1;
  }
  for (int d : options.order) result = result * LinearLayout::identity(kRegister, odd[d], dim(d));
  return (result * LinearLayout::broadcast(kWarp, oddWarps)).asTile(rank);
}

LinearLayout withVectors(const LinearLayout& layout, int d, std::int64_t elements, bool amongWarps) {
  const int rank = static_cast<int>(layout.outputs().size());
  std::vector<LinearLayout::Input> inputs;
  for (std::string_view name : {kRegister, kLane, kWarp}) {
    LinearLayout::Input input{std::string(name), {}};
    for (int bit = 0; bit < layout.inputBits(name); ++bit) input.bases.push_back(layout.at({{name, std::int64_t{1} << bit}}));
    inputs.push_back(std::move(input));
  }
  std::vector<Coords>&registers = inputs[0].bases, &lanes = inputs[1].bases, &warps = inputs[2].bases;
  auto along = [&](std::int64_t distance) {
    Coords basis(rank, 0);
    basis[d] = distance;
    return basis;
  };
  const std::int64_t extent = std::int64_t{1} << layout.outputBits(dim(d));
  for (std::int64_t step = 1; step < std::min(elements, extent); step *= 2) {
    if (std::ranges::find(registers, along(step)) != registers.end()) continue;
    auto given = registers.end(), taken = std::ranges::find(lanes, along(step));
    for (std::int64_t far = elements; far < extent && given == registers.end(); far *= 2) given = std::ranges::find(registers, along(far));
    bool isThere = taken != lanes.end();
    if (!isThere && amongWarps) taken = std::ranges::find(warps, along(step)), isThere = taken != warps.end();
    if (!isThere || given == registers.end()) break;
    std::swap(*taken, *given);
  }
  return LinearLayout(inputs, layout.outputs(), layout.repeats());
}

std::optional<LinearLayout> firstElements(const LinearLayout& layout, int d, std::int64_t size) {
  const std::string name = dim(d);
  if (!std::has_single_bit(static_cast<std::uint64_t>(size)) || size > std::int64_t{1} << layout.outputBits(name)) return std::nullopt;
  std::vector<LinearLayout::Input> inputs;
  for (const Axis& axis : layout.inputs()) {
    LinearLayout::Input input{.name = axis.name, .bases = {}};
    for (int bit = 0; bit < axis.bits; ++bit) {
      Coords basis = layout.linearPart().at({{axis.name, std::int64_t{1} << bit}});
      if (basis[d] < size)
        input.bases.push_back(basis);
      else if (axis.name != kRegister)
        return std::nullopt;
    }
    inputs.push_back(input);
  }
  std::vector<Axis> outputs = layout.outputs();
  for (Axis& output : outputs)
    if (output.name == name) output.bits = std::countr_zero(static_cast<std::uint64_t>(size));
  std::vector<Repeat> repeats;
  for (const Repeat& repeat : layout.repeats()) {
    if (repeat.out != name)
      repeats.push_back(repeat);
    else if (repeat.in != kRegister)
      return std::nullopt;
  }
  LinearLayout result(inputs, outputs, repeats);
  return result.isSurjective() ? std::optional(result) : std::nullopt;
}

}  // namespace fattn::layout
