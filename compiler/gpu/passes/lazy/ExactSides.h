// SPDX-License-Identifier: Apache-2.0
// The regions of tile.select_lazy that single warps are to enter.
//
// A warp enters alone where nothing in the region needs the others: neither a matrix instruction of several warps nor shared memory. Then
// no warp waits for what hardly ever happens. Operands of dots come from global memory as the instruction has them instead, and stay in
// registers through the region's loops; so it has to fit there.
#ifndef FATTN_COMPILER_GPU_PASSES_LAZY_EXACTSIDES_H
#define FATTN_COMPILER_GPU_PASSES_LAZY_EXACTSIDES_H

#include "compiler/gpu/Target.h"
#include "mlir/IR/Operation.h"

namespace fattn::tilegpu {

/// Whether the operation is in such a region of a block of so many warps, layouts assigned or not. Where blocks take several programs
/// (kSeveralAttr), regions with more registers are such regions, too.
bool isForSingleWarps(mlir::Operation* op, const gpu::Target& target, int64_t warps);

}  // namespace fattn::tilegpu

#endif
