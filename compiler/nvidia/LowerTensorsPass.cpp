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

#define GEN_PASS_DEF_LOWERTENSORSPASS
#include "compiler/nvidia/Passes.h.inc"

namespace {

struct LowerTensorsPass : impl::LowerTensorsPassBase<LowerTensorsPass> {
  using LowerTensorsPassBase::LowerTensorsPassBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (!function->hasAttr("tile.kernel")) continue;
      if (failed(lower(function))) return signalPassFailure();
    }
  }

 private:
  LogicalResult lower(func::FuncOp function) {
    if (watchdog != 0) function->setAttr(tilegpu::kWatchdogAttr, Builder(&getContext()).getI64IntegerAttr(watchdog));
    try {
      return gpu::lowerTensors(function, *makeMachine(tilegpu::targetOf(function)));
    } catch (const Error& error) {
      return function.emitOpError() << error.what();
    }
  }
};

}  // namespace

}  // namespace fattn::nvidia
