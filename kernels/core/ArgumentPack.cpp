// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/ArgumentPack.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>

namespace fattn::kernels {
namespace {

constexpr std::string_view kSize = "_size", kStride = "_stride";

// The dimension that a scalar's name says: of "x_size1" for tensor "x" 1.
std::optional<int> dimensionOf(std::string_view name, std::string_view tensor, std::string_view what) {
  if (!name.starts_with(tensor)) return std::nullopt;
  name.remove_prefix(tensor.size());
  if (!name.starts_with(what)) return std::nullopt;
  name.remove_prefix(what.size());
  int dimension = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), dimension);
  if (error != std::errc() || end != name.data() + name.size() || dimension < 0 || dimension >= TensorView::kMaxRank) return std::nullopt;
  return dimension;
}

[[noreturn]] void failArgument(std::string_view argument, const std::string& constraint, std::string hint = "") {
  throw Error(ErrorCode::InvalidArgument, std::string(argument) + ": " + constraint, std::move(hint));
}

struct Range {
  std::int64_t least, most;
};

Range rangeOf(DType type) {
  switch (type) {
    case DType::I1:
      return {0, 1};
    case DType::I8:
      return {INT8_MIN, INT8_MAX};
    case DType::I32:
      return {INT32_MIN, INT32_MAX};
    default:
      return {INT64_MIN, INT64_MAX};
  }
}

}  // namespace

std::string declaration(const dsl::Param& param) {
  return param.name +
         (param.isPointer ? ", a pointer to " + std::string(name(param.type)) : ", a scalar of " + std::string(name(param.type)));
}

ArgumentPack::ArgumentPack(std::span<const dsl::Param> declared) : declared_(declared.begin(), declared.end()), filled_(declared.size()) {
  for (const dsl::Param& param : declared_) rules_.push_back(ruleOf(param));
  for (std::size_t tensor = 0; tensor < declared_.size(); ++tensor) {
    if (!declared_[tensor].isPointer) continue;
    for (std::size_t slot = 0; slot < declared_.size(); ++slot) {
      const dsl::Param& scalar = declared_[slot];
      if (scalar.isPointer || isFloat(scalar.type)) continue;
      if (auto d = dimensionOf(scalar.name, declared_[tensor].name, kSize)) filled_[tensor].push_back({slot, *d, false});
      if (auto d = dimensionOf(scalar.name, declared_[tensor].name, kStride)) filled_[tensor].push_back({slot, *d, true});
    }
  }
}

// Callers mostly keep the order of the declarations, perhaps without what tensors fill.
std::size_t ArgumentPack::indexOf(std::string_view name, std::size_t guess) const {
  if (guess < declared_.size() && declared_[guess].name == name) [[likely]]
    return guess;
  for (std::size_t i = guess; i < declared_.size(); ++i)
    if (declared_[i].name == name) return i;
  for (std::size_t i = 0; i < std::min(guess, declared_.size()); ++i)
    if (declared_[i].name == name) return i;
  std::string known;
  for (const dsl::Param& param : declared_) known += (known.empty() ? "" : ", ") + param.name;
  failArgument(name, "the program declares no such argument", known.empty() ? "it declares none" : "it declares " + known);
}

ArgumentPack::Rule ArgumentPack::ruleOf(const dsl::Param& param) {
  Rule rule{.isPointer = param.isPointer, .isReal = isFloat(param.type), .least = INT64_MIN, .most = INT64_MAX, .odd = 0, .divisor = 1};
  if (!param.isPointer && !rule.isReal) std::tie(rule.least, rule.most) = std::pair(rangeOf(param.type).least, rangeOf(param.type).most);
  const auto divisor = static_cast<std::uint64_t>(param.divisibility);
  if (std::has_single_bit(divisor))
    rule.odd = divisor - 1;
  else
    rule.divisor = param.divisibility;
  return rule;
}

void ArgumentPack::putPointer(std::size_t index, const void* memory, std::uint64_t* slots) const {
  const auto bits = reinterpret_cast<std::uint64_t>(memory);
  if (!rules_[index].keeps(static_cast<std::int64_t>(bits))) [[unlikely]]
    failArgument(declared_[index].name, "the address is not a multiple of " + std::to_string(declared_[index].divisibility) +
                                            " bytes, as the program was promised");
  slots[index] = bits;
}

void ArgumentPack::failInteger(std::size_t index, std::int64_t value) const {
  const dsl::Param& param = declared_[index];
  const Rule& rule = rules_[index];
  if (value < rule.least || value > rule.most)
    failArgument(param.name, "it is " + std::to_string(value) + "; " + std::string(name(param.type)) + " holds " +
                                 std::to_string(rule.least) + " to " + std::to_string(rule.most));
  failArgument(param.name,
               "it is " + std::to_string(value) + "; the program was promised a multiple of " + std::to_string(param.divisibility));
}

void ArgumentPack::putInteger(std::size_t index, std::int64_t value, std::uint64_t* slots) const {
  const Rule& rule = rules_[index];
  if (rule.isReal) [[unlikely]] {
    constexpr std::int64_t kExact = 1 << 24;
    if (value > kExact || value < -kExact)
      failArgument(declared_[index].name, std::to_string(value) + " may not be a number of f32", "write it as a floating-point number");
    slots[index] = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    return;
  }
  if (!rule.keeps(value)) [[unlikely]]
    failInteger(index, value);
  slots[index] = static_cast<std::uint64_t>(value);
}

void ArgumentPack::putTensor(std::size_t index, const TensorView& view, std::uint64_t* slots, Given& given) const {
  const dsl::Param& param = declared_[index];
  if (view.dtype != param.type)
    failArgument(param.name, "dtype is " + std::string(name(view.dtype)) + "; it must be " + std::string(name(param.type)));
  if (param.rank >= 0 && view.rank != param.rank)
    failArgument(param.name, "rank is " + std::to_string(view.rank) + "; it must be " + std::to_string(param.rank));
  const std::int64_t bytes = view.checkedBytes();
  if (bytes < 0) failArgument(param.name, view.toString() + " is no legal view, or spans more bytes than 63 bits count");
  if (bytes > 0 && view.data == nullptr) failArgument(param.name, "the data pointer is null, but the view is " + view.toString());
  putPointer(index, view.data, slots);
  const int last = view.rank - 1;
  if (param.rows && view.shape[last] > 1 && view.strides[last] != 1)
    failArgument(param.name,
                 "the stride of dimension " + std::to_string(last) + " is " + std::to_string(view.strides[last]) + "; it must be 1",
                 "the program was written for elements of a row that lie side by side");
  for (const auto& [slot, dimension, isStride] : filled_[index]) {
    if (given[slot] != By::Nobody) continue;
    if (dimension > last)
      failArgument(param.name, "rank is " + std::to_string(view.rank) + "; the program asks for " + declared_[slot].name);
    // A stride along which there are no two elements is nobody's.
    const std::int64_t value = !isStride ? view.shape[dimension] : view.shape[dimension] > 1 ? view.strides[dimension] : 0;
    putInteger(slot, value, slots);
    given[slot] = By::Tensor;
  }
}

void ArgumentPack::put(std::size_t index, const Argument& argument, std::uint64_t* slots, Given& given) const {
  const Rule& rule = rules_[index];
  if (argument.kind() == Argument::Kind::Integer && !rule.isPointer) [[likely]]
    return putInteger(index, argument.integer(), slots);
  const dsl::Param& param = declared_[index];
  const bool isMemory = argument.kind() == Argument::Kind::Tensor || argument.kind() == Argument::Kind::Pointer;
  if (isMemory != param.isPointer)
    failArgument(param.name,
                 std::string("it is given ") + (isMemory ? "memory" : "a number") + "; the program declares " + declaration(param));
  switch (argument.kind()) {
    case Argument::Kind::Tensor:
      return putTensor(index, argument.view(), slots, given);
    case Argument::Kind::Pointer:
      if (argument.element() >= 0 && static_cast<DType>(argument.element()) != param.type)
        failArgument(param.name, "it is given a pointer to " + std::string(name(static_cast<DType>(argument.element()))) +
                                     "; the program declares " + declaration(param));
      return putPointer(index, argument.memory(), slots);
    case Argument::Kind::Integer:
      return putInteger(index, argument.integer(), slots);
    case Argument::Kind::Number:
      break;
  }
  if (!rule.isReal)
    failArgument(param.name, "it is given " + std::to_string(argument.number()) + "; the program declares " + declaration(param));
  slots[index] = std::bit_cast<std::uint32_t>(static_cast<float>(argument.number()));
}

void ArgumentPack::failMissing(const Given& given) const {
  std::string missing;
  for (std::size_t i = 0; i < declared_.size(); ++i)
    if (given[i] == By::Nobody) missing += (missing.empty() ? "" : "; ") + declaration(declared_[i]);
  throw Error(ErrorCode::InvalidArgument, "a launch has to give every argument that the program declares; missing: " + missing);
}

void ArgumentPack::pack(std::span<const Argument> arguments, std::uint64_t* slots) const {
  Given given;  // no more of it is used than there are slots
  std::fill_n(given.begin(), declared_.size(), By::Nobody);
  std::size_t next = 0, found = 0;
  for (const Argument& argument : arguments) {
    const std::size_t index = indexOf(argument.name(), next);
    if (given[index] == By::Caller) [[unlikely]]
      failArgument(argument.name(), "it is given twice");
    put(index, argument, slots, given);
    given[index] = By::Caller;
    next = index + 1;
    ++found;
  }
  if (found == declared_.size()) return;
  for (std::size_t i = 0; i < declared_.size(); ++i)
    if (given[i] == By::Nobody) failMissing(given);
}

}  // namespace fattn::kernels
