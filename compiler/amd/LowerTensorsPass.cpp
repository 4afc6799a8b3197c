// SPDX-License-Identifier: Apache-2.0
// The pass around gpu::lowerTensors() on AMD's machine: `-amd-lower-tensors`.
//
// Test: tests/lit/amd/*.mlir.
#include "compiler/amd/Machine.h"
#include "compiler/amd/Passes.h"
#include "compiler/gpu/lower/Lowering.h"
#include "fattn/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::amd {
namespace {

struct LowerTensorsPass : PassWrapper<LowerTensorsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerTensorsPass)

  StringRef getArgument() const override { return "amd-lower-tensors"; }
  StringRef getDescription() const override { return "Make kernels on tiles the programs of one thread, with a scalar for each register"; }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<LLVM::LLVMDialect, ROCDL::ROCDLDialect, scf::SCFDialect, arith::ArithDialect, math::MathDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (!function->hasAttr("tile.kernel")) continue;
      if (failed(lower(module, function))) return signalPassFailure();
    }
  }

 private:
  static LogicalResult lower(ModuleOp module, func::FuncOp function) {
    try {
      Machine machine(tilegpu::targetOf(function), tilegpu::warpsOf(function), module);
      return gpu::lowerTensors(function, machine);
    } catch (const Error& error) {
      return function.emitOpError() << error.what();
    }
  }
};

}  // namespace

std::unique_ptr<Pass> createLowerTensorsPass() { return std::make_unique<LowerTensorsPass>(); }

}  // namespace fattn::amd
