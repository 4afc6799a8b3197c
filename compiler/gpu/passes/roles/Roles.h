// SPDX-License-Identifier: Apache-2.0
// Which blocks have room for a warp group that only copies.
#ifndef FATTN_COMPILER_GPU_PASSES_ROLES_ROLES_H
#define FATTN_COMPILER_GPU_PASSES_ROLES_ROLES_H

#include "compiler/gpu/dialect/TileGpu.h"

namespace fattn::tilegpu {

/// Two computing warp groups or more, on a chip that can move registers from one to the other (a single group would halve the blocks on an
/// SM for its copies), and threads left for a further group.
inline bool hasRoomForCopier(mlir::func::FuncOp func) {
  const gpu::Target& target = targetOf(func);
  const int64_t warps = warpsOf(func), group = target.warpGroup.value_or(0);
  if (group == 0 || !target.registers.reallocation || warps % group != 0 || warps < 2 * group) return false;
  return (warps + group) * target.warpSize <= target.maxThreads;
}

}  // namespace fattn::tilegpu

#endif
