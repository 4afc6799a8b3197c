// SPDX-License-Identifier: Apache-2.0
// The CPU back end from top to bottom.
#include "compiler/cpu/Passes.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace fattn::cpu {

void buildPipeline(OpPassManager& pm, const HostTarget& target) {
  // On tiles, the same for every target.
  transforms::buildTilePipeline(pm, transforms::MaskedLoops::Split);

  // What is computed and reduced is so in one loop nest.
  pm.addNestedPass<func::FuncOp>(createRaiseReductionsPass());

  // Tiles become loops over vectors and scratch memory.
  pm.addPass(createLowerTilesPass(target));
  pm.addPass(createCSEPass());
  pm.addPass(createExpandMathPass(target));

  // Everything becomes the LLVM dialect.
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

}  // namespace fattn::cpu
