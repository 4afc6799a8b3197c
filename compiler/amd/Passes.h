// SPDX-License-Identifier: Apache-2.0
// The passes of the AMD back end and their order.
#ifndef FATTN_COMPILER_AMD_PASSES_H
#define FATTN_COMPILER_AMD_PASSES_H

#include <memory>

#include "compiler/gpu/pipeline/BlockPipeline.h"
#include "mlir/Pass/PassManager.h"

namespace fattn::amd {

#define GEN_PASS_DECL
#include "compiler/amd/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/amd/Passes.h.inc"

/// Appends all passes from `tile` to the LLVM and ROCDL dialects.
void buildPipeline(mlir::OpPassManager& pm, const gpu::PipelineOptions& options);

/// Makes the passes known by their names, and -amd-pipeline.
void registerPasses();

}  // namespace fattn::amd

#endif
