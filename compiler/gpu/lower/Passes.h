// SPDX-License-Identifier: Apache-2.0
// Passes on the programs of single threads, the same for every GPU.
#ifndef FATTN_COMPILER_GPU_LOWER_PASSES_H
#define FATTN_COMPILER_GPU_LOWER_PASSES_H

#include <memory>

#include "mlir/Pass/PassManager.h"

namespace fattn::gpu {

/// `-gpu-expand-math`: see ExpandMath.cpp.
std::unique_ptr<mlir::Pass> createExpandMathPass();

}  // namespace fattn::gpu

#endif
