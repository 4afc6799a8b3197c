// SPDX-License-Identifier: Apache-2.0
// From a schedule of a loop's operations to the loop that overlaps its trips.
#ifndef FATTN_COMPILER_GPU_PASSES_LOOPS_PIPELINELOOP_H
#define FATTN_COMPILER_GPU_PASSES_LOOPS_PIPELINELOOP_H

#include "compiler/gpu/passes/loops/Fetches.h"

namespace fattn::tilegpu {

/// Where a trip waits for its copies, when these are ahead.
enum class Waits : std::uint8_t { Together, Apart };

/// Trips that copies run ahead of their first reader, where they are not as many as those of the loop's other fetches.
using CopyDistances = llvm::DenseMap<mlir::Operation*, int64_t>;

/// Lets fetches run `ahead` trips before their data is used (loads into registers: one at most; copies as `distances` says), gives buffers
/// as many slots as there are iterations that use them at once, and overlaps the stages of the rest. Returns the new loop, the same where
/// there is nothing to overlap.
mlir::FailureOr<mlir::scf::ForOp> pipelineLoop(mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Operation*> fetches, int64_t ahead, Waits waits,
                                               StagedOps compute, CopyDistances distances);

}  // namespace fattn::tilegpu

#endif
