// SPDX-License-Identifier: Apache-2.0
// Passes on the programs of single threads, the same for every GPU: names, dialects and descriptions.
#ifndef FATTN_COMPILER_GPU_LOWER_PASSES_TD
#define FATTN_COMPILER_GPU_LOWER_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandMathPass : Pass<"gpu-expand-math", "::mlir::ModuleOp"> {
  let summary = "Expand functions that the machine has no instruction for";
  let description = [{
    They become arithmetic on f32: polynomials and quotients of polynomials. Runs behind the lowering of the target, which takes the functions that the machine
    has.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def ConvertToLlvmPass : Pass<"gpu-convert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Make scalars, branches and functions the LLVM dialect";
  let description = [{
    What MLIR's passes for arith, math, cf, ub and func do one after the other, in one pass over the program.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif
