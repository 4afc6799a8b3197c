// SPDX-License-Identifier: Apache-2.0
// What brings data into the shared memory that a loop reads, and how far ahead of its use it may run.
#ifndef FATTN_COMPILER_GPU_PASSES_LOOPS_FETCHES_H
#define FATTN_COMPILER_GPU_PASSES_LOOPS_FETCHES_H

#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/transforms/Aliasing.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fattn::tilegpu {

/// The operations of a loop's body in the order in which a trip is to execute them, each with its stage: in trip t it works on iteration
/// t - stage. Operations that bring data (and what only they need) are not among them.
using StagedOps = std::vector<std::pair<mlir::Operation*, unsigned>>;

/// Copies, and loads that are only stored in a buffer; in the order of the text. Only those that can be issued `ahead` trips early, and one
/// more for operations of the trip before: their addresses do not depend on results of dots or on shared memory, and nothing writes what
/// they read in the meantime.
llvm::SmallVector<mlir::Operation*> fetchesOf(mlir::scf::ForOp loop, int64_t ahead);

/// Whether a fetch can be issued so many trips early, and one more.
bool canRunAhead(mlir::scf::ForOp loop, mlir::Operation* fetch, int64_t ahead, transforms::Aliasing& aliasing);

/// The buffer that a fetch fills.
mlir::Value bufferOf(mlir::Operation* fetch);

/// The operation of the loop's body that is `op` or contains it; null outside.
mlir::Operation* inBody(mlir::scf::ForOp loop, mlir::Operation* op);

/// Everything in the body that `op` is computed from, carried values included; in the order of the text.
llvm::SmallVector<mlir::Operation*> sliceOf(mlir::scf::ForOp loop, mlir::Operation* op);

/// Copies whose slot is free in the trip that reads it, each with the operation behind which it is. Such a copy can stand there, one trip
/// further ahead, and needs no slot more. With `ahead` trips that is where all warps meet for an exchange behind the last reader; a copy
/// with one slot, which nothing else hides, stands behind the last reader itself, as it needs a barrier in each trip in any case.
/// `order`: of the loop's trips.
llvm::DenseMap<mlir::Operation*, mlir::Operation*> refillsOf(mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Operation*> fetches,
                                                             const StagedOps& order, int64_t ahead);

}  // namespace fattn::tilegpu

#endif
