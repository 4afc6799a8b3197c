// SPDX-License-Identifier: Apache-2.0
// The passes of the CPU back end, in the order of their pipeline: names, dialects and descriptions.
#ifndef FATTN_COMPILER_CPU_PASSES_TD
#define FATTN_COMPILER_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def RaiseReductionsPass : Pass<"cpu-raise-reductions", "::mlir::func::FuncOp"> {
  let summary = "Move reductions up to the tiles that they reduce";
  let description = [{
    One loop nest then computes a tile and reduces it. What stood between them, such as a dot that takes the tile, would divide the two, and each would compute
    the tile for itself.
  }];
}

def LowerTilesPass : Pass<"cpu-lower-tiles", "::mlir::ModuleOp"> {
  let summary = "Turn tile kernels into loops over vectors and scratch memory";
  let description = [{
    Every kernel becomes `func @name(%args, %grid, %scratch)`, which runs one program of the grid. The bytes of scratch memory that a thread needs are left on it
    as the attribute `fattn.scratch_bytes`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def ExpandMathPass : Pass<"cpu-expand-math", "::mlir::ModuleOp"> {
  let summary = "Expand exp2 and other functions into polynomials on vectors";
  let description = [{
    `math.exp2` is the compiler's own, exact at integers and right at infinities; the other functions are MLIR's approximations.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

#endif
