// SPDX-License-Identifier: Apache-2.0
// NVIDIA's passes on the programs of single threads, in the order of their pipeline: names, dialects and descriptions.
#ifndef FATTN_COMPILER_NVIDIA_PASSES_TD
#define FATTN_COMPILER_NVIDIA_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerTensorsPass : Pass<"nvidia-lower-tensors", "::mlir::ModuleOp"> {
  let summary = "Make kernels on tiles the programs of one thread, with a scalar for each register";
  let description = [{
    Layouts say which elements a thread has; fragments of matrix instructions, shuffles of reductions and conversions are read off them.
  }];
  let options = [Option<"watchdog", "watchdog", "int64_t", "0", "milliseconds that a wait for a copy or a slot may last before the kernel says which and ends; 0: for ever">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def OrderRegistersPass : Pass<"nvidia-order-registers", "::mlir::func::FuncOp"> {
  let summary = "Order arithmetic so that few registers are alive at once";
  let description = [{
    Within a block, between what has effects. A wait for matrix instructions moves behind a vote of the warp that does not need their
    results, so that the arithmetic in front of the vote runs while they do.
  }];
}

def MarkKernelsPass : Pass<"nvidia-mark-kernels", "::mlir::LLVM::LLVMFuncOp"> {
  let summary = "Give kernels the attributes by which NVVM knows them";
  let description = [{
    Threads of a block, and blocks an SM. Runs late, as these attributes are legal in the LLVM dialect only.
  }];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

def PackParametersPass : Pass<"nvidia-pack-parameters", "::mlir::LLVM::LLVMFuncOp"> {
  let summary = "Make one parameter of the arguments of a kernel with tensor maps";
  let description = [{
    A structure at a multiple of 64 bytes in the launch's constant memory. The driver takes 0.2 us less for it than for each argument by itself.
    Runs last: what it marks is legal in NVVM's kernels only.
  }];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

#endif
