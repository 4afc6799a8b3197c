// SPDX-License-Identifier: Apache-2.0
// The AMD back end below the passes on tiles (gpu/pipeline/BlockPipeline.cpp).
#include "compiler/amd/Passes.h"
#include "compiler/gpu/lower/Passes.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace fattn::amd {

void buildPipeline(OpPassManager& pm, const gpu::PipelineOptions& options) {
  gpu::buildBlockPipeline(pm, options);

  // The program of one thread. Its order is the code generator's matter, which schedules for the chip.
  pm.addPass(createLowerTensorsPass());
  pm.addPass(gpu::createExpandMathPass());
  // LLVM simplifies control flow itself, in less time.
  pm.addPass(createCanonicalizerPass(GreedyRewriteConfig().setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)));
  pm.addPass(createCSEPass());

  // Everything becomes the LLVM dialect.
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(gpu::createConvertToLlvmPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addNestedPass<LLVM::LLVMFuncOp>(createOrderProductsPass());
  pm.addPass(createMarkKernelsPass());
}

}  // namespace fattn::amd
