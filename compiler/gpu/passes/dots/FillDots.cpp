// SPDX-License-Identifier: Apache-2.0
// Computes rows of numbers while dots run that they do not depend on:
//
//   %d = dot_async %p, %v[%s], %o                      %l = tile.reduce %parts
//   %l = tile.reduce %parts                            %i = divf %one, %l
//   %i = divf %one, %l                                 %g = log2 %l
//   %e = dot_wait %d                             =>    %d = dot_async %p, %v[%s], %o
//   %y = mulf %e, (broadcast %i)                       %e = dot_wait %d
//   %g = log2 %l                                       %y = mulf %e, (broadcast %i)
//
// They go in front of the beginning: there the assembler spreads them among the instructions that begin dots, each of which takes a while.
// What stands behind the beginning it puts behind the wait, which it moves up: it knows how long what follows the wait takes, and not how
// long the wait does.
//
// Conditions: C1 the wait is in no loop, whose trips have an order already, and its dots begin in the same block, with no other beginning,
// loop or branch in between; C2 an operation has no effect, and its results take kMostRegisters of a thread at most, so that no whole tile
// is alive longer; C3 nothing that stays behind the beginning is an operand. Other operations
// move where a row of floating-point numbers needs them: addresses are computed late, as they take registers.
//
// Where a block takes several programs, the last wait for dots of one is also the time to ask for the next one (take_program), unless waits
// for copies are to come, and to wait until an engine has read what the program before has stored (await_sent).
//
// Test: tests/lit/gpu/fill-dots.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_FILLDOTSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// A thread's part of a row of 256 numbers, or of two rows of each of 2 groups.
constexpr int64_t kMostRegisters = 4;

/// C2.
bool isSmall(Operation* op) {
  if (!isMemoryEffectFree(op) || op->hasTrait<OpTrait::IsTerminator>() || isa<DotAsyncOp, DotWaitOp>(op)) return false;
  if (op->getNumRegions() != 0 && !isa<tile::ReduceOp>(op)) return false;
  return llvm::all_of(op->getResultTypes(), [](Type type) {
    const layout::LinearLayout* layout = layoutOf(type);
    return layout ? layout->inputSize(layout::kRegister) <= kMostRegisters : !tile::isTile(type);
  });
}

bool isRowOfNumbers(Operation* op) {
  return llvm::any_of(op->getResultTypes(), [](Type type) { return tile::isTile(type) && isa<FloatType>(getElementTypeOrSelf(type)); });
}

class Filling {
 public:
  /// Nothing where C1 does not hold.
  static std::optional<Filling> of(DotWaitOp wait) {
    auto begin = wait.getValue().getDefiningOp<DotAsyncOp>();
    if (!begin || begin->getBlock() != wait->getBlock() || wait->getParentOfType<LoopLikeOpInterface>()) return std::nullopt;
    for (Operation* op = begin->getNextNode(); op != wait; op = op->getNextNode())
      if (isa<DotAsyncOp, DotWaitOp>(op) || (op->getNumRegions() != 0 && !isMemoryEffectFree(op))) return std::nullopt;
    return Filling(begin, wait);
  }

  DotWaitOp wait() const { return wait_; }

  void moveRows() {
    for (Operation* op = begin_->getNextNode(); op && !isa<DotAsyncOp, LoopLikeOpInterface>(op); op = op->getNextNode())
      if (isSmall(op) && isRowOfNumbers(op)) collect(op);
    for (Operation* op : moved_) op->moveBefore(begin_);
  }

 private:
  Filling(DotAsyncOp begin, DotWaitOp wait) : begin_(begin), wait_(wait) {}

  bool isAbove(Value value) const {
    Operation* op = value.getDefiningOp();
    return !op || op->getBlock() != begin_->getBlock() || op->isBeforeInBlock(begin_);
  }

  /// C3: whether it can move, with what it is computed from, which then is among what moves.
  bool collect(Operation* op) {
    if (auto known = can_.find(op); known != can_.end()) return known->second;
    bool can = op != begin_ && op != wait_ && isSmall(op);
    op->walk([&](Operation* inner) {
      for (Value operand : inner->getOperands()) {
        if (!can || isAbove(operand) || op->isAncestor(operand.getParentBlock()->getParentOp())) continue;
        can = collect(operand.getDefiningOp());
      }
    });
    can_[op] = can;
    if (can) moved_.push_back(op);
    return can;
  }

  DotAsyncOp begin_;
  DotWaitOp wait_;
  llvm::DenseMap<Operation*, bool> can_;
  SmallVector<Operation*> moved_;
};

/// What a program waits for anyway, in front of its last wait for dots. The ids come first: behind that wait, which is a loop, the
/// assembler leaves the other one, which it would move among the instructions that begin the dots.
void waitBeside(DotWaitOp wait, EachProgramOp each) {
  OpBuilder b(wait);
  auto behind = llvm::make_range(std::next(Block::iterator(wait)), each.getBody().front().end());
  if (each.getDynamic() && llvm::none_of(behind, [](Operation& op) { return waitsForBoxes(&op); })) TakeProgramOp::create(b, wait.getLoc());
  auto stores = each.getBody().front().getOps<StoreBoxesOp>();
  if (stores.empty() || !wait->isBeforeInBlock(*stores.begin()) || isMadeElsewhere(*stores.begin())) return;
  AwaitSentOp::create(b, wait.getLoc());
  (*stores.begin()).setAwaited(true);
}

class FillDotsPass : public impl::FillDotsPassBase<FillDotsPass> {
 public:
  void getDependentDialects(DialectRegistry& registry) const override { registerTileGpuDialects(registry); }
  void runOnOperation() override {
    std::optional<Filling> last;
    getOperation().walk([&](DotWaitOp wait) {
      std::optional<Filling> filling = Filling::of(wait);
      if (!filling) return;
      filling->moveRows();
      last = std::move(filling);
    });
    if (!last) return;
    if (auto each = dyn_cast<EachProgramOp>(last->wait()->getParentOp())) waitBeside(last->wait(), each);
  }
};

}  // namespace

}  // namespace fattn::tilegpu
