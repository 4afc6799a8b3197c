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

ArgumentPack::ArgumentPack(std::span<const dsl::Param> declared) : declared_(declared.begin(), declared.end()) {
  for (const dsl::Param& param : declared_) rules_.push_back(ruleOf(param));
  findFilled();
}

void ArgumentPack::findFilled() {
  constexpr int kStrides = TensorView::kMaxRank;
  std::vector<bool> isFilled(declared_.size());
  for (const dsl::Param& tensor : declared_) {
    filledBefore_.push_back(static_cast<std::uint32_t>(filled_.size()));
    auto fills = [&](std::size_t slot, std::optional<int> dimension, int first) {
      if (!dimension) return;
      filled_.push_back({.slot = static_cast<std::uint32_t>(slot),
                         .from = static_cast<std::uint32_t>(first + *dimension),
                         .suspicious = rules_[slot].suspicious});
      isFilled[slot] = true;
    };
    for (std::size_t slot = 0; tensor.isPointer && slot < declared_.size(); ++slot) {
      const dsl::Param& scalar = declared_[slot];
      if (scalar.isPointer || isFloat(scalar.type)) continue;
      fills(slot, dimensionOf(scalar.name, tensor.name, kSize), 0);
      fills(slot, dimensionOf(scalar.name, tensor.name, kStride), kStrides);
    }
  }
  filledBefore_.push_back(static_cast<std::uint32_t>(filled_.size()));
  for (std::size_t slot = declared_.size(), next = slot; slot-- > 0;) {
    rules_[slot].after = static_cast<std::uint32_t>(next);
    if (!isFilled[slot]) next = slot;
  }
}

std::size_t ArgumentPack::search(const Name& name, std::size_t from) const {
  for (std::size_t i = from; i < rules_.size(); ++i)
    if (rules_[i].name == name) return i;
  for (std::size_t i = 0; i < std::min(from, rules_.size()); ++i)
    if (rules_[i].name == name) return i;
  std::string known;
  for (const dsl::Param& param : declared_) known += (known.empty() ? "" : ", ") + param.name;
  failArgument(name.text, "the program declares no such argument", known.empty() ? "it declares none" : "it declares " + known);
}

ArgumentPack::Rule ArgumentPack::ruleOf(const dsl::Param& param) {
  Rule rule{.name = Name(param.name),
            .after = 0,
            .isPointer = param.isPointer,
            .isReal = isFloat(param.type),
            .least = INT64_MIN,
            .most = INT64_MAX,
            .odd = 0,
            .suspicious = 0,
            .divisor = 1};
  if (!param.isPointer && !rule.isReal) std::tie(rule.least, rule.most) = std::pair(rangeOf(param.type).least, rangeOf(param.type).most);
  const auto divisor = static_cast<std::uint64_t>(param.divisibility);
  if (std::has_single_bit(divisor))
    rule.odd = divisor - 1;
  else
    rule.divisor = param.divisibility;
  // Where there is a range, from zero to its end nothing else is to be asked.
  rule.suspicious =
      rule.divisor == 1 ? rule.odd | (rule.most == INT64_MAX ? 0 : ~static_cast<std::uint64_t>(rule.most)) : ~std::uint64_t{0};
  return rule;
}

void ArgumentPack::failAddress(std::size_t index) const {
  failArgument(declared_[index].name,
               "the address is not a multiple of " + std::to_string(declared_[index].divisibility) + " bytes, as the program was promised");
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

void ArgumentPack::failView(std::size_t index, const TensorView& view, std::int64_t bytes) const {
  const dsl::Param& param = declared_[index];
  if (view.dtype != param.type)
    failArgument(param.name, "dtype is " + std::string(name(view.dtype)) + "; it must be " + std::string(name(param.type)));
  if (param.rank >= 0 && view.rank != param.rank)
    failArgument(param.name, "rank is " + std::to_string(view.rank) + "; it must be " + std::to_string(param.rank));
  if (bytes < 0) failArgument(param.name, view.toString() + " is no legal view, or spans more bytes than 63 bits count");
  if (view.data == nullptr) failArgument(param.name, "the data pointer is null, but the view is " + view.toString());
  const int last = view.rank - 1;
  failArgument(param.name,
               "the stride of dimension " + std::to_string(last) + " is " + std::to_string(view.strides[last]) + "; it must be 1",
               "the program was written for elements of a row that lie side by side");
}

void ArgumentPack::putTensor(std::size_t index, const TensorView& view, std::uint64_t* slots, Given& given) const {
  const dsl::Param& param = declared_[index];
  const std::int64_t bytes = view.checkedBytes();
  const int last = view.rank - 1;
  if (view.dtype != param.type || (param.rank >= 0 && view.rank != param.rank) || bytes < 0 || (bytes > 0 && view.data == nullptr) ||
      (param.rows && view.shape[last] > 1 && view.strides[last] != 1)) [[unlikely]]
    failView(index, view, bytes);
  putPointer(index, view.data, slots);
  // A stride along which there are no two elements is nobody's.
  std::array<std::int64_t, 2 * TensorView::kMaxRank> values;
  for (int d = 0; d < view.rank; ++d) {
    values[d] = view.shape[d];
    values[TensorView::kMaxRank + d] = view.shape[d] > 1 ? view.strides[d] : 0;
  }
  for (std::size_t i = filledBefore_[index]; i < filledBefore_[index + 1]; ++i) {
    const Filled& filled = filled_[i];
    if (given[filled.slot] != By::Nobody) continue;
    if (filled.dimension() > last) [[unlikely]]
      failArgument(param.name, "rank is " + std::to_string(view.rank) + "; the program asks for " + declared_[filled.slot].name);
    const std::int64_t value = values[filled.from];
    if ((static_cast<std::uint64_t>(value) & filled.suspicious) != 0 && !rules_[filled.slot].keepsAtASecondLook(value)) [[unlikely]]
      failInteger(filled.slot, value);
    slots[filled.slot] = static_cast<std::uint64_t>(value);
    given[filled.slot] = By::Tensor;
  }
}

void ArgumentPack::put(std::size_t index, const Argument& argument, std::uint64_t* slots, Given& given) const {
  const Rule& rule = rules_[index];
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
    const Rule& rule = rules_[index];
    if (argument.kind() == Argument::Kind::Integer && !rule.isPointer && !rule.isReal && rule.keeps(argument.integer())) [[likely]]
      slots[index] = static_cast<std::uint64_t>(argument.integer());
    else if (argument.kind() == Argument::Kind::Tensor && rule.isPointer)
      putTensor(index, argument.view(), slots, given);
    else
      put(index, argument, slots, given);
    given[index] = By::Caller;
    next = argument.kind() == Argument::Kind::Tensor ? rule.after : index + 1;
    ++found;
  }
  if (found == declared_.size()) return;
  for (std::size_t i = 0; i < declared_.size(); ++i)
    if (given[i] == By::Nobody) failMissing(given);
}

}  // namespace fattn::kernels
