// SPDX-License-Identifier: Apache-2.0
// What the operations on a tile's shape do to its layout, and the orders and names of inputs and outputs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "compiler/layout/Invalid.h"
#include "compiler/layout/LinearLayout.h"

namespace fattn::layout {
namespace {

std::vector<std::string> tileNames(int rank) {
  std::vector<std::string> names;
  for (int i = 0; i < rank; ++i) names.push_back(dim(i));
  return names;
}

std::int64_t oddPart(std::int64_t size) { return size >> std::countr_zero(static_cast<std::uint64_t>(size)); }

/// Bits of row-major order, the last output lowest, become bits of `to`, and back.
f2::Vector flatten(f2::Vector packed, const std::vector<Axis>& outputs) {
  f2::Vector result = 0;
  for (const Axis& axis : outputs) {
    result = (result << axis.bits) | (packed & ((f2::Vector{1} << axis.bits) - 1));
    packed >>= axis.bits;
  }
  return result;
}

f2::Vector unflatten(f2::Vector flat, const std::vector<Axis>& outputs) {
  f2::Vector result = 0;
  int top = 0;
  for (const Axis& axis : outputs) top += axis.bits;
  for (auto axis = outputs.rbegin(); axis != outputs.rend(); ++axis) {
    top -= axis->bits;
    result |= (flat & ((f2::Vector{1} << axis->bits) - 1)) << top;
    flat >>= axis->bits;
  }
  return result;
}

/// The dimension of `shape` with an odd factor among those from `first` on up to `last`; -1 where there is none, nothing where it
/// has larger dimensions than 1 before it or there are several.
std::optional<int> oddDimension(const Coords& shape, std::size_t first, std::size_t last) {
  int found = -1;
  std::int64_t above = 1;
  for (std::size_t i = first; i < last; ++i) {
    if (oddPart(shape[i]) > 1) {
      if (above > 1) return std::nullopt;
      found = static_cast<int>(i);
    }
    above *= shape[i];
  }
  return found;
}

/// Which dimension's odd factor becomes which one's in a reshape. Dimensions are merged and split in groups of equal size; in each the
/// odd factor has to be outermost, or it would come below bits.
std::vector<std::pair<int, int>> oddDimensions(const Coords& from, const Coords& to) {
  std::vector<std::pair<int, int>> result;
  for (std::size_t i = 0, j = 0; i < from.size() || j < to.size();) {
    std::size_t firstFrom = i, firstTo = j;
    std::int64_t sizeFrom = i < from.size() ? from[i++] : 1, sizeTo = j < to.size() ? to[j++] : 1;
    while (sizeFrom != sizeTo) {
      if (sizeFrom < sizeTo) {
        sizeFrom *= from[i++];
      } else {
        sizeTo *= to[j++];
      }
    }
    std::optional<int> before = oddDimension(from, firstFrom, i), after = oddDimension(to, firstTo, j);
    if (!before || !after) {
      invalid(fmt::format("({}) to ({}): of dimensions that are merged or split only the outermost may have an odd factor",
                          fmt::join(from, ","), fmt::join(to, ",")));
    }
    if (*before >= 0) result.emplace_back(*before, *after);
  }
  return result;
}

}  // namespace

LinearLayout LinearLayout::withInputs(const std::vector<std::string>& names) const {
  for (const Axis& axis : inputs_) {
    if (std::ranges::find(names, axis.name) == names.end() && inputSize(axis.name) > 1) {
      invalid(fmt::format("{} has {} values and cannot be left out", axis.name, inputSize(axis.name)));
    }
  }
  std::vector<Axis> ins;
  f2::Columns columns;
  for (const std::string& name : names) {
    ins.push_back({name, inputBits(name)});
    for (f2::Vector column : this->columns(name)) columns.push_back(column);
  }
  return fromColumns(std::move(ins), outputs_, std::move(columns), repeats_);
}

LinearLayout LinearLayout::withOutputs(const std::vector<std::string>& names) const {
  for (const Axis& axis : outputs_) {
    if (std::ranges::find(names, axis.name) == names.end() && outputSize(axis.name) > 1) {
      invalid(fmt::format("{} has {} values and cannot be left out", axis.name, outputSize(axis.name)));
    }
  }
  std::vector<Axis> outs;
  for (const std::string& name : names) outs.push_back({name, outputBits(name)});
  f2::Columns columns;
  for (f2::Vector column : columns_) {
    f2::Vector result = 0;
    int shift = 0;
    for (const Axis& axis : outs) {
      int from = find(outputs_, axis.name);
      if (from >= 0) result |= (column >> outputShift(from) & ((f2::Vector{1} << axis.bits) - 1)) << shift;
      shift += axis.bits;
    }
    columns.push_back(result);
  }
  return fromColumns(inputs_, std::move(outs), std::move(columns), repeats_);
}

LinearLayout LinearLayout::asTile(int rank) const {
  std::vector<std::string> ins = {std::string(kRegister), std::string(kLane), std::string(kWarp)};
  if (inputSize(kBlock) > 1) ins.emplace_back(kBlock);
  return withInputs(ins).withOutputs(tileNames(rank));
}

LinearLayout LinearLayout::canonical() const {
  std::vector<std::string> ins, outs;
  for (const Axis& axis : inputs_) {
    if (inputSize(axis.name) > 1) ins.push_back(axis.name);
  }
  for (const Axis& axis : outputs_) {
    if (outputSize(axis.name) > 1) outs.push_back(axis.name);
  }
  std::ranges::sort(ins);
  std::ranges::sort(outs);
  return withInputs(ins).withOutputs(outs);
}

LinearLayout LinearLayout::renamed(std::string_view from, std::string_view to) const {
  LinearLayout result = *this;
  for (auto* axes : {&result.inputs_, &result.outputs_}) {
    for (Axis& axis : *axes) {
      if (axis.name == from) axis.name = to;
    }
  }
  for (Repeat& repeat : result.repeats_) {
    if (repeat.in == from) repeat.in = to;
    if (repeat.out == from) repeat.out = to;
  }
  return fromColumns(result.inputs_, result.outputs_, result.columns_, result.repeats_);
}

LinearLayout LinearLayout::sublayout(const std::vector<std::string>& ins, const std::vector<std::string>& outs) const {
  std::vector<Axis> inputs;
  f2::Columns columns;
  for (const std::string& name : ins) {
    inputs.push_back({name, inputBits(name)});
    for (f2::Vector column : this->columns(name)) columns.push_back(column);
  }
  std::vector<Repeat> repeats;
  for (Repeat repeat : repeats_) {
    if (std::ranges::find(ins, repeat.in) == ins.end()) continue;
    if (std::ranges::find(outs, repeat.out) == outs.end()) repeat.out.clear();
    repeats.push_back(repeat);
  }
  LinearLayout result;
  result.inputs_ = std::move(inputs);
  result.outputs_ = outputs_;
  result.columns_ = std::move(columns);
  // Outputs that go are taken out of the columns first, so that withOutputs finds nothing to lose.
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (std::ranges::find(outs, outputs_[i].name) != outs.end()) continue;
    int shift = result.outputShift(static_cast<int>(i));
    f2::Vector low = (f2::Vector{1} << shift) - 1;
    for (f2::Vector& column : result.columns_) column = (column & low) | ((column >> (shift + result.outputs_[i].bits)) << shift);
    result.outputs_[i].bits = 0;
  }
  result.repeats_ = std::move(repeats);
  return result.withOutputs(outs);
}

LinearLayout LinearLayout::slice(int d) const {
  std::vector<std::string> ins, outs;
  for (const Axis& axis : inputs_) ins.push_back(axis.name);
  for (const Axis& axis : outputs_) {
    if (axis.name != dim(d)) outs.push_back(axis.name);
  }
  if (outs.size() == outputs_.size()) invalid(fmt::format("the layout has no dimension {}", d));
  LinearLayout result = sublayout(ins, outs).withoutFreeBits(kRegister);
  for (int i = d + 1; result.hasOutput(dim(i)); ++i) result = result.renamed(dim(i), dim(i - 1));
  return result;
}

LinearLayout LinearLayout::expand(int d) const {
  int rank = static_cast<int>(outputs_.size());
  if (d < 0 || d > rank) invalid(fmt::format("a new dimension {} of a tile of rank {}; legal are 0 to {}", d, rank, rank));
  LinearLayout result = *this;
  for (int i = rank - 1; i >= d; --i) result = result.renamed(dim(i), dim(i + 1));
  return result.withOutputs(tileNames(rank + 1));
}

LinearLayout LinearLayout::transpose(std::span<const int> order) const {
  int rank = static_cast<int>(outputs_.size());
  std::vector<int> sorted(order.begin(), order.end());
  std::ranges::sort(sorted);
  for (int i = 0; i < rank; ++i) {
    if (static_cast<int>(order.size()) != rank || sorted[i] != i) {
      invalid(fmt::format("({}) is no order of the {} dimensions of the tile", fmt::join(order, ","), rank));
    }
  }
  LinearLayout result = *this;
  for (int i = 0; i < rank; ++i) result = result.renamed(dim(i), fmt::format("old{}", i));
  for (int i = 0; i < rank; ++i) result = result.renamed(fmt::format("old{}", order[i]), dim(i));
  return result.withOutputs(tileNames(rank));
}

LinearLayout LinearLayout::reshape(const Coords& shape) const {
  LinearLayout ordered = withOutputs(tileNames(static_cast<int>(outputs_.size())));
  Coords old = ordered.outputShape();
  std::int64_t before = 1, after = 1;
  for (std::int64_t extent : old) before *= extent;
  for (std::int64_t extent : shape) after *= extent;
  if (before != after || shape.empty())
    invalid(fmt::format("({}) has {} elements, ({}) has {}", fmt::join(old, ","), before, fmt::join(shape, ","), after));
  std::vector<std::pair<int, int>> moved = oddDimensions(old, shape);
  std::vector<Axis> outs;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    outs.push_back({dim(static_cast<int>(i)), std::countr_zero(static_cast<std::uint64_t>(shape[i]))});
  }
  f2::Columns columns;
  for (f2::Vector column : ordered.columns_) columns.push_back(unflatten(flatten(column, ordered.outputs_), outs));
  std::vector<Repeat> repeats = ordered.repeats_;
  for (Repeat& repeat : repeats) {
    auto to = std::ranges::find_if(moved, [&](const auto& pair) { return dim(pair.first) == repeat.out; });
    if (to != moved.end()) repeat.out = dim(to->second);
  }
  return fromColumns(inputs_, std::move(outs), std::move(columns), std::move(repeats));
}

LinearLayout LinearLayout::join() const {
  int rank = static_cast<int>(outputs_.size());
  std::vector<std::string> ins;
  for (const Axis& axis : inputs_) ins.push_back(axis.name);
  return (identity(kRegister, 2, dim(rank)) * *this).withInputs(ins).withOutputs(tileNames(rank + 1));
}

LinearLayout LinearLayout::split() const {
  int last = static_cast<int>(outputs_.size()) - 1;
  f2::Columns unit = last < 0 ? f2::Columns{} : outputUnits(dim(last));
  if (unit.size() != 1 || outputSize(dim(last)) != 2) invalid("only a tile whose last dimension is 2 can be split in two");
  std::vector<Axis> ins = inputs_;
  f2::Columns columns;
  int found = 0;
  for (const Axis& axis : inputs_) {
    for (f2::Vector column : this->columns(axis.name)) {
      if (axis.name == kRegister && column == unit[0]) {
        ++found;
      } else if (column & unit[0]) {
        invalid(fmt::format("the last dimension is spread over {}, so that its halves are not registers of one lane", axis.name));
      } else {
        columns.push_back(column);
      }
    }
  }
  if (found != 1) invalid("the last dimension is not one register bit");
  ins[find(ins, kRegister)].bits -= 1;
  LinearLayout result = fromColumns(std::move(ins), outputs_, std::move(columns), repeats_);
  std::vector<std::string> names;
  for (const Axis& axis : inputs_) names.push_back(axis.name);
  return result.sublayout(names, tileNames(last));
}

}  // namespace fattn::layout
