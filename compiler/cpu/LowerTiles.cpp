// SPDX-License-Identifier: Apache-2.0
// The pass around Emitter: gives every kernel the host's entry signature and replaces its body.
//
//   func.func @k(%x: !tile.ptr<f32>, %n: i32) attributes {tile.kernel}
//   =>
//   func.func @k(%args: !llvm.ptr, %grid: !llvm.ptr, %scratch: !llvm.ptr) attributes {fattn.scratch_bytes = 16384 : i64}
//
// `args` holds the arguments in slots of eight bytes, `grid` program ids and counts (x, y, z each, i32).
#include "compiler/cpu/Emitter.h"
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

Emitter::Emitter(func::FuncOp source, const HostTarget& target, OpBuilder builder)
    : source(source), target(target), b(builder), loc(source.getLoc()), lanes(source, target.lanes) {}

LogicalResult Emitter::emit(Value args, Value grid, Value scratchPointer) {
  scratchBase = scratchPointer;
  gridBase = grid;
  for (auto [i, arg] : llvm::enumerate(source.getArguments())) {
    Type type = isa<tile::PtrType>(arg.getType()) ? Type(LLVM::LLVMPointerType::get(b.getContext())) : arg.getType();
    Type memory = type.isInteger(1) ? Type(b.getI8Type()) : type;
    Value at = LLVM::GEPOp::create(b, loc, args.getType(), b.getI64Type(), args, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    Value v = LLVM::LoadOp::create(b, loc, memory, at);
    scalars.map(arg, type == memory ? v : convert(v, type));
  }
  return emitBlock(source.getBody().front());
}

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
    Emitter emitter(kernel, target, b);
    if (failed(emitter.emit(block->getArgument(0), block->getArgument(1), block->getArgument(2)))) return failure();
    entry->setAttr("fattn.scratch_bytes", b.getI64IntegerAttr(emitter.scratchBytes()));
    kernel.erase();
    return success();
  }

  HostTarget target;
};

}  // namespace

std::unique_ptr<Pass> createLowerTilesPass(const HostTarget& target) { return std::make_unique<LowerTilesPass>(target); }

}  // namespace fattn::cpu
