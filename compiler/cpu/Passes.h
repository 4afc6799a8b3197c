// SPDX-License-Identifier: Apache-2.0
// The passes of the CPU back end and their order.
#ifndef FATTN_COMPILER_CPU_PASSES_H
#define FATTN_COMPILER_CPU_PASSES_H

#include <memory>

#include "compiler/cpu/HostTarget.h"
#include "mlir/Pass/PassManager.h"

namespace fattn::cpu {

/// `-cpu-lower-tiles`: every kernel function becomes `func @name(%args, %grid, %scratch)` of loops over vectors. The scratch bytes
/// a thread needs are left on it as the attribute `fattn.scratch_bytes`.
std::unique_ptr<mlir::Pass> createLowerTilesPass(const HostTarget& target);
/// `-cpu-expand-math`
std::unique_ptr<mlir::Pass> createExpandMathPass(const HostTarget& target);

/// Appends all passes from `tile` to the LLVM dialect.
void buildPipeline(mlir::OpPassManager& pm, const HostTarget& target);

}  // namespace fattn::cpu

#endif
