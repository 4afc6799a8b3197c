// SPDX-License-Identifier: Apache-2.0
// Which warps of a block run a loop in step.
#ifndef FATTN_COMPILER_GPU_PASSES_LOOPS_LOOPGROUPS_H
#define FATTN_COMPILER_GPU_PASSES_LOOPS_LOOPGROUPS_H

#include "compiler/gpu/schedule/LoopModel.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fattn::tilegpu {

/// Where nothing in the loop makes the groups of warps of a block wait for each other, the model of the block's work becomes that of one of
/// them, of which so many more run side by side. That is so where each has a matrix unit do its part of the dots, an engine makes the
/// copies (`fetches`) and no tile goes through shared memory. Else the model stays as it is.
void partIntoGroups(gpu::LoopModel& model, mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Operation*> fetches);

}  // namespace fattn::tilegpu

#endif
