// SPDX-License-Identifier: Apache-2.0
// The algebra of linear layouts: product, composition, inverses, division, copies.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "compiler/layout/Invalid.h"
#include "compiler/layout/LinearLayout.h"
#include "fattn/Error.h"

namespace fattn::layout {
namespace {

/// Below the outer factor's bits of one name there must be no repeat: 3 copies of 16 under a bit would make it worth 48.
void checkProductSide(const LinearLayout& inner, const std::vector<Axis>& outer, std::string Repeat::* side) {
  for (const Axis& axis : outer) {
    bool repeated = std::ranges::any_of(inner.repeats(), [&](const Repeat& repeat) { return repeat.*side == axis.name; });
    if (axis.bits && repeated) {
      invalid(fmt::format("a product would put {} more bit(s) of {} above an odd number of copies", axis.bits, axis.name),
              "multiply by repeats last: a * b * odd");
    }
  }
}

std::vector<Axis> merged(const std::vector<Axis>& inner, const std::vector<Axis>& outer) {
  std::vector<Axis> result = inner;
  for (const Axis& axis : outer) {
    auto it = std::ranges::find(result, axis.name, &Axis::name);
    if (it == result.end()) {
      result.push_back(axis);
    } else {
      it->bits += axis.bits;
    }
  }
  return result;
}

/// Moves packed bits of `from` to where `to` has them, each name's bits starting at bit first(name) of it.
template <typename First>
f2::Vector repack(f2::Vector packed, const std::vector<Axis>& from, const std::vector<Axis>& to, First first) {
  f2::Vector result = 0;
  for (const Axis& axis : from) {
    f2::Vector value = packed & ((f2::Vector{1} << axis.bits) - 1);
    packed >>= axis.bits;
    int shift = 0;
    for (const Axis& target : to) {
      if (target.name == axis.name) {
        result |= value << (shift + first(axis.name));
        break;
      }
      shift += target.bits;
    }
  }
  return result;
}

}  // namespace

LinearLayout LinearLayout::operator*(const LinearLayout& outer) const {
  checkProductSide(*this, outer.inputs_, &Repeat::in);
  checkProductSide(*this, outer.outputs_, &Repeat::out);
  std::vector<Axis> ins = merged(inputs_, outer.inputs_), outs = merged(outputs_, outer.outputs_);
  f2::Columns columns;
  for (const Axis& axis : ins) {
    for (f2::Vector column : this->columns(axis.name)) {
      columns.push_back(repack(column, outputs_, outs, [](const std::string&) { return 0; }));
    }
    for (f2::Vector column : outer.columns(axis.name)) {
      columns.push_back(repack(column, outer.outputs_, outs, [&](const std::string& name) { return outputBits(name); }));
    }
  }
  std::vector<Repeat> repeats = repeats_;
  repeats.insert(repeats.end(), outer.repeats_.begin(), outer.repeats_.end());
  return fromColumns(std::move(ins), std::move(outs), std::move(columns), std::move(repeats));
}

LinearLayout LinearLayout::then(const LinearLayout& next) const {
  for (const Axis& axis : outputs_) {
    if (!next.hasInput(axis.name) && axis.bits)
      invalid(fmt::format("{} is an output of the first layout, but no input of the second", axis.name));
    if (next.inputBits(axis.name) < axis.bits) {
      invalid(
          fmt::format("{} has {} bits in the first layout, but only {} in the second", axis.name, axis.bits, next.inputBits(axis.name)));
    }
  }
  f2::Columns columns;
  for (f2::Vector column : columns_) {
    columns.push_back(f2::multiply(next.columns_, repack(column, outputs_, next.inputs_, [](const std::string&) { return 0; })));
  }
  // The k-th repeat along an output meets the k-th of the second layout that counts it.
  std::vector<Repeat> repeats;
  std::vector<std::size_t> used;
  for (const Repeat& repeat : repeats_) {
    if (repeat.out.empty()) {
      repeats.push_back(repeat);
      continue;
    }
    std::size_t k = 0;
    while (k < next.repeats_.size() && (next.repeats_[k].in != repeat.out || std::ranges::find(used, k) != used.end())) ++k;
    if (k == next.repeats_.size() || next.repeats_[k].count != repeat.count || next.inputBits(repeat.out) != outputBits(repeat.out)) {
      invalid(fmt::format("{} is {} in the first layout and {} in the second, repeated differently", repeat.out, outputSize(repeat.out),
                          next.inputSize(repeat.out)));
    }
    bool ordered =
        std::ranges::all_of(used, [&](std::size_t other) { return other < k || next.repeats_[other].out != next.repeats_[k].out; });
    if (!ordered) invalid(fmt::format("the repeats along {} come in another order in the second layout", next.repeats_[k].out));
    used.push_back(k);
    repeats.push_back({repeat.in, next.repeats_[k].out, repeat.count});
  }
  return fromColumns(inputs_, next.outputs_, std::move(columns), std::move(repeats));
}

LinearLayout LinearLayout::pseudoInverse() const {
  f2::Span span(columns_);
  f2::Columns columns;
  for (f2::Vector unit : f2::units(totalOutputBits())) {
    auto combination = span.solve(unit);
    if (!combination) invalid(fmt::format("a layout that leaves elements out has no inverse: {}", str()));
    columns.push_back(*combination);
  }
  std::vector<Repeat> repeats;
  for (const Repeat& repeat : repeats_) {
    if (repeat.out.empty()) invalid(fmt::format("a layout with {} copies over {} has no pseudo-inverse", repeat.count, repeat.in));
    repeats.push_back({repeat.out, repeat.in, repeat.count});
  }
  return fromColumns(outputs_, inputs_, std::move(columns), std::move(repeats));
}

LinearLayout LinearLayout::inverse() const {
  if (!isInjective())
    invalid(fmt::format("a layout that holds an element more than once has no inverse: {}", str()), "pseudoInverse() picks one holder");
  return pseudoInverse();
}

std::optional<LinearLayout> LinearLayout::divide(const LinearLayout& inner) const {
  std::vector<Axis> ins, outs;
  for (const Axis& axis : inputs_) ins.push_back({axis.name, axis.bits - inner.inputBits(axis.name)});
  for (const Axis& axis : outputs_) outs.push_back({axis.name, axis.bits - inner.outputBits(axis.name)});
  for (const auto* axes : {&ins, &outs}) {
    if (std::ranges::any_of(*axes, [](const Axis& axis) { return axis.bits < 0; })) return std::nullopt;
  }
  f2::Columns columns;
  for (const Axis& axis : ins) {
    f2::Columns whole = this->columns(axis.name);
    for (int bit = inner.inputBits(axis.name); bit < static_cast<int>(whole.size()); ++bit) {
      f2::Vector column = 0, rest = whole[bit];
      int shift = 0;
      for (std::size_t out = 0; out < outs.size(); ++out) {
        int below = outputs_[out].bits - outs[out].bits;
        f2::Vector value = rest & ((f2::Vector{1} << outputs_[out].bits) - 1);
        rest >>= outputs_[out].bits;
        column |= (value >> below) << shift;
        shift += outs[out].bits;
      }
      columns.push_back(column);
    }
  }
  std::vector<Repeat> repeats = repeats_;
  for (const Repeat& repeat : inner.repeats_) {
    auto it = std::ranges::find(repeats, repeat);
    if (it == repeats.end()) return std::nullopt;
    repeats.erase(it);
  }
  LinearLayout quotient = fromColumns(std::move(ins), std::move(outs), std::move(columns), std::move(repeats));
  // What was shifted out had to be zero: the product tells.
  try {
    LinearLayout product = inner * quotient;
    std::vector<std::string> inNames, outNames;
    for (const Axis& axis : inputs_) inNames.push_back(axis.name);
    for (const Axis& axis : outputs_) outNames.push_back(axis.name);
    if (product.withInputs(inNames).withOutputs(outNames) == *this) return quotient;
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // the inner layout has names or repeats that this one has not
  }
}

bool LinearLayout::isInjective() const {
  bool copies = std::ranges::any_of(repeats_, [](const Repeat& repeat) { return repeat.out.empty(); });
  return !copies && f2::rank(columns_) == totalInputBits();
}

bool LinearLayout::isSurjective() const { return f2::rank(columns_) == totalOutputBits(); }

std::uint64_t LinearLayout::freeBits(std::string_view in) const {
  // Bits of other inputs count as held: a register that another lane holds, too, is still needed by its own lane, so only the bits
  // of the input itself can make one of them superfluous.
  std::uint64_t result = 0;
  f2::Span span;
  f2::Columns own = columns(in);
  for (std::size_t bit = 0; bit < own.size(); ++bit) {
    if (!span.add(own[bit])) result |= std::uint64_t{1} << bit;
  }
  return result;
}

LinearLayout LinearLayout::withoutFreeBits(std::string_view in) const {
  std::uint64_t free = freeBits(in);
  std::vector<Axis> ins = inputs_;
  f2::Columns columns;
  for (std::size_t i = 0; i < ins.size(); ++i) {
    f2::Columns own = this->columns(ins[i].name);
    for (std::size_t bit = 0; bit < own.size(); ++bit) {
      if (ins[i].name != in || !(free >> bit & 1)) columns.push_back(own[bit]);
    }
    if (ins[i].name == in) ins[i].bits -= std::popcount(free);
  }
  std::vector<Repeat> repeats;
  for (const Repeat& repeat : repeats_) {
    if (repeat.in != in || !repeat.out.empty()) repeats.push_back(repeat);
  }
  return fromColumns(std::move(ins), outputs_, std::move(columns), std::move(repeats));
}

}  // namespace fattn::layout
