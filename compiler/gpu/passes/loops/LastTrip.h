// SPDX-License-Identifier: Apache-2.0
// What a loop's last trip leaves out when it runs behind the loop.
#ifndef FATTN_COMPILER_GPU_PASSES_LOOPS_LASTTRIP_H
#define FATTN_COMPILER_GPU_PASSES_LOOPS_LASTTRIP_H

#include "compiler/gpu/dialect/TileGpu.h"

namespace fattn::tilegpu {

/// Erases what the last trip does not need: `skipped` operations, what happens only where `no` (i1, false) holds, and what then has no use.
/// Passes behind this one would take such products for ones that are needed. `ops`: of the trip, in their order.
void eraseUnneeded(llvm::ArrayRef<mlir::Operation*> ops, const llvm::SmallPtrSetImpl<mlir::Operation*>& skipped, mlir::Value no);

}  // namespace fattn::tilegpu

#endif
