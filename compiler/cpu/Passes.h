// SPDX-License-Identifier: Apache-2.0
// The passes of the CPU back end and their order.
#ifndef FATTN_COMPILER_CPU_PASSES_H
#define FATTN_COMPILER_CPU_PASSES_H

#include <memory>

#include "compiler/cpu/HostTarget.h"
#include "mlir/Pass/PassManager.h"

namespace fattn::cpu {

#define GEN_PASS_DECL
#include "compiler/cpu/Passes.h.inc"

/// Passes for a host.
std::unique_ptr<mlir::Pass> createLowerTilesPass(const HostTarget& target);
std::unique_ptr<mlir::Pass> createExpandMathPass(const HostTarget& target);

/// Appends all passes from `tile` to the LLVM dialect.
void buildPipeline(mlir::OpPassManager& pm, const HostTarget& target);

}  // namespace fattn::cpu

#endif
