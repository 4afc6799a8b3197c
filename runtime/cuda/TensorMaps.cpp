// SPDX-License-Identifier: Apache-2.0
// Source of the rules: CUDA Driver API, "Tensor Map Object Management", cuTensorMapEncodeTiled.
#include "runtime/cuda/TensorMaps.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "fattn/Error.h"
#include "runtime/gpu/ArgumentLayout.h"

namespace fattn::cuda {
namespace {

constexpr std::size_t kMostDims = 5, kWindowDims = 2;
constexpr std::int64_t kUnit = 16, kMostSize = std::int64_t{1} << 32, kMostStride = std::int64_t{1} << 40;

std::atomic<std::uint64_t> made{1};

/// What a thread has encoded lately: by the kernel and the arguments that its maps follow from.
struct Recent {
  static constexpr std::size_t kMaps = 4, kArguments = 24;
  std::uint64_t number = 0;  ///< 0: nothing
  std::array<std::uint64_t, kArguments> arguments{};
  std::array<std::byte, kMaps * ArgumentLayout::kMapBytes> maps{};
};
thread_local std::array<Recent, 8> recent;
/// The same by kernel alone; `arguments` are those that are no addresses of maps.
thread_local std::array<Recent, 8> recentShapes;

int typeOf(std::int32_t bytes) {
  switch (bytes) {
    case 1:
      return kMapUInt8;
    case 2:
      return kMapUInt16;
    case 4:
      return kMapUInt32;
    case 8:
      return kMapUInt64;
    default:
      throw Error(ErrorCode::InvalidArgument, "a tensor map has elements of " + std::to_string(bytes) + " bytes; legal are 1, 2, 4 and 8");
  }
}

int swizzleOf(std::int32_t bytes) {
  switch (bytes) {
    case 0:
      return kMapSwizzleNone;
    case 32:
      return kMapSwizzle32;
    case 64:
      return kMapSwizzle64;
    case 128:
      return kMapSwizzle128;
    default:
      throw Error(ErrorCode::InvalidArgument,
                  "a tensor map swizzles rows of " + std::to_string(bytes) + " bytes; legal are 0, 32, 64 and 128");
  }
}

}  // namespace

TensorMaps::TensorMaps(const compiler::Binary& binary, const DriverApi& api)
    : maps_(binary.tensorMaps),
      nonNegative_(binary.nonNegative),
      encode_(api.TensorMapEncodeTiled),
      replace_(api.TensorMapReplaceAddress),
      number_(made.fetch_add(1)) {
  if (maps_.empty()) return;
  if (encode_ == nullptr)
    throw Error(ErrorCode::Unsupported, "kernel '" + binary.entry + "' reads arrays by tensor maps, which this driver cannot make",
                "they take a driver for CUDA 12.0 or newer; code for nvidia:sm_90 does without");
  for (const compiler::ArgInfo& argument : binary.args) narrow_.push_back(!argument.isPointer && sizeInBytes(argument.type) == 4);
  for (const compiler::TensorMap& map : maps_) {
    typeOf(map.elementBytes), swizzleOf(map.swizzleBytes);
    if (map.adds && map.elementBytes != 4)
      throw Error(ErrorCode::InvalidArgument,
                  "a tensor map adds elements of " + std::to_string(map.elementBytes) + " bytes; legal are those of f32, 4");
    if (map.sizes.size() < kWindowDims || map.sizes.size() > kMostDims || map.strides.size() + 1 != map.sizes.size())
      throw Error(ErrorCode::InvalidArgument, "a tensor map has " + std::to_string(map.sizes.size()) + " sizes and " +
                                                  std::to_string(map.strides.size()) + " strides; legal are 2 to 5, and one less");
    relevant_.push_back(map.pointer);
    for (const auto* list : {&map.sizes, &map.strides})
      for (const compiler::LaunchProduct& product : *list)
        relevant_.insert(relevant_.end(), product.arguments.begin(), product.arguments.end());
  }
  relevant_.insert(relevant_.end(), nonNegative_.begin(), nonNegative_.end());
  std::ranges::sort(relevant_);
  relevant_.erase(std::ranges::unique(relevant_).begin(), relevant_.end());
  std::ranges::copy_if(relevant_, std::back_inserter(shaping_), [&](std::int32_t argument) {
    return std::ranges::find(maps_, argument, &compiler::TensorMap::pointer) == maps_.end();
  });
}

std::int64_t TensorMaps::integerOf(std::int32_t argument, std::span<const std::uint64_t> slots) const {
  std::uint64_t slot = slots[static_cast<std::size_t>(argument)];
  return narrow_[static_cast<std::size_t>(argument)] ? static_cast<std::int32_t>(slot) : static_cast<std::int64_t>(slot);
}

std::int64_t TensorMaps::valueOf(const compiler::LaunchProduct& product, std::span<const std::uint64_t> slots) const {
  std::int64_t value = product.factor;
  for (std::int32_t argument : product.arguments)
    if (__builtin_mul_overflow(value, integerOf(argument, slots), &value)) return -1;  // no array is that large
  return value;
}

bool TensorMaps::fit(std::span<const std::uint64_t> slots) const {
  return maps_.empty() || recentMaps(slots) != nullptr || (areAligned(slots) && (isOfRecentShape(slots) || haveShapes(slots)));
}

bool TensorMaps::areAligned(std::span<const std::uint64_t> slots) const {
  return std::ranges::all_of(maps_,
                             [&](const compiler::TensorMap& map) { return slots[static_cast<std::size_t>(map.pointer)] % kUnit == 0; });
}

/// Whether the engine reads arrays of these sizes and strides.
bool TensorMaps::haveShapes(std::span<const std::uint64_t> slots) const {
  return std::ranges::all_of(nonNegative_, [&](std::int32_t argument) { return integerOf(argument, slots) >= 0; }) &&
         std::ranges::all_of(maps_, [&](const compiler::TensorMap& map) { return hasShape(map, slots); });
}

/// Where the maps of these arguments are kept, if they are.
std::size_t TensorMaps::placeOf(std::span<const std::uint64_t> slots) const {
  std::uint64_t mixed = number_ * 0x9e3779b97f4a7c15ull;
  for (const compiler::TensorMap& map : maps_) mixed = (mixed ^ slots[static_cast<std::size_t>(map.pointer)] >> 8) * 0x9e3779b97f4a7c15ull;
  return mixed >> 61;
}

/// Null where the thread does not have those of these arguments.
const std::byte* TensorMaps::recentMaps(std::span<const std::uint64_t> slots) const {
  const Recent& place = recent[placeOf(slots)];
  bool same = place.number == number_;
  for (std::size_t i = 0; same && i < relevant_.size(); ++i) same = place.arguments[i] == slots[static_cast<std::size_t>(relevant_[i])];
  return same ? place.maps.data() : nullptr;
}

bool TensorMaps::isOfRecentShape(std::span<const std::uint64_t> slots) const {
  const Recent& place = recentShapes[number_ % recentShapes.size()];
  bool same = place.number == number_;
  for (std::size_t i = 0; same && i < shaping_.size(); ++i) same = place.arguments[i] == slots[static_cast<std::size_t>(shaping_[i])];
  return same;
}

bool TensorMaps::hasShape(const compiler::TensorMap& map, std::span<const std::uint64_t> slots) const {
  for (const compiler::LaunchProduct& size : map.sizes)
    if (std::int64_t value = valueOf(size, slots); value < 1 || value > kMostSize) return false;
  for (std::size_t d = 0; d < map.strides.size(); ++d) {
    std::int64_t value = valueOf(map.strides[d], slots);
    bool still = value == 0 && d + 1 >= kWindowDims;  // the kernel then stays at index 0
    if (!still && (value < kUnit || value % kUnit != 0 || value >= kMostStride)) return false;
  }
  return true;
}

Result TensorMaps::encodeOne(const compiler::TensorMap& map, std::span<const std::uint64_t> slots, std::byte* out) const {
  std::array<std::uint64_t, kMostDims> sizes{}, strides{};
  std::array<unsigned, kMostDims> box{}, steps{};
  box.fill(1), steps.fill(1);
  box[0] = static_cast<unsigned>(map.boxColumns), box[1] = static_cast<unsigned>(map.boxRows);
  for (std::size_t d = 0; d < map.sizes.size(); ++d) sizes[d] = static_cast<std::uint64_t>(valueOf(map.sizes[d], slots));
  for (std::size_t d = 0; d < map.strides.size(); ++d)
    strides[d] = static_cast<std::uint64_t>(std::max(valueOf(map.strides[d], slots), kUnit));
  return encode_(out, map.adds ? kMapFloat32 : typeOf(map.elementBytes), static_cast<unsigned>(map.sizes.size()),
                 reinterpret_cast<void*>(slots[static_cast<std::size_t>(map.pointer)]), sizes.data(), strides.data(), box.data(),
                 steps.data(),
                 /*interleave=*/0, swizzleOf(map.swizzleBytes), kMapPromote128, /*fill=*/0);
}

Result TensorMaps::encodeAll(std::span<const std::uint64_t> slots, std::byte* out) const {
  for (std::size_t i = 0; i < maps_.size(); ++i)
    if (const Result result = encodeOne(maps_[i], slots, out + i * ArgumentLayout::kMapBytes); result != kSuccess) return result;
  return kSuccess;
}

/// The maps of a launch of the same shape, with other addresses. False where the driver does not do so.
bool TensorMaps::encodeByShape(std::span<const std::uint64_t> slots, std::byte* out) const {
  if (replace_ == nullptr) return false;
  std::memcpy(out, recentShapes[number_ % recentShapes.size()].maps.data(), maps_.size() * ArgumentLayout::kMapBytes);
  for (std::size_t i = 0; i < maps_.size(); ++i) {
    void* address = reinterpret_cast<void*>(slots[static_cast<std::size_t>(maps_[i].pointer)]);
    if (replace_(out + i * ArgumentLayout::kMapBytes, address) != kSuccess) return false;
  }
  return true;
}

bool TensorMaps::replaceAddresses(std::span<const NewAddress> changed, std::byte* maps) const {
  for (std::size_t i = 0; i < maps_.size(); ++i)
    for (const NewAddress& change : changed) {
      if (change.slot != static_cast<std::size_t>(maps_[i].pointer)) continue;
      std::byte* map = maps + i * ArgumentLayout::kMapBytes;
      if (replace_ == nullptr || replace_(map, reinterpret_cast<void*>(change.address)) != kSuccess) return false;
    }
  return true;
}

std::optional<Result> TensorMaps::encode(std::span<const std::uint64_t> slots, std::byte* out) const {
  const std::size_t bytes = maps_.size() * ArgumentLayout::kMapBytes;
  if (const std::byte* maps = recentMaps(slots)) {
    std::memcpy(out, maps, bytes);
    return kSuccess;
  }
  if (!areAligned(slots)) return std::nullopt;
  const bool known = isOfRecentShape(slots);
  if (!known && !haveShapes(slots)) return std::nullopt;
  if (!known || !encodeByShape(slots, out))
    if (const Result result = encodeAll(slots, out); result != kSuccess) return result;
  if (maps_.size() > Recent::kMaps || relevant_.size() > Recent::kArguments) return kSuccess;
  auto keep = [&](Recent& place, const std::vector<std::int32_t>& arguments) {
    place.number = number_;
    for (std::size_t i = 0; i < arguments.size(); ++i) place.arguments[i] = slots[static_cast<std::size_t>(arguments[i])];
    std::memcpy(place.maps.data(), out, bytes);
  };
  keep(recent[placeOf(slots)], relevant_);
  if (!known) keep(recentShapes[number_ % recentShapes.size()], shaping_);
  return kSuccess;
}

}  // namespace fattn::cuda
