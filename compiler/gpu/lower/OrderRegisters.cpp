// SPDX-License-Identifier: Apache-2.0
// Orders the arithmetic of a thread so that few registers are alive at once. The lowering emits each tile operation for all of a tile's
// registers before the next one, so that whole tiles are alive between any two of them; here each scalar goes as far as it can before the
// next one begins:
//
//   %e0 = ex2 %x0                          %e0 = ex2 %x0
//   %e1 = ex2 %x1                          %e1 = ex2 %x1
//   %e2 = ex2 %x2                    =>    %s0 = addf %e0, %e1
//   %e3 = ex2 %x3                          %p0 = cvt %e0, %e1
//   %s0 = addf %e0, %e1                    %e2 = ex2 %x2
//   %s1 = addf %e2, %e3                    %e3 = ex2 %x3
//   %p0 = cvt %e0, %e1                     %s1 = addf %e2, %e3
//   %p1 = cvt %e2, %e3                     %p1 = cvt %e2, %e3
//
// What computes a floating-point number without side effects follows right behind the last of its operands, if that is such an operation as
// well: what starts from a matrix instruction or a load stays where the schedule has put it. What packs numbers behind a wait for matrix
// instructions stays behind it, as these may still read the registers that it writes. Truth values, of which the machine has few
// registers, are computed just before they are used. Everything else keeps its order. Test: tests/lit/nvidia/order-registers.mlir.
#include "compiler/gpu/lower/OrderRegisters.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace fattn::gpu {
namespace {

class BlockOrder {
 public:
  BlockOrder(Block& block, const RegisterFacts& facts) : block_(block), facts_(facts) {
    Operation* wait = nullptr;
    for (auto [i, op] : llvm::enumerate(block)) {
      index_[&op] = i;
      if (facts_.isMatrixWait(&op)) wait = &op;
      if (wait && facts_.isConversion(&op)) waits_[&op] = wait;
    }
  }

  void apply() {
    Operation* last = &block_.back();
    SmallVector<Operation*> roots;
    for (Operation& op : block_.without_terminator())
      if (!isDeferred(&op)) roots.push_back(&op);
    for (Operation* op : roots) emit(op);
    emitDeferredFor(last);
    for (Operation& op : block_.without_terminator()) emit(&op);
    for (Operation* op : order_) op->moveBefore(last);
  }

 private:
  bool isWithoutEffects(Operation* op) const {
    if (op->getNumRegions() || op->getNumResults() != 1 || op->hasTrait<OpTrait::IsTerminator>()) return false;
    if (isa<LLVM::CallIntrinsicOp>(op)) return facts_.isPure(op);
    return facts_.isConversion(op) || isMemoryEffectFree(op);
  }

  /// A step of a chain of floating-point numbers, or of their packing into words.
  bool isArithmetic(Operation* op) const {
    if (!isWithoutEffects(op) || op->hasTrait<OpTrait::ConstantLike>()) return false;
    return isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())) || isa<LLVM::BitcastOp>(op) || facts_.isConversion(op);
  }

  bool isHere(Operation* op) const { return op && op->getBlock() == &block_; }
  bool isEmitted(Operation* op) const { return emitted_.contains(op); }

  /// Constants and truth values wait until somebody in this block needs them.
  bool isDeferred(Operation* op) const {
    if (!isWithoutEffects(op) || op->use_empty()) return false;
    if (!op->hasTrait<OpTrait::ConstantLike>() && !op->getResult(0).getType().isInteger(1)) return false;
    return llvm::all_of(op->getUsers(), [&](Operation* user) { return isHere(user); });
  }

  bool isReady(Operation* op) const {
    if (Operation* wait = waits_.lookup(op); wait && !isEmitted(wait)) return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation* source = operand.getDefiningOp();
      return !isHere(source) || isEmitted(source) || (isDeferred(source) && isReady(source));
    });
  }

  void emitDeferredFor(Operation* op) {
    for (Value operand : op->getOperands())
      if (Operation* source = operand.getDefiningOp(); isHere(source) && !isEmitted(source)) {
        emitDeferredFor(source);
        emitted_.insert(source);
        order_.push_back(source);
      }
  }

  void emit(Operation* op) {
    if (isEmitted(op)) return;
    emitDeferredFor(op);
    emitted_.insert(op);
    order_.push_back(op);
    if (!isArithmetic(op)) return;
    SmallVector<Operation*> users;
    for (Operation* user : op->getUsers())
      if (isHere(user) && isArithmetic(user)) users.push_back(user);
    llvm::sort(users, [&](Operation* a, Operation* b) { return index_.lookup(a) < index_.lookup(b); });
    for (Operation* user : users)
      if (!isEmitted(user) && isReady(user)) emit(user);
  }

  Block& block_;
  const RegisterFacts& facts_;
  llvm::DenseMap<Operation*, size_t> index_;
  llvm::DenseMap<Operation*, Operation*> waits_;  ///< of conversions: the wait for matrix instructions that they stand behind
  llvm::DenseSet<Operation*> emitted_;
  SmallVector<Operation*> order_;
};

}  // namespace

void orderRegisters(func::FuncOp function, const RegisterFacts& facts) {
  function.walk([&](Block* block) {
    if (!block->empty() && block->mightHaveTerminator()) BlockOrder(*block, facts).apply();
  });
}

}  // namespace fattn::gpu
