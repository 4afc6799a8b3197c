// SPDX-License-Identifier: Apache-2.0
// Making, asking and printing linear layouts.
#include "compiler/layout/LinearLayout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <tuple>

#include "compiler/layout/Invalid.h"

namespace fattn::layout {
namespace {

std::int64_t size(const std::vector<Repeat>& repeats, std::string Repeat::* side, std::string_view name, int bits) {
  std::int64_t result = std::int64_t{1} << bits;
  for (const Repeat& repeat : repeats) {
    if (repeat.*side == name) result *= repeat.count;
  }
  return result;
}

/// One order for repeats that commute (no input and no output in common), and one digit for two that follow each other.
std::vector<Repeat> normalized(std::vector<Repeat> repeats) {
  auto commute = [](const Repeat& a, const Repeat& b) { return a.in != b.in && (a.out != b.out || a.out.empty()); };
  std::vector<Repeat> result;
  while (!repeats.empty()) {
    std::size_t best = repeats.size();
    for (std::size_t i = 0; i < repeats.size(); ++i) {
      bool movable = std::all_of(repeats.begin(), repeats.begin() + static_cast<std::ptrdiff_t>(i),
                                 [&](const Repeat& r) { return commute(r, repeats[i]); });
      if (movable && (best == repeats.size() || std::tie(repeats[i].in, repeats[i].out) < std::tie(repeats[best].in, repeats[best].out)))
        best = i;
    }
    Repeat next = repeats[best];
    repeats.erase(repeats.begin() + static_cast<std::ptrdiff_t>(best));
    if (!result.empty() && result.back().in == next.in && result.back().out == next.out) {
      result.back().count *= next.count;
    } else {
      result.push_back(std::move(next));
    }
  }
  return result;
}

}  // namespace

std::string dim(int i) { return fmt::format("dim{}", i); }

int LinearLayout::find(const std::vector<Axis>& axes, std::string_view name) {
  auto it = std::ranges::find(axes, name, &Axis::name);
  return it == axes.end() ? -1 : static_cast<int>(it - axes.begin());
}

int LinearLayout::inputShift(int i) const {
  int shift = 0;
  for (int k = 0; k < i; ++k) shift += inputs_[k].bits;
  return shift;
}

int LinearLayout::outputShift(int i) const {
  int shift = 0;
  for (int k = 0; k < i; ++k) shift += outputs_[k].bits;
  return shift;
}

int LinearLayout::totalOutputBits() const { return outputShift(static_cast<int>(outputs_.size())); }

LinearLayout::LinearLayout(const std::vector<Input>& inputs, std::vector<Axis> outputs, std::vector<Repeat> repeats)
    : outputs_(std::move(outputs)), repeats_(std::move(repeats)) {
  for (const Input& input : inputs) {
    inputs_.push_back({input.name, static_cast<int>(input.bases.size())});
    for (std::size_t bit = 0; bit < input.bases.size(); ++bit) {
      const Coords& basis = input.bases[bit];
      if (basis.size() != outputs_.size()) {
        invalid(fmt::format("basis {} of {} has {} coordinates, but the layout has {} outputs", bit, input.name, basis.size(),
                            outputs_.size()));
      }
      f2::Vector column = 0;
      for (std::size_t i = 0; i < basis.size(); ++i) {
        if (basis[i] < 0 || basis[i] >> outputs_[i].bits) {
          invalid(fmt::format("basis {} of {} is {} in {}, which ends at {}", bit, input.name, basis[i], outputs_[i].name,
                              (std::int64_t{1} << outputs_[i].bits) - 1));
        }
        column |= static_cast<f2::Vector>(basis[i]) << outputShift(static_cast<int>(i));
      }
      columns_.push_back(column);
    }
  }
  check();
  repeats_ = normalized(std::move(repeats_));
}

LinearLayout LinearLayout::fromColumns(std::vector<Axis> inputs, std::vector<Axis> outputs, f2::Columns columns,
                                       std::vector<Repeat> repeats) {
  LinearLayout result;
  result.inputs_ = std::move(inputs);
  result.outputs_ = std::move(outputs);
  result.columns_ = std::move(columns);
  result.repeats_ = std::move(repeats);
  result.check();
  result.repeats_ = normalized(std::move(result.repeats_));
  return result;
}

void LinearLayout::check() const {
  if (inputShift(static_cast<int>(inputs_.size())) > 32 || totalOutputBits() > 32) {
    invalid(fmt::format("a layout has at most 32 input and 32 output bits, this one has {} and {}", columns_.size(), totalOutputBits()));
  }
  for (const auto* axes : {&inputs_, &outputs_}) {
    for (std::size_t i = 0; i < axes->size(); ++i) {
      if (find(*axes, (*axes)[i].name) != static_cast<int>(i)) invalid(fmt::format("{} is named twice", (*axes)[i].name));
    }
  }
  for (const Repeat& repeat : repeats_) {
    if (repeat.count < 3 || repeat.count % 2 == 0) {
      invalid(fmt::format("{} is repeated {} times, but a repeat is odd and at least 3", repeat.in, repeat.count),
              "powers of two belong into the linear part");
    }
    if (!hasInput(repeat.in)) invalid(fmt::format("a repeat names {}, which is no input", repeat.in));
    if (!repeat.out.empty() && !hasOutput(repeat.out)) invalid(fmt::format("a repeat names {}, which is no output", repeat.out));
  }
}

LinearLayout LinearLayout::identity(std::string_view in, std::int64_t size, std::string_view out) {
  if (size < 1) invalid(fmt::format("a size of {} for {}; sizes are at least 1", size, in));
  int bits = std::countr_zero(static_cast<std::uint64_t>(size));
  std::vector<Repeat> repeats;
  if (size >> bits > 1) repeats.push_back({std::string(in), std::string(out), size >> bits});
  return fromColumns({{std::string(in), bits}}, {{std::string(out), bits}}, f2::units(bits), repeats);
}

LinearLayout LinearLayout::broadcast(std::string_view in, std::int64_t size) {
  if (size < 1) invalid(fmt::format("a size of {} for {}; sizes are at least 1", size, in));
  int bits = std::countr_zero(static_cast<std::uint64_t>(size));
  std::vector<Repeat> repeats;
  if (size >> bits > 1) repeats.push_back({std::string(in), "", size >> bits});
  return fromColumns({{std::string(in), bits}}, {}, f2::Columns(bits, 0), repeats);
}

int LinearLayout::inputBits(std::string_view name) const {
  int i = find(inputs_, name);
  return i < 0 ? 0 : inputs_[i].bits;
}

int LinearLayout::outputBits(std::string_view name) const {
  int i = find(outputs_, name);
  return i < 0 ? 0 : outputs_[i].bits;
}

std::int64_t LinearLayout::inputSize(std::string_view name) const { return size(repeats_, &Repeat::in, name, inputBits(name)); }
std::int64_t LinearLayout::outputSize(std::string_view name) const { return size(repeats_, &Repeat::out, name, outputBits(name)); }

Coords LinearLayout::outputShape() const {
  Coords result;
  for (const Axis& axis : outputs_) result.push_back(outputSize(axis.name));
  return result;
}

Coords LinearLayout::apply(std::span<const std::int64_t> inputs) const {
  if (inputs.size() != inputs_.size()) invalid(fmt::format("{} numbers for a layout of {} inputs", inputs.size(), inputs_.size()));
  f2::Vector packed = 0;
  Coords high(inputs_.size()), result(outputs_.size()), stride(outputs_.size(), 1);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] < 0 || inputs[i] >= inputSize(inputs_[i].name)) {
      invalid(fmt::format("{} {} is out of range: there are {}", inputs_[i].name, inputs[i], inputSize(inputs_[i].name)));
    }
    f2::Vector low = inputs[i] & ((std::int64_t{1} << inputs_[i].bits) - 1);
    packed |= low << inputShift(static_cast<int>(i));
    high[i] = inputs[i] >> inputs_[i].bits;
  }
  for (const Repeat& repeat : repeats_) {
    int in = find(inputs_, repeat.in), out = find(outputs_, repeat.out);
    std::int64_t digit = high[in] % repeat.count;
    high[in] /= repeat.count;
    if (out < 0) continue;
    result[out] += digit * stride[out];
    stride[out] *= repeat.count;
  }
  f2::Vector image = f2::multiply(columns_, packed);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    std::int64_t mask = (std::int64_t{1} << outputs_[i].bits) - 1;
    result[i] = (result[i] << outputs_[i].bits) | (static_cast<std::int64_t>(image >> outputShift(static_cast<int>(i))) & mask);
  }
  return result;
}

Coords LinearLayout::at(std::initializer_list<std::pair<std::string_view, std::int64_t>> inputs) const {
  Coords numbers(inputs_.size());
  for (const auto& [name, number] : inputs) {
    int i = find(inputs_, name);
    if (i < 0) invalid(fmt::format("the layout has no input {}", name));
    numbers[i] = number;
  }
  return apply(numbers);
}

f2::Columns LinearLayout::columns(std::string_view in) const {
  int i = find(inputs_, in);
  if (i < 0) return {};
  auto first = columns_.begin() + inputShift(i);
  return {first, first + inputs_[i].bits};
}

f2::Columns LinearLayout::outputUnits(std::string_view out) const {
  f2::Columns result;
  int i = find(outputs_, out);
  for (int bit = 0; i >= 0 && bit < outputs_[i].bits; ++bit) result.push_back(f2::Vector{1} << (outputShift(i) + bit));
  return result;
}

std::string LinearLayout::str() const {
  std::vector<std::string> ins, outs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    std::vector<std::string> bases;
    for (int bit = 0; bit < inputs_[i].bits; ++bit) {
      Coords to;
      for (std::size_t out = 0; out < outputs_.size(); ++out) {
        f2::Vector mask = (f2::Vector{1} << outputs_[out].bits) - 1;
        to.push_back(
            static_cast<std::int64_t>(columns_[inputShift(static_cast<int>(i)) + bit] >> outputShift(static_cast<int>(out)) & mask));
      }
      bases.push_back(fmt::format("{} -> ({})", std::int64_t{1} << bit, fmt::join(to, ",")));
    }
    for (const Repeat& repeat : repeats_) {
      if (repeat.in == inputs_[i].name) {
        bases.push_back(fmt::format("x{}{}", repeat.count, repeat.out.empty() ? " copies" : " along " + repeat.out));
      }
    }
    ins.push_back(fmt::format("{}: {}", inputs_[i].name, bases.empty() ? "1" : fmt::format("{}", fmt::join(bases, ", "))));
  }
  for (const Axis& axis : outputs_) outs.push_back(fmt::format("{}: {}", axis.name, outputSize(axis.name)));
  return fmt::format("{} | {}", fmt::join(ins, "; "), fmt::join(outs, ", "));
}

}  // namespace fattn::layout
