// SPDX-License-Identifier: Apache-2.0
// The passes of the AMD back end and their order.
#ifndef FATTN_COMPILER_AMD_PASSES_H
#define FATTN_COMPILER_AMD_PASSES_H

#include <memory>

#include "compiler/gpu/pipeline/BlockPipeline.h"
#include "mlir/Pass/PassManager.h"

namespace fattn::amd {

/// `-amd-lower-tensors`: the kernels of a module become programs of one thread; see compiler/gpu/lower/LowerTensors.cpp.
std::unique_ptr<mlir::Pass> createLowerTensorsPass();
/// `-amd-mark-kernels`: see MarkKernels.cpp.
std::unique_ptr<mlir::Pass> createMarkKernelsPass();

/// Appends all passes from `tile` to the LLVM and ROCDL dialects.
void buildPipeline(mlir::OpPassManager& pm, const gpu::PipelineOptions& options);

/// Makes the passes known by their names, and -amd-pipeline.
void registerPasses();

}  // namespace fattn::amd

#endif
