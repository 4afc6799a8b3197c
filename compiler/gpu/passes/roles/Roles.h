// SPDX-License-Identifier: Apache-2.0
// Which blocks have room for a warp group that only copies, and which stores it can send.
#ifndef FATTN_COMPILER_GPU_PASSES_ROLES_ROLES_H
#define FATTN_COMPILER_GPU_PASSES_ROLES_ROLES_H

#include "compiler/gpu/dialect/TileGpu.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace fattn::tilegpu {

/// Registers of a thread that only copies, enough for addresses: the fewest that can be asked for.
constexpr int64_t kFewestRegisters = 24;

/// Two computing warp groups or more, on a chip that can move registers from one to the other (a single group would halve the blocks on an
/// SM for its copies), and threads left for a further group.
inline bool hasRoomForCopier(mlir::func::FuncOp func) {
  const gpu::Target& target = targetOf(func);
  const int64_t warps = warpsOf(func), group = target.warpGroup.value_or(0);
  if (group == 0 || !target.registers.reallocation || warps % group != 0 || warps < 2 * group) return false;
  return (warps + group) * target.warpSize <= target.maxThreads;
}

/// Additions in a loop, which a warp would wait for in the next trip, and those of an owner. Where the block has no further warps, it does.
inline bool maySendElsewhere(StoreBoxesOp store) {
  const bool again = store->getParentOfType<mlir::LoopLikeOpInterface>() || store->getParentOfType<OwnerOnlyOp>();
  return store.getAdd() && again && hasRoomForCopier(store->getParentOfType<mlir::func::FuncOp>());
}

}  // namespace fattn::tilegpu

#endif
