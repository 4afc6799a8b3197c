// SPDX-License-Identifier: Apache-2.0
// From a schedule of a loop's operations to the loop that overlaps its trips.
#ifndef FATTN_COMPILER_GPU_PASSES_LOOPS_PIPELINELOOP_H
#define FATTN_COMPILER_GPU_PASSES_LOOPS_PIPELINELOOP_H

#include "compiler/gpu/dialect/TileGpu.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fattn::tilegpu {

/// The operations of a loop's body in the order in which a trip is to execute them, each with its stage: in trip t it works on iteration
/// t - stage. Operations that bring data (and what only they need) are not among them.
using StagedOps = std::vector<std::pair<mlir::Operation*, unsigned>>;

/// What brings data into the shared memory that the loop reads: copies, and loads that are only stored there; in the order of the text.
/// Only those that can be issued `ahead` trips early, and one more for operations of the trip before: their addresses do not depend on
/// results of dots or on shared memory, and nothing writes what they read in the meantime.
llvm::SmallVector<mlir::Operation*> fetchesOf(mlir::scf::ForOp loop, int64_t ahead);

/// Where a trip waits for its copies, when these are ahead.
enum class Waits : std::uint8_t { Together, Apart };

/// Lets fetches run `ahead` trips before their data is used (loads into registers: one at most), gives buffers as many slots as there are
/// iterations that use them at once, and overlaps the stages of the rest. Returns the new loop, the same where there is nothing to overlap.
mlir::FailureOr<mlir::scf::ForOp> pipelineLoop(mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Operation*> fetches, int64_t ahead, Waits waits,
                                               StagedOps compute);

}  // namespace fattn::tilegpu

#endif
