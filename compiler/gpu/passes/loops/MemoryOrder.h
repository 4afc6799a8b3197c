// SPDX-License-Identifier: Apache-2.0
// The order that memory imposes on the operations of a loop's body, where no value says it: what a trip writes and another trip, or another
// operation of the same one, reads or writes as well. Whoever reorders a loop or runs a part of it ahead keeps to it.
#ifndef FATTN_COMPILER_GPU_PASSES_LOOPS_MEMORYORDER_H
#define FATTN_COMPILER_GPU_PASSES_LOOPS_MEMORYORDER_H

#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/transforms/Aliasing.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fattn::tilegpu {

/// `to` in iteration i + distance comes after `from` in iteration i. Both stand in the body itself.
struct MemoryEdge {
  mlir::Operation *from = nullptr, *to = nullptr;
  int distance = 0;
};

/// All such pairs but those between fetches and what may follow them (mayMove answers for these). A fetch reads global memory until
/// it is waited for, or stored into its buffer: there it keeps its order with later writes. Distances from `most` on are left out.
llvm::SmallVector<MemoryEdge> memoryEdges(mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Operation*> fetches, int most);

/// Whether nothing in the loop writes what these read in the meantime, where they may be done `early` trips before their own, and `late`
/// trips behind it (-1: they keep their order with later writes).
bool mayMove(mlir::scf::ForOp loop, llvm::ArrayRef<transforms::MemoryAccess> reads, int64_t early, int64_t late,
             transforms::Aliasing& aliasing);

/// Whether a copy or a store fills the buffer for its iteration alone, so that iterations can have slots of their own: nothing else writes
/// it, and what reads it stands behind in the loop.
bool fillsForIteration(mlir::scf::ForOp loop, mlir::Operation* writer, mlir::Value buffer);

}  // namespace fattn::tilegpu

#endif
