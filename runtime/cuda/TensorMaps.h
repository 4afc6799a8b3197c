// SPDX-License-Identifier: Apache-2.0
// The tensor maps that a launch makes of its arguments, for the copy engine.
#ifndef FATTN_RUNTIME_CUDA_TENSORMAPS_H
#define FATTN_RUNTIME_CUDA_TENSORMAPS_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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
  /// Writes the maps, 128 bytes each, to `out`, which is aligned to 64 bytes. A thread keeps what it has encoded lately: of
  /// arguments with the same sizes and strides only the addresses are replaced. The arguments fit.
  Result encode(std::span<const std::uint64_t> slots, std::byte* out) const;
  /// The same for arguments that the thread has lately encoded, which then fit: a comparison. False for others; nothing is written.
  bool encodeAgain(std::span<const std::uint64_t> slots, std::byte* out) const;

 private:
  std::size_t placeOf(std::span<const std::uint64_t> slots) const;
  const std::byte* recentMaps(std::span<const std::uint64_t> slots) const;
  bool isOfRecentShape(std::span<const std::uint64_t> slots) const;
  bool encodeAddresses(std::span<const std::uint64_t> slots, std::byte* out) const;
  void keep(std::span<const std::uint64_t> slots, const std::byte* encoded) const;
  std::int64_t integerOf(std::int32_t argument, std::span<const std::uint64_t> slots) const;
  std::int64_t valueOf(const compiler::LaunchProduct& product, std::span<const std::uint64_t> slots) const;
  bool fits(const compiler::TensorMap& map, std::span<const std::uint64_t> slots) const;
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
