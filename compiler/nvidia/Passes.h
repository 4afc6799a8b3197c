// SPDX-License-Identifier: Apache-2.0
// NVIDIA's passes, and all passes from `tile` to a kernel in the LLVM dialect, in order.
#ifndef FATTN_COMPILER_NVIDIA_PASSES_H
#define FATTN_COMPILER_NVIDIA_PASSES_H

#include <memory>

#include "compiler/gpu/pipeline/BlockPipeline.h"
#include "mlir/Pass/PassManager.h"

namespace fattn::nvidia {

#define GEN_PASS_DECL
#include "compiler/nvidia/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/nvidia/Passes.h.inc"

using gpu::buildBlockPipeline, gpu::PipelineOptions;

/// Appends all passes from `tile` to the LLVM and NVVM dialects.
void buildPipeline(mlir::OpPassManager& pm, const PipelineOptions& options);

/// Makes them known to command-line tools: the passes, and `-nvidia-pipeline="target=nvidia:sm_80 warps=4 stages=2 schedule=0"`.
void registerPasses();

}  // namespace fattn::nvidia

#endif
