// SPDX-License-Identifier: Apache-2.0
// What passes that move waits for copies and dots ask: how much may stay in flight at a wait, and what a wait must not pass.
#ifndef FATTN_COMPILER_GPU_PASSES_SHARED_WAITS_H
#define FATTN_COMPILER_GPU_PASSES_SHARED_WAITS_H

#include "compiler/transforms/Aliasing.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fattn::tilegpu {

/// Says at each wait how many copies, or dots, may stay in flight: those that are younger than what is waited for on every path to it. A
/// forward data-flow over structured control flow counts, for each token, the copies issued since its own (the least of all paths); loops
/// are followed until nothing changes. Every copy counts, whether its predicate holds or not: its group is closed in any case. Dots are
/// counted in the same way, by themselves: each kind completes in the order of its issue. A dot that a wait for another one has covered on
/// every path is not waited for. Waits for boxes, which have barriers of their own, are left as they are.
void countPending(mlir::func::FuncOp func);

/// The global memory that the copies of some tokens read until they are waited for.
class CopiedMemory {
 public:
  /// `aliasing` outlives it.
  CopiedMemory(mlir::ValueRange tokens, transforms::Aliasing& aliasing);
  /// Whether the operation, or one in its regions, may write there.
  bool mayChangeIn(mlir::Operation* op) const;

 private:
  transforms::Aliasing& aliasing_;
  llvm::SmallVector<transforms::MemoryAccess> reads_;
};

}  // namespace fattn::tilegpu

#endif
