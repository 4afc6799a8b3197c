// SPDX-License-Identifier: Apache-2.0
// AMD's passes on the programs of single threads, in the order of their pipeline: names, dialects and descriptions.
#ifndef FATTN_COMPILER_AMD_PASSES_TD
#define FATTN_COMPILER_AMD_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerTensorsPass : Pass<"amd-lower-tensors", "::mlir::ModuleOp"> {
  let summary = "Make kernels on tiles the programs of one thread, with a scalar for each register";
  let description = [{
    Layouts say which elements a thread has; fragments of matrix instructions, DPP of reductions and conversions are read off them.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::ROCDL::ROCDLDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def OrderProductsPass : Pass<"amd-order-products", "::mlir::LLVM::LLVMFuncOp"> {
  let summary = "Keep the matrix unit fed";
  let description = [{
    Reads of LDS ahead of the products that use them, vector instructions beneath products, a lower priority for waves that compute
    exponentials (`s_setprio`), and a higher one for waves whose products have begun. RDNA's products occupy the vector ALU: vector
    instructions beneath them still cost their own time. LLVM finds the instructions of an order by
    trying, in a time that grows with the third power of their number: a long run of products gets its order in parts.
  }];
  let options = [Option<"atOnce", "at-once", "int64_t", "144", "products, reads and vector instructions of a part at most">];
  let dependentDialects = ["::mlir::ROCDL::ROCDLDialect"];
}

def MarkKernelsPass : Pass<"amd-mark-kernels", "::mlir::ModuleOp"> {
  let summary = "Give kernels the attributes by which ROCDL knows them, and their shared memory its size";
  let description = [{
    Threads of a workgroup, bytes of LDS, and the least number of waves a SIMD. Runs last, as these attributes are legal in the LLVM dialect only.
  }];
  let dependentDialects = ["::mlir::ROCDL::ROCDLDialect"];
}

#endif
