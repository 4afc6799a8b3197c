// SPDX-License-Identifier: Apache-2.0
// The pass around gpu::lowerTensors() on NVIDIA's machine: `-nvidia-lower-tensors`.
//
// Test: tests/lit/gpu/lower-*.mlir.
#include "compiler/gpu/lower/Lowering.h"
#include "compiler/nvidia/Machine.h"
#include "compiler/nvidia/Passes.h"
#include "fattn/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::nvidia {
namespace {

struct LowerTensorsPass : PassWrapper<LowerTensorsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerTensorsPass)

  StringRef getArgument() const override { return "nvidia-lower-tensors"; }
  StringRef getDescription() const override { return "Make kernels on tiles the programs of one thread, with a scalar for each register"; }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, scf::SCFDialect, arith::ArithDialect, math::MathDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (!function->hasAttr("tile.kernel")) continue;
      if (failed(lower(function))) return signalPassFailure();
    }
  }

 private:
  LogicalResult lower(func::FuncOp function) {
    try {
      return gpu::lowerTensors(function, *makeMachine(tilegpu::targetOf(function)));
    } catch (const Error& error) {
      return function.emitOpError() << error.what();
    }
  }
};

}  // namespace

std::unique_ptr<Pass> createLowerTensorsPass() { return std::make_unique<LowerTensorsPass>(); }

}  // namespace fattn::nvidia
