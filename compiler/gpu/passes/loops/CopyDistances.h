// SPDX-License-Identifier: Apache-2.0
// How far copies of boxes run ahead of their first reader, where shared memory does not suffice for all of them.
#ifndef FATTN_COMPILER_GPU_PASSES_LOOPS_COPYDISTANCES_H
#define FATTN_COMPILER_GPU_PASSES_LOOPS_COPYDISTANCES_H

#include "compiler/gpu/dialect/TileGpu.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fattn::tilegpu {

/// First and last stage in which a loop's body reads a buffer.
using ReadStages = llvm::function_ref<std::pair<unsigned, unsigned>(mlir::Value buffer)>;

/// Copies that run one trip less ahead than `ahead`, so that their buffers have a slot less: of those that a later stage reads as well, the
/// largest first, until the block's shared memory suffices. Such a slot is free in the middle of a trip, when that reader has ended, and
/// the warps that copy fill it then. `stageOf` is the stage of an operation of the body.
llvm::SmallPtrSet<mlir::Operation*, 4> shortenedCopies(mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Operation*> fetches, int64_t ahead,
                                                       ReadStages readStages, llvm::function_ref<unsigned(mlir::Operation*)> stageOf);

}  // namespace fattn::tilegpu

#endif
