// SPDX-License-Identifier: Apache-2.0
// How many blocks an SM holds at once: the one formula that passes, the model of a loop and the tools ask.
#ifndef FATTN_COMPILER_GPU_OCCUPANCY_H
#define FATTN_COMPILER_GPU_OCCUPANCY_H

#include <optional>

#include "compiler/gpu/Target.h"

namespace fattn::gpu {

/// What a block takes of an SM.
struct BlockNeeds {
  int warps = 1;
  int registers = 0;             ///< of a thread; 0: not known, and no limit
  std::int64_t sharedBytes = 0;  ///< without what the system takes for every block
};

struct Occupancy {
  int blocks = 0;
  std::string_view limit = {};  ///< what runs out first: "warps", "registers" or "shared memory"
};

/// No block where one has more shared memory than a block may have.
Occupancy occupancyOf(const Target& target, const BlockNeeds& needs);

/// Warps that the fullest SIMD has where a machine holds as many such blocks as it can; 0 where the table names no SIMDs.
int mostWarpsOfSimd(const Target& target, const BlockNeeds& needs);

/// A bound of registers by warps of a SIMD.
struct WarpBound {
  int warps = 0;      ///< of a SIMD
  int registers = 0;  ///< that a thread may have then
};
/// The bound with which one more block fits where registers are the limit; nothing where they are not, or the table names no SIMDs.
std::optional<WarpBound> boundForOneMore(const Target& target, const BlockNeeds& needs);

}  // namespace fattn::gpu

#endif
