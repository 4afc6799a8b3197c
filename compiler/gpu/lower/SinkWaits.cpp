// SPDX-License-Identifier: Apache-2.0
// Moves a wait for matrix instructions, and what follows from it, behind the vote of a warp that decides between two ways:
//
//   (begin dots)                                    (begin dots)
//   %e.. = ex2 ...; %s = (their sum)                %e.. = ex2 ...; %s = (their sum)
//   %d.. = wait_group 0                             %any = vote.any (not (%s < c))
//   arrive; %p.. = cvt %e..                         if (%any) {
//   %any = vote.any (not (%s < c))           =>       %d.. = wait_group 0; arrive; %p.. = cvt %e..; (the exact side)
//   if (%any) {                                     } else {
//     (the exact side)                                %d.. = wait_group 0; arrive; %p.. = cvt %e..
//   }                                               }
//
// The assembler moves a wait up to the instructions that it waits for: it knows how long the way behind it is, but not how long the wait
// takes. Over a branch it does not move it. So the exponentials run while the matrix unit works, and not after it.
//
// What moves are the wait, what follows from it, and what has side effects between it and the branch. Conditions, else it stays: C1 the
// branch asks a vote of the warp that does not follow from any of this; C2 nothing of this is used behind the branch; C3 the numbers that
// are alive at the branch fit into the thread's registers, with kOthers beside them: those that would have been packed before, those that
// the matrix unit still reads, and its results; C4 nothing of this needs other warps. Both sides then hold a copy.
//
// Test: tests/lit/nvidia/sink-waits.mlir.
#include "compiler/gpu/lower/SinkWaits.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace fattn::gpu {
namespace {

/// Registers for addresses and counters, of which most are shared by a warp's lanes.
constexpr int64_t kOthers = 8;

class Sinking {
 public:
  Sinking(scf::IfOp branch, const RegisterFacts& facts) : branch_(branch), facts_(facts) {}

  /// Changes nothing. False where a condition does not hold.
  bool find() {
    Operation* vote = branch_.getCondition().getDefiningOp();
    if (!vote || !facts_.isVote(vote) || vote->getBlock() != branch_->getBlock() || branch_.getElseRegion().empty()) return false;
    Operation* wait = branch_->getPrevNode();
    while (wait && !facts_.isMatrixWait(wait)) wait = wait->getPrevNode();
    if (!wait) return false;
    for (Operation* op = wait; op != branch_; op = op->getNextNode())
      if (op == wait || (!facts_.isVote(op) && !isPure(op)) || follows(op)) moved_.insert(op);
    auto mayMove = [&](Operation* op) { return isUsedHere(op) && !facts_.needsOtherWarps(op); };
    if (moved_.contains(vote) || follows(vote) || !llvm::all_of(moved_, mayMove)) return false;
    return facts_.readInFlight(wait) + numbersAlive() + kOthers <= facts_.registersOfThread(branch_);
  }

  void apply() {
    copyTo(branch_.getThenRegion().front());
    copyTo(branch_.getElseRegion().front());
    for (Operation* op : llvm::reverse(moved_)) op->erase();
  }

 private:
  bool isPure(Operation* op) const { return isa<LLVM::CallIntrinsicOp>(op) ? facts_.isPure(op) : isMemoryEffectFree(op); }

  bool follows(Operation* op) const {
    WalkResult found = op->walk([&](Operation* inner) {
      bool does = llvm::any_of(inner->getOperands(), [&](Value operand) { return moved_.contains(operand.getDefiningOp()); });
      return does ? WalkResult::interrupt() : WalkResult::advance();
    });
    return found.wasInterrupted();
  }

  /// C2.
  bool isUsedHere(Operation* op) const {
    return llvm::all_of(op->getUsers(), [&](Operation* user) {
      return branch_->isProperAncestor(user) || moved_.contains(op->getBlock()->findAncestorOpInBlock(*user));
    });
  }

  /// Floating-point numbers from before the branch that are used in it, by what moves, or behind it.
  int64_t numbersAlive() const {
    llvm::DenseSet<Value> alive;
    auto noteOperands = [&](Operation* op) {
      for (Value operand : op->getOperands())
        if (isa<FloatType>(operand.getType()) && isBefore(operand)) alive.insert(operand);
    };
    for (Operation* op : moved_) op->walk(noteOperands);
    for (Operation* op = branch_; op; op = op->getNextNode()) op->walk(noteOperands);
    return static_cast<int64_t>(alive.size());
  }

  bool isBefore(Value value) const {
    Operation* source = value.getDefiningOp();
    if (!source) return !branch_->isAncestor(value.getParentBlock()->getParentOp());
    Operation* here = branch_->getBlock()->findAncestorOpInBlock(*source);
    return !here || (here->isBeforeInBlock(branch_) && !moved_.contains(here));
  }

  void copyTo(Block& side) {
    OpBuilder b = OpBuilder::atBlockBegin(&side);
    IRMapping map;
    SmallVector<Operation*> copies;
    for (Operation* op : moved_) {
      copies.push_back(b.clone(*op, map));
      for (auto [result, own] : llvm::zip_equal(op->getResults(), copies.back()->getResults()))
        result.replaceUsesWithIf(own, [&](OpOperand& use) { return side.findAncestorOpInBlock(*use.getOwner()) != nullptr; });
    }
    for (Operation* copy : llvm::reverse(copies))  // LLVM would keep those that pretend to have side effects
      if (facts_.isConversion(copy) && copy->use_empty()) copy->erase();
  }

  scf::IfOp branch_;
  const RegisterFacts& facts_;
  llvm::SetVector<Operation*> moved_;  ///< in their order
};

}  // namespace

void sinkWaits(func::FuncOp function, const RegisterFacts& facts) {
  function.walk([&](scf::IfOp branch) {
    Sinking sinking(branch, facts);
    if (sinking.find()) sinking.apply();
  });
}

}  // namespace fattn::gpu
