// SPDX-License-Identifier: Apache-2.0
// The NVIDIA back end below the passes on tiles (gpu/pipeline/BlockPipeline.cpp).
#include "compiler/gpu/lower/Passes.h"
#include "compiler/nvidia/Passes.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace fattn::nvidia {

void buildPipeline(OpPassManager& pm, const PipelineOptions& options) {
  buildBlockPipeline(pm, options);

  // The program of one thread.
  pm.addPass(createLowerTensorsPass({.watchdog = options.watchdog}));
  pm.addPass(gpu::createExpandMathPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createOrderRegistersPass());

  // Everything becomes the LLVM dialect.
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(gpu::createConvertToLlvmPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addNestedPass<LLVM::LLVMFuncOp>(createMarkKernelsPass());
  pm.addNestedPass<LLVM::LLVMFuncOp>(createPackParametersPass());
}

}  // namespace fattn::nvidia
