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

#define GEN_PASS_DEF_LOWERTENSORSPASS
#include "compiler/amd/Passes.h.inc"

namespace {

struct LowerTensorsPass : impl::LowerTensorsPassBase<LowerTensorsPass> {
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
      const bool copies = function.walk([](tilegpu::CopyAsyncOp) { return WalkResult::interrupt(); }).wasInterrupted();
      const std::string name = function.getName().str();
      Machine machine(tilegpu::targetOf(function), tilegpu::warpsOf(function), module, copies);
      if (failed(gpu::lowerTensors(function, machine))) return failure();
      if (copies) keepApartFromCopies(module.lookupSymbol<func::FuncOp>(name));
      return success();
    } catch (const Error& error) {
      return function.emitOpError() << error.what();
    }
  }
};

}  // namespace

}  // namespace fattn::amd
