// SPDX-License-Identifier: Apache-2.0
// The tensor maps that a launch makes of its arguments, for the copy engine.
#ifndef FATTN_RUNTIME_CUDA_TENSORMAPS_H
#define FATTN_RUNTIME_CUDA_TENSORMAPS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fattn/PreparedLaunch.h"
#include "runtime/base/Binary.h"
#include "runtime/cuda/DriverApi.h"

namespace fattn::cuda {

/// Those of one kernel. Immutable; any number of threads may use it at once.
class TensorMaps {
 public:
  /// Throws Unsupported where the driver cannot make any, InvalidArgument for maps that no engine has.
  TensorMaps(const compiler::Binary& binary, const DriverApi& api);

  bool empty() const { return maps_.empty(); }
  /// Whether the engine can read what these arguments say.
  bool fit(std::span<const std::uint64_t> slots) const;
  /// Writes the maps, 128 bytes each, to `out`, which is aligned to 64 bytes; nothing for arguments that do not fit. A thread keeps what it
  /// has encoded lately: of arguments with the same sizes and strides only the addresses are replaced.
  std::optional<Result> encode(std::span<const std::uint64_t> slots, std::byte* out) const;
  /// Gives maps that encode() wrote other addresses, of as many bytes' alignment. False where the driver does not do so.
  bool replaceAddresses(std::span<const NewAddress> changed, std::byte* maps) const;

 private:
  std::size_t placeOf(std::span<const std::uint64_t> slots) const;
  const std::byte* recentMaps(std::span<const std::uint64_t> slots) const;
  bool isOfRecentShape(std::span<const std::uint64_t> slots) const;
  bool areAligned(std::span<const std::uint64_t> slots) const;
  bool haveShapes(std::span<const std::uint64_t> slots) const;
  bool encodeByShape(std::span<const std::uint64_t> slots, std::byte* out) const;
  Result encodeAll(std::span<const std::uint64_t> slots, std::byte* out) const;
  std::int64_t integerOf(std::int32_t argument, std::span<const std::uint64_t> slots) const;
  std::int64_t valueOf(const compiler::LaunchProduct& product, std::span<const std::uint64_t> slots) const;
  bool hasShape(const compiler::TensorMap& map, std::span<const std::uint64_t> slots) const;
  Result encodeOne(const compiler::TensorMap& map, std::span<const std::uint64_t> slots, std::byte* out) const;

  std::vector<compiler::TensorMap> maps_;
  std::vector<std::int32_t> nonNegative_, relevant_;  ///< arguments; those that decide whether there are maps, and which
  std::vector<std::int32_t> shaping_;                 ///< of the latter those that are no addresses of maps
  std::vector<bool> narrow_;                          ///< of each argument: it is an i32
  Result (*encode_)(void*, int, unsigned, void*, const std::uint64_t*, const std::uint64_t*, const unsigned*, const unsigned*, int, int,
                    int, int) = nullptr;
  Result (*replace_)(void*, void*) = nullptr;  ///< null: the driver does not have it
  std::uint64_t number_;                       ///< no other object has had it
};

}  // namespace fattn::cuda

#endif
