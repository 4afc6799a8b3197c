// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/roles/Rings.h"

#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/roles/Roles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

/// The slot so many behind another one.
struct Moved {
  Value from;
  int64_t by = 0;
};

/// (from + by) & (slots - 1), or from ^ 1 of two slots.
std::optional<Moved> movedSlot(Value number, int64_t slots) {
  if (auto other = number.getDefiningOp<arith::XOrIOp>())
    return slots == 2 && getConstantIntValue(other.getRhs()) == 1 ? std::optional(Moved{other.getLhs(), 1}) : std::nullopt;
  auto wrapped = number.getDefiningOp<arith::AndIOp>();
  if (!wrapped || getConstantIntValue(wrapped.getRhs()) != slots - 1) return std::nullopt;
  auto sum = wrapped.getLhs().getDefiningOp<arith::AddIOp>();
  std::optional<int64_t> by = sum ? getConstantIntValue(sum.getRhs()) : std::nullopt;
  return by ? std::optional(Moved{sum.getLhs(), *by}) : std::nullopt;
}

class RingFinder {
 public:
  static std::optional<Ring> find(AllocOp alloc, Block* program) {
    RingFinder finder(alloc, program);
    for (Operation& op : *program) {
      auto loop = dyn_cast<scf::ForOp>(op);
      if (loop && finder.visitsIn(loop) == 1)
        finder.enter(loop);
      else
        loop = {};
      if (!finder.collect(&op, loop)) return std::nullopt;
    }
    return std::move(finder.ring_);
  }

 private:
  RingFinder(AllocOp alloc, Block* program) : alloc_(alloc), program_(program) {}

  int64_t visitsIn(scf::ForOp loop) {
    return llvm::count_if(loop.getBody()->getOperations(),
                          [&](Operation& op) { return isVisit(&op) && llvm::is_contained(op.getOperands(), Value(alloc_.getResult())); });
  }

  /// Notes what the loop carries of slots' numbers.
  void enter(scf::ForOp loop) {
    llvm::DenseMap<Value, int64_t> starts;
    for (BlockArgument argument : loop.getRegionIterArgs())
      if (std::optional<int64_t> start = aheadOf(loop.getTiedLoopInit(argument)->get(), {})) starts[argument] = *start;
    starts_ = std::move(starts);
    ring_.loops.push_back(loop);
    auto goesOn = [&](BlockArgument argument) {
      std::optional<int64_t> next = aheadOf(loop.getTiedLoopYieldedValue(argument)->get(), loop);
      return next && isSameSlot(*next, starts_[argument] + 1);
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (BlockArgument argument : loop.getRegionIterArgs())
        if (starts_.contains(argument) && !goesOn(argument)) changed |= starts_.erase(argument);
    }
  }

  bool isSameSlot(int64_t a, int64_t b) { return (a - b) % slotsOf(alloc_) == 0; }

  /// How far a slot's number is ahead of the count, in the loop or behind all of them.
  std::optional<int64_t> aheadOf(Value number, scf::ForOp loop) {
    if (std::optional<int64_t> constant = getConstantIntValue(number); constant && ring_.loops.empty()) return constant;
    if (auto result = dyn_cast<OpResult>(number); result && !loop && !ring_.loops.empty() && result.getOwner() == ring_.loops.back())
      number = cast<scf::ForOp>(result.getOwner()).getTiedLoopRegionIterArg(result);
    else if (auto argument = dyn_cast<BlockArgument>(number); argument && (!loop || argument.getOwner() != loop.getBody()))
      return std::nullopt;
    if (auto start = starts_.find(number); start != starts_.end()) return start->second;
    std::optional<Moved> moved = movedSlot(number, slotsOf(alloc_));
    std::optional<int64_t> from = moved ? aheadOf(moved->from, loop) : std::nullopt;
    if (!from) return std::nullopt;
    return *from + moved->by;
  }

  /// Adds the uses in the operation, which is `loop`, or stands outside of loops of the ring.
  bool collect(Operation* op, scf::ForOp loop) {
    WalkResult result = op->walk([&](Operation* inner) {
      bool fits = true;
      forEachSlot(inner, [&](Value buffer, OpOperand& slot) {
        if (buffer == alloc_.getResult()) fits &= add(inner, slot, loop);
      });
      return fits ? WalkResult::advance() : WalkResult::interrupt();
    });
    return !result.wasInterrupted();
  }

  bool add(Operation* op, OpOperand& slot, scf::ForOp loop) {
    std::optional<int64_t> ahead = aheadOf(slot.get(), loop);
    if (!ahead) return isCopyElsewhere(op);
    if (isVisit(op)) {
      if (op->getBlock() != (loop ? loop.getBody() : program_) || !isSameSlot(*ahead, ring_.outside)) return false;
      ahead = ring_.outside;
      if (!loop) ++ring_.outside;
    }
    ring_.uses.push_back({&slot, ring_.loops.size(), static_cast<bool>(loop), *ahead});
    return true;
  }

  AllocOp alloc_;
  Block* program_;
  Ring ring_;
  llvm::DenseMap<Value, int64_t> starts_;  ///< what the last loop carries: how far ahead of the count it is
};

}  // namespace

bool isVisit(Operation* op) { return isa<CopyWaitOp>(op) || (isa<CopyAsyncOp>(op) && !isCopyElsewhere(op)); }

std::optional<Ring> ringOf(AllocOp alloc, Block* program) { return RingFinder::find(alloc, program); }

}  // namespace fattn::tilegpu
