// SPDX-License-Identifier: Apache-2.0
// Vector widths from spans, reductions from a kernel.
#include "compiler/layout/Queries.h"

#include <fmt/format.h>

#include <algorithm>

#include "fattn/Error.h"

namespace fattn::layout {
namespace {

f2::Columns dimensionUnits(const LinearLayout& layout, int d) {
  if (!layout.hasOutput(dim(d))) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("the layout has no dimension {}; it has {}", d, layout.outputs().size()));
  }
  return layout.outputUnits(dim(d));
}

/// Where an input's copies along one dimension lie.
std::vector<ReductionCopies> copiesAlong(const LinearLayout& layout, std::string_view in, const std::string& out) {
  std::vector<ReductionCopies> result;
  std::int64_t stride = std::int64_t{1} << layout.inputBits(in);
  for (const Repeat& repeat : layout.repeats()) {
    if (repeat.in != in) continue;
    if (repeat.out == out) result.push_back({stride, repeat.count});
    stride *= repeat.count;
  }
  return result;
}

}  // namespace

int consecutive(const LinearLayout& layout, int d) {
  f2::Span own(layout.columns(kRegister));
  f2::Vector byThreads = 0;
  for (const Axis& axis : layout.inputs()) {
    if (axis.name == kRegister) continue;
    for (f2::Vector column : layout.columns(axis.name)) byThreads |= column;
  }
  int count = 1;
  for (f2::Vector unit : dimensionUnits(layout, d)) {
    if (!own.contains(unit) || (byThreads & unit)) break;
    count *= 2;
  }
  return count;
}

int vectorWidth(const LinearLayout& layout, int d, int elementBits, int alignmentBytes, int maxBytes) {
  int width = consecutive(layout, d);
  int bytes = std::min(maxBytes, alignmentBytes & -alignmentBytes);
  while (width > 1 && width * elementBits > bytes * 8) width /= 2;
  return width;
}

std::vector<std::vector<std::int64_t>> memoryVectors(const LinearLayout& layout, int d, int vector) {
  f2::Columns columns = layout.columns(kRegister), units = dimensionUnits(layout, d);
  f2::Span span(columns);
  f2::Vector within = 0;
  std::vector<std::int64_t> members = {0};
  for (std::size_t bit = 0; 1 << bit < vector; ++bit) {
    within |= units[bit];
    std::int64_t step = static_cast<std::int64_t>(span.solve(units[bit]).value_or(0));
    for (std::size_t i = 0, n = members.size(); i < n; ++i) members.push_back(members[i] ^ step);
  }
  std::int64_t linear = std::int64_t{1} << columns.size(), free = static_cast<std::int64_t>(layout.freeBits(kRegister));
  std::vector<std::vector<std::int64_t>> result;
  for (std::int64_t r = 0; r < layout.inputSize(kRegister); ++r) {
    std::int64_t low = r % linear;
    if ((low & free) || (f2::multiply(columns, low) & within)) continue;
    result.emplace_back();
    for (std::int64_t member : members) result.back().push_back(r - low + (low ^ member));
  }
  return result;
}

ReductionPlan planReduction(const LinearLayout& input, int d) {
  dimensionUnits(input, d);  // throws where there is none
  LinearLayout layout = input.asTile(static_cast<int>(input.outputs().size()));
  f2::Vector along = 0;
  for (f2::Vector unit : layout.outputUnits(dim(d))) along |= unit;
  // Threads of one line: the kernel of the layout without that dimension. Those that hold the same element: the kernel of all of it.
  const f2::Columns& all = layout.columns();
  f2::Columns others = all;
  for (f2::Vector& column : others) column &= ~along;
  int registerBits = layout.inputBits(kRegister), laneBits = layout.inputBits(kLane);
  f2::Columns chosen = f2::kernel(all);
  ReductionPlan plan;
  // A kernel vector ends at its highest bit, so that cheap ones come first: within registers, then lanes, then warps.
  for (f2::Vector v : f2::extension(chosen, f2::kernel(others))) {
    auto bits = [&](int first, int count) { return static_cast<std::int64_t>(v >> first & ((f2::Vector{1} << count) - 1)); };
    ReductionStep step{bits(0, registerBits), bits(registerBits, laneBits), bits(registerBits + laneBits, layout.inputBits(kWarp))};
    (step.warp ? plan.warps : step.lane ? plan.shuffles : plan.registers).push_back(step);
  }
  plan.registerCopies = copiesAlong(layout, kRegister, dim(d));
  plan.warpCopies = copiesAlong(layout, kWarp, dim(d));
  plan.result = layout.slice(d);
  return plan;
}

/// For each bit of a dimension the lane that chooses it, or 0 for a register; -1 for what nothing chooses. Nothing where a bit is chosen by
/// a warp, twice, or together with others.
static std::optional<std::vector<std::int64_t>> lanesOfBits(const LinearLayout& layout, const f2::Columns& units) {
  f2::Vector along = 0;
  for (f2::Vector unit : units) along |= unit;
  std::vector<std::int64_t> lanes(units.size(), -1);
  for (const Axis& axis : layout.inputs()) {
    f2::Columns columns = layout.columns(axis.name);
    for (std::size_t bit = 0; bit < columns.size(); ++bit) {
      if (!(columns[bit] & along)) continue;
      auto unit = std::ranges::find(units, columns[bit]);
      if (unit == units.end() || (axis.name != kRegister && axis.name != kLane)) return std::nullopt;
      std::int64_t& lane = lanes[static_cast<std::size_t>(unit - units.begin())];
      if (lane >= 0) return std::nullopt;
      lane = axis.name == kLane ? std::int64_t{1} << bit : 0;
    }
  }
  return lanes;
}

/// Neighbouring digits of registers are one.
static void addDigit(std::vector<ScanDigit>& digits, const ScanDigit& digit) {
  if (!digit.lane && !digits.empty() && !digits.back().lane)
    digits.back().count *= digit.count;
  else
    digits.push_back(digit);
}

std::optional<std::vector<ScanDigit>> scanDigits(const LinearLayout& layout, int d) {
  const f2::Columns units = dimensionUnits(layout, d);
  const std::optional<std::vector<std::int64_t>> lanes = lanesOfBits(layout, units);
  if (!lanes) return std::nullopt;
  std::vector<ScanDigit> digits;
  for (std::size_t bit = 0; bit < units.size(); ++bit) addDigit(digits, {std::int64_t{1} << bit, 2, (*lanes)[bit]});
  std::int64_t below = std::int64_t{1} << units.size();
  for (const Repeat& repeat : layout.repeats()) {
    if (repeat.out != dim(d)) continue;
    if (repeat.in != kRegister) return std::nullopt;
    addDigit(digits, {below, repeat.count, 0});
    below *= repeat.count;
  }
  return digits;
}

int ReductionPlan::shuffleCount() const { return static_cast<int>(shuffles.size()) * static_cast<int>(result.inputSize(kRegister)); }

Holders holdersOf(const LinearLayout& layout) {
  Holders result;
  f2::Span span(layout.columns(kRegister));
  for (std::string_view in : {kLane, kWarp}) {
    f2::Columns own = layout.columns(in);
    for (std::size_t bit = 0; bit < own.size(); ++bit)
      if (!span.add(own[bit])) (in == kLane ? result.lane : result.warp) |= std::int64_t{1} << bit;
  }
  std::int64_t below = std::int64_t{1} << layout.inputBits(kWarp);
  for (const Repeat& repeat : layout.repeats()) {
    if (repeat.in != kWarp) continue;
    if (repeat.out.empty()) result.repeats.push_back({below, repeat.count});
    below *= repeat.count;
  }
  return result;
}

std::optional<WarpBox> boxOfWarps(const LinearLayout& layout) {
  if (layout.outputs().size() != 2 || !holdersOf(layout).all()) return std::nullopt;
  // Along a dimension, what a lane or a register below what warps choose adds to a place lies in the block; the rest is the block's place.
  WarpBox box;
  for (int d : {0, 1}) {
    const auto at = static_cast<std::size_t>(d);
    std::int64_t ofWarps = 0, ofThreads = 0;
    for (const Axis& in : layout.inputs())
      for (int bit = 0; bit < in.bits; ++bit)
        (in.name == kWarp ? ofWarps : ofThreads) |= layout.linearPart().at({{in.name, std::int64_t{1} << bit}})[at];
    if (ofWarps & ofThreads) return std::nullopt;
    const std::string& name = layout.outputs()[at].name;
    auto repeated = [&](bool byWarps) {
      return std::ranges::any_of(layout.repeats(), [&](const Repeat& r) { return r.out == name && (r.in == kWarp) == byWarps; });
    };
    std::int64_t& size = d == 0 ? box.rows : box.columns;
    if (ofWarps)
      size = ofWarps & -ofWarps;
    else
      size = d == 1 && !repeated(/*byWarps=*/true) ? layout.outputShape()[at] : std::int64_t{1} << layout.outputs()[at].bits;
  }
  return box;
}

std::optional<std::int64_t> rowsOfWarps(const LinearLayout& layout) {
  std::optional<WarpBox> box = boxOfWarps(layout);
  return box && box->columns == layout.outputShape()[1] ? std::optional(box->rows) : std::nullopt;
}

bool warpsHoldSameRows(const LinearLayout& first, const LinearLayout& second) {
  if (!rowsOfWarps(first) || rowsOfWarps(first) != rowsOfWarps(second) || first.outputShape()[0] != second.outputShape()[0]) return false;
  auto ofWarps = [](const LinearLayout& layout) {
    std::vector<Repeat> repeats;
    for (const Repeat& repeat : layout.repeats())
      if (repeat.in == kWarp || repeat.out == layout.outputs()[0].name) repeats.push_back(repeat);
    return std::pair(layout.columns(kWarp), repeats);
  };
  return ofWarps(first) == ofWarps(second);
}

}  // namespace fattn::layout
