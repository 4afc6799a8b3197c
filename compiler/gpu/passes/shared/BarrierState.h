// SPDX-License-Identifier: Apache-2.0
// What the threads of a block have done to memory since the last barrier, at one place of a program, as -tilegpu-place-barriers follows it.
#ifndef FATTN_COMPILER_GPU_PASSES_SHARED_BARRIERSTATE_H
#define FATTN_COMPILER_GPU_PASSES_SHARED_BARRIERSTATE_H

#include "compiler/gpu/passes/Buffers.h"
#include "llvm/ADT/MapVector.h"

namespace fattn::tilegpu {

/// What was done to a buffer since the last barrier.
struct Done {
  bool read = false, stored = false, copied = false;
  bool operator==(const Done&) const = default;
};

/// Of any path that leads to the place.
struct BarrierState {
  llvm::MapVector<mlir::Value, Done> buffers;
  llvm::SetVector<mlir::Operation*> reads, writes;  ///< that accessed global memory
  /// Accesses to global memory before the last barrier that no barrier has ordered since; each with the barriers (or the operations that
  /// one stands before) that are the last ones on some path from it.
  llvm::MapVector<mlir::Operation*, llvm::SmallSetVector<mlir::Operation*, 2>> unordered;

  /// All threads meet at a barrier, which may order global memory, too.
  void meet(mlir::Operation* at, bool ordersGlobal);
  /// Takes in what another path leaves; whether that was anything new.
  bool join(const BarrierState& other);
};

/// Whether an access needs a barrier behind what was done to this buffer.
bool conflicts(const BufferAccess& access, mlir::Value buffer, const Done& done);

/// Whether two accesses to one window leave each element to the same thread; or, where an engine writes for a warp what the warp's threads
/// have met before, to the same warp, if only some columns of the window.
bool haveSameOwners(mlir::Operation* first, mlir::Operation* second);

}  // namespace fattn::tilegpu

#endif
