// SPDX-License-Identifier: Apache-2.0
// The pass around emitKernel(): gives every kernel the host's entry signature and replaces its body.
//
//   func.func @k(%x: !tile.ptr<f32>, %n: i32) attributes {tile.kernel}
//   =>
//   func.func @k(%args: !llvm.ptr, %grid: !llvm.ptr, %scratch: !llvm.ptr) attributes {fattn.scratch_bytes = 16384 : i64}
//
// `args` holds the arguments in slots of eight bytes, `grid` program ids and counts (x, y, z each, i32).
#include "compiler/cpu/EmitKernel.h"
#include "compiler/cpu/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {

#define GEN_PASS_DEF_LOWERTILESPASS
#include "compiler/cpu/Passes.h.inc"

namespace {

class LowerTilesPass : public impl::LowerTilesPassBase<LowerTilesPass> {
 public:
  LowerTilesPass() = default;
  explicit LowerTilesPass(HostTarget target) : target(std::move(target)) {}
  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (kernel->hasAttr("tile.kernel") && failed(lower(kernel))) return signalPassFailure();
  }

 private:
  LogicalResult lower(func::FuncOp kernel) {
    OpBuilder b(kernel);
    Type pointer = LLVM::LLVMPointerType::get(&getContext());
    auto entry = func::FuncOp::create(b, kernel.getLoc(), kernel.getName(), b.getFunctionType({pointer, pointer, pointer}, {}));
    Block* block = entry.addEntryBlock();
    b.setInsertionPointToStart(block);
    auto end = func::ReturnOp::create(b, kernel.getLoc());
    b.setInsertionPoint(end);
    EntryPointers pointers{.args = block->getArgument(0), .grid = block->getArgument(1), .scratch = block->getArgument(2)};
    FailureOr<int64_t> scratchBytes = emitKernel(kernel, target, b, pointers);
    if (failed(scratchBytes)) return failure();
    entry->setAttr("fattn.scratch_bytes", b.getI64IntegerAttr(*scratchBytes));
    kernel.erase();
    return success();
  }

  HostTarget target;
};

}  // namespace

std::unique_ptr<Pass> createLowerTilesPass(const HostTarget& target) { return std::make_unique<LowerTilesPass>(target); }

}  // namespace fattn::cpu
