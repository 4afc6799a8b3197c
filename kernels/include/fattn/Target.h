// SPDX-License-Identifier: Apache-2.0
// What a target's name stands for: a device, the code for it, and what that code may use. For those who write kernels with choices of their
// own, and functions that launch them.
#ifndef FATTN_TARGET_H
#define FATTN_TARGET_H

#include <cstdint>
#include <string>
#include <string_view>

#include "fattn/DType.h"

namespace fattn {

/// Whether a target is the host: "host", "host:avx2".
bool namesHost(std::string_view target);
/// Whether a target names a chip, "nvidia:sm_90", for which code can be made without a device.
bool namesChip(std::string_view target);

/// The full name of a target: of "" the default device's, of "cuda" "cuda:0", of "cuda@sm_80" "cuda:0@sm_80"; others are their own. Throws
/// Error{NoDevice} where there is no such device.
std::string resolveTarget(const std::string& target);

/// Throws Error where nothing can be compiled for a target: NoDevice, InvalidArgument, Unsupported.
void requireTarget(const std::string& target);

/// What code is made for.
struct Machine {
  std::string chip;               ///< "host", "host:avx2", "nvidia:sm_90a"
  std::int64_t shared_bytes = 0;  ///< shared memory of a program; 0 on the host
  int warp_size = 0;              ///< threads of a warp, which AMD calls a wave; 0 on the host
  bool warp_groups = false;       ///< whether several warps multiply as one what an engine has copied to shared memory (wgmma)
  bool async_copies = false;      ///< whether a thread can copy to shared memory and go on
  int dies = 1;                   ///< with a cache of their own, to which the device deals programs in turns; in the largest product
  bool isHost() const { return shared_bytes == 0; }

  /// Rows of a dot's result that one warp has at the least, where its matrix instructions take operands of the type; else 0.
  int dotRows(DType type) const;
  /// Registers that a thread has at the most, where a program has so many threads; 0 on the host.
  int registers(int threads) const;
};
/// The machine of a target. Throws Error: NoDevice, InvalidArgument, Unsupported.
Machine machineOf(const std::string& target);

}  // namespace fattn

#endif
