// SPDX-License-Identifier: Apache-2.0
// Lets a warp group leave out the last trips of a loop, where all its rows are masked, or all trips where none of its rows is stored:
//
//   scf.for %n = %first to %end ... {          %stop = (the first trip in which n + 0 is beyond the group's last row, or %end)
//     copy_wait ... in %k[%slot]               scf.for %n = %first to %stop ... { (the trip as it was) }
//     turn_wait                                copy_wait ... in %v[%last]; dot_async; dot_wait; release %v[%last]
//     dot_async ...                            scf.for %n = %stop to %end ... {
//     turn_pass                         =>       copy_wait ... in %k[%slot]
//     release %k[%slot]                          turn_wait
//     select(n + 0..63 <= %rows, ...)            turn_pass
//     (arithmetic)                               release %k[%slot]
//   }                                            copy_wait ... in %v[%next]; release %v[%next]
//   copy_wait ... in %v[%last]                 }
//   dot_async; dot_wait
//   release %v[%last]
//
// The program says by `tile.skippable` that such a trip changes nothing for these rows; which rows are stored its stores say
// (StoredRows.h), and %stop is the loop's start for a group that has none of them. What the trips copy arrives for all groups, so the group
// waits for it, gives it back and passes on its turns, in step with the others: slots, barrier objects and turns are left as they would be.
// Of a loop whose trips overlap (-tilegpu-schedule-loops) a part of the last trip stands behind it. Of buffers that this part uses, a trip
// that is left out takes the slot of the next trip: the part behind the loop takes the one that comes before.
//
// Conditions, else the loop stays as it is:
// - C1: it counts in i32 with a constant step from 1. Either some masks in it may be skipped, and one of them compares n + c with rows that
//   the loop does not change (Masks.h), where n is the trip's number plus a constant from 0; or the rows that are stored are known before
//   the loop.
// - C2: for a mask, the last rows of two groups are a step or more apart. Else hardly a trip can be left out, and the search for it makes
//   every program longer.
// - C3: a trip computes on registers, begins and waits for dots, waits for boxes, releases them, takes turns, and does nothing else. All of
//   its waits come before its first release, so that a wait never needs a release of the same trip by another group.
// - C4: behind the loop, in its block, the waits and releases of its buffers stand as they do in the trip, with the loop's results for what
//   a trip carries. Up to the last of them there are only dots, waits, releases and what has no effect. Or n is the trip's number, and
//   nothing there waits for boxes.
// - C5: no operation behind these uses the numbers and tokens that the loop leaves.
//
// Where n + c might wrap for some trip, no trip is left out. Runs behind -tilegpu-place-turns. Test: tests/lit/gpu/skip-trips.mlir.
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/roles/Masks.h"
#include "compiler/gpu/passes/roles/Roles.h"
#include "compiler/gpu/passes/roles/StoredRows.h"
#include "compiler/transforms/Divisibility.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_SKIPTRIPSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

bool isTurn(Operation* op) { return isa<TurnWaitOp, TurnPassOp>(op); }
/// Waits for boxes and their releases: what keeps a group in step with the copies.
bool keepsStep(Operation* op) {
  auto wait = dyn_cast<CopyWaitOp>(op);
  return wait ? wait.isBulk() : isa<ReleaseOp>(op);
}
Value bufferOf(Operation* op) { return isa<ReleaseOp>(op) ? cast<ReleaseOp>(op).getBuffer() : cast<CopyWaitOp>(op).getBuffer(); }
Value slotOf(Operation* op) { return isa<ReleaseOp>(op) ? cast<ReleaseOp>(op).getSlot() : cast<CopyWaitOp>(op).getSlot(); }

/// The trips with i < last + shift are needed, where `last` is the last of the group's rows.
struct LastTrip {
  RegsAttr layout;  ///< of the rows
  Value first;      ///< a number beside them; may be null
  int64_t shift = 0;
};

class Skip {
 public:
  /// Nothing where a condition does not hold.
  static std::optional<Skip> of(scf::ForOp loop) {
    std::optional<int64_t> step = getConstantIntValue(loop.getStep());
    if (!loop.getInductionVar().getType().isInteger(32) || !step || *step < 1) return std::nullopt;
    Skip skip(loop, *step);
    skip.findMasks();
    skip.findStored();
    if (skip.bounds_.empty() && !skip.stored_) return std::nullopt;
    if (!skip.readTrip() || !skip.readBehind() || !skip.findSlice()) return std::nullopt;
    return skip;
  }

  void apply() {
    OpBuilder b(loop_);
    Value end = loop_.getUpperBound(), stop = bounds_.empty() ? end : firstLeftOut(b);
    if (stored_) stop = withStoredRows(b, stop);
    loop_.getUpperBoundMutable().set(stop);
    b.setInsertionPointAfter(behind_);
    keepStep(b, stop, end);
  }

 private:
  Skip(scf::ForOp loop, int64_t step) : loop_(loop), step_(step), behind_(loop) {}

  /// C1 and C2.
  void findMasks() {
    loop_.walk([&](arith::SelectOp select) {
      if (!select->hasAttr(tile::kSkippableAttr) || select->getParentOfType<LoopLikeOpInterface>() != loop_) return;
      std::optional<SmallVector<MaskComparison>> comparisons = comparisonsOf(select.getCondition());
      if (!comparisons) return;
      for (const MaskComparison& one : *comparisons)
        if (std::optional<LastTrip> bound = lastTripOf(one)) bounds_.push_back(*bound);
    });
  }

  std::optional<LastTrip> lastTripOf(const MaskComparison& one) {
    std::optional<int64_t> ahead = aheadOfTrip(one.n);
    if (!ahead || !one.tile) return std::nullopt;
    auto range = one.tile.getDefiningOp<tile::ArangeOp>();
    Value number;
    if (auto sum = one.tile.getDefiningOp<arith::AddIOp>()) {
      bool left = sum.getLhs().getDefiningOp<tile::ArangeOp>() != nullptr;
      range = (left ? sum.getLhs() : sum.getRhs()).getDefiningOp<tile::ArangeOp>();
      number = scalarOf(left ? sum.getRhs() : sum.getLhs());
      if (!number || !number.getType().isInteger(32) || !loop_.isDefinedOutsideOfLoop(number)) return std::nullopt;
    }
    auto layout = range ? dyn_cast_or_null<RegsAttr>(cast<RankedTensorType>(range.getType()).getEncoding()) : RegsAttr();
    const auto start = range ? static_cast<int64_t>(range.getStart()) : 0;
    if (!layout || start < 0 || !differsAmongGroups(layout)) return std::nullopt;
    ahead_ = std::max(ahead_, *ahead);
    beyond_ = std::max(beyond_, *ahead + one.greatest);
    return LastTrip{.layout = layout, .first = number, .shift = start + (one.strict ? 0 : 1) - one.least - *ahead};
  }

  /// What is added to the trip's number.
  std::optional<int64_t> aheadOfTrip(Value n) {
    if (!n) return std::nullopt;
    if (n == loop_.getInductionVar()) return 0;
    auto sum = n.getDefiningOp<arith::AddIOp>();
    if (!sum || sum.getLhs() != loop_.getInductionVar()) return std::nullopt;
    std::optional<int64_t> constant = getConstantIntValue(sum.getRhs());
    return constant && *constant >= 0 ? constant : std::nullopt;
  }

  bool differsAmongGroups(RegsAttr layout) {
    const SmallVector<RowsOfGroup> groups = rowsByGroup(layout.getLayout(), *targetOf(loop_).warpGroup);
    const auto [least, greatest] = std::ranges::minmax_element(groups, {}, &RowsOfGroup::last);
    return greatest->last - least->last >= step_;
  }

  /// The rows that the program stores, where all groups have rows of their own, and the loop can know them.
  void findStored() {
    if (!isa<EachProgramOp, scf::IfOp>(loop_->getParentOp())) return;
    std::optional<StoredRows> stored = storedRowsOf(*loop_->getBlock());
    if (!stored || rowsByGroup(stored->layout.getLayout(), *targetOf(loop_).warpGroup).size() < 2) return;
    DominanceInfo dominance;
    auto known = [&](Value value) { return dominance.properlyDominates(value, loop_); };
    if (known(stored->first) && known(stored->end)) stored_ = stored;
  }

  /// C3.
  bool readTrip() {
    bool released = false;
    for (Operation& op : loop_.getBody()->without_terminator()) {
      if (keepsStep(&op)) {
        if (isa<CopyWaitOp>(op) && released) return false;
        released |= isa<ReleaseOp>(op);
        inStep_.push_back(&op);
      } else if (!isTurn(&op) && !isCopyElsewhere(&op) && !isa<DotAsyncOp, DotWaitOp>(op) && !isMemoryEffectFree(&op)) {
        return false;
      }
    }
    return !inStep_.empty();
  }

  /// C4, and where the trips that are left out go: behind what is left of the last one.
  bool readBehind() {
    auto operations = llvm::make_range(std::next(Block::iterator(loop_)), std::prev(loop_->getBlock()->end()));
    for (Operation& op : operations) {
      if (!touches(&op)) continue;
      if ((ahead_ == 0 && !bounds_.empty()) || !keepsStep(&op) || !shift(&op)) return false;
      behind_ = &op;
    }
    return llvm::all_of(operations, [&](Operation& op) {
      return behind_->isBeforeInBlock(&op) || keepsStep(&op) || isa<DotAsyncOp, DotWaitOp>(op) || isMemoryEffectFree(&op);
    });
  }

  /// Whether it waits for boxes in a buffer of the loop, or releases them.
  bool touches(Operation* op) {
    WalkResult found = op->walk([&](Operation* inner) {
      bool same = keepsStep(inner) && llvm::any_of(inStep_, [&](Operation* mine) { return bufferOf(mine) == bufferOf(inner); });
      return same ? WalkResult::interrupt() : WalkResult::advance();
    });
    return found.wasInterrupted();
  }

  /// Notes that the trip's operation which `op` repeats behind the loop is one trip late.
  bool shift(Operation* op) {
    auto same = [&](Operation* mine) { return mine->getName() == op->getName() && bufferOf(mine) == bufferOf(op); };
    if (llvm::count_if(inStep_, same) != 1) return false;
    Operation* mine = *llvm::find_if(inStep_, same);
    Value slot = slotOf(mine);
    auto carried = dyn_cast<BlockArgument>(slot);
    bool moves = carried && carried.getOwner() == loop_.getBody() && carried != loop_.getInductionVar();
    if (!moves && !loop_.isDefinedOutsideOfLoop(slot)) return false;
    return slotOf(op) == (moves ? Value(loop_.getTiedLoopResult(carried)) : slot) && late_.insert(mine).second;
  }

  /// What the operations that keep step follow from: operations of the trip, and values that it carries. False where that is more than
  /// numbers and tokens, or where C5 does not hold.
  bool findSlice() {
    SmallVector<Value> work;
    auto needAll = [&](Operation* op) {
      if (slice_.insert(op).second) llvm::append_range(work, op->getOperands());
    };
    for (Operation* op : inStep_) needAll(op);
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (loop_.isDefinedOutsideOfLoop(value) || value == loop_.getInductionVar()) continue;
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (carried_.insert(argument)) work.push_back(loop_.getTiedLoopYieldedValue(argument)->get());
        continue;
      }
      Operation* op = value.getDefiningOp();
      if (op->getNumRegions() != 0 || tile::isTile(value.getType()) || !(isMemoryEffectFree(op) || isCopyElsewhere(op))) return false;
      needAll(op);
    }
    return llvm::all_of(loop_.getResults(), [&](OpResult result) {
      if (tile::isTile(result.getType())) return true;
      return llvm::all_of(result.getUsers(),
                          [&](Operation* user) { return user->getBlock() == loop_->getBlock() && !behind_->isBeforeInBlock(user); });
    });
  }

  /// The number of the first trip that the group leaves out; the loop's end where it leaves out none. Bounds far outside of the loop are
  /// taken nearer, so that sums fit into 32 bits; where the loop's end is as far, it is taken.
  Value firstLeftOut(OpBuilder& b) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    Location loc = loop_.getLoc();
    Type narrow = b.getI32Type();
    auto number = [&](int64_t value) { return arith::ConstantOp::create(b, loc, b.getIntegerAttr(narrow, value)).getResult(); };
    Value end = loop_.getUpperBound(), stop = end;
    int64_t slack = std::max(beyond_, step_);
    for (const LastTrip& bound : bounds_) {
      const int64_t reach = bound.layout.getLayout().outputSize(bound.layout.getLayout().outputs().front().name) + std::abs(bound.shift);
      Value last = GroupLastOp::create(b, loc, narrow, bound.layout);
      last = arith::AddIOp::create(b, loc, last, number(bound.shift));
      if (bound.first) {
        Value first = arith::MaxSIOp::create(b, loc, bound.first, number(-reach));
        first = arith::MinSIOp::create(b, loc, first, number(kMost - reach));
        last = arith::AddIOp::create(b, loc, first, last);
      }
      stop = arith::MinSIOp::create(b, loc, stop, last);
      slack = std::max(slack, reach + std::abs(bound.shift));
    }
    Value fits = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, end, number(kMost - slack));
    return arith::SelectOp::create(b, loc, fits, roundedUp(b, stop), end);
  }

  /// The loop's start for a group of which no row is stored.
  Value withStoredRows(OpBuilder& b, Value stop) {
    Location loc = loop_.getLoc();
    Value last = arith::ExtSIOp::create(b, loc, b.getI64Type(), GroupLastOp::create(b, loc, b.getI32Type(), stored_->layout));
    Value rows = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(stored_->rows));
    Value row = arith::AddIOp::create(b, loc, stored_->first, arith::SubIOp::create(b, loc, last, rows));
    Value stores = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, row, stored_->end);
    return arith::SelectOp::create(b, loc, stores, stop, loop_.getLowerBound());
  }

  /// The first trip's number from `stop` on, at most the loop's end.
  Value roundedUp(OpBuilder& b, Value stop) {
    Location loc = loop_.getLoc();
    Value low = loop_.getLowerBound(), end = loop_.getUpperBound();
    // A difference to a first trip that nobody knows may need more bits.
    const bool fromZero = getConstantIntValue(low).value_or(-1) >= 0;
    Type type = fromZero ? b.getI32Type() : b.getI64Type();
    auto number = [&](int64_t value) { return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value)).getResult(); };
    auto widened = [&](Value value) { return fromZero ? value : arith::ExtSIOp::create(b, loc, type, value).getResult(); };
    Value from = widened(low);
    Value span = arith::SubIOp::create(b, loc, widened(arith::MaxSIOp::create(b, loc, stop, low)), from);
    Value above = arith::AddIOp::create(b, loc, span, number(step_ - 1));
    Value trips = arith::DivUIOp::create(b, loc, above, number(step_));
    Value whole = arith::MulIOp::create(b, loc, trips, number(step_));
    Value at = arith::AddIOp::create(b, loc, from, whole);
    if (!fromZero) at = arith::TruncIOp::create(b, loc, b.getI32Type(), arith::MinSIOp::create(b, loc, at, widened(end)));
    const bool ends = transforms::divisibilityOf(end) % step_ == 0 && transforms::divisibilityOf(low) % step_ == 0;
    return ends || !fromZero ? at : arith::MinSIOp::create(b, loc, at, end).getResult();
  }

  /// The trips from `stop` on, of which only what keeps step is left.
  void keepStep(OpBuilder& b, Value stop, Value end) {
    SmallVector<Value> inits;
    for (BlockArgument argument : carried_) inits.push_back(loop_.getTiedLoopResult(argument));
    auto rest = scf::ForOp::create(b, loop_.getLoc(), stop, end, loop_.getStep(), inits);
    IRMapping map, next;
    map.map(loop_.getInductionVar(), rest.getInductionVar());
    for (auto [argument, mine] : llvm::zip_equal(carried_, rest.getRegionIterArgs())) map.map(argument, mine);
    if (!rest.getBody()->empty()) rest.getBody()->back().erase();
    b.setInsertionPointToEnd(rest.getBody());
    for (Operation& op : loop_.getBody()->without_terminator())
      if (isTurn(&op) || (slice_.contains(&op) && !late_.contains(&op))) b.clone(op, map);
    SmallVector<Value> yields;
    for (BlockArgument argument : carried_) {
      yields.push_back(map.lookupOrDefault(loop_.getTiedLoopYieldedValue(argument)->get()));
      next.map(argument, yields.back());
    }
    for (Operation* op : inStep_)
      if (late_.contains(op)) {
        IRMapping operands;
        for (Value operand : op->getOperands())
          operands.map(operand, next.contains(operand) ? next.lookup(operand) : map.lookupOrDefault(operand));
        b.clone(*op, operands);
      }
    scf::YieldOp::create(b, loop_.getLoc(), yields);
  }

  scf::ForOp loop_;
  int64_t step_;
  SmallVector<LastTrip> bounds_;
  std::optional<StoredRows> stored_;
  int64_t ahead_ = 0, beyond_ = 0;           ///< the most that is added to a trip's number, alone and in n + c
  SmallVector<Operation*> inStep_;           ///< what keeps step, in the order of the trip
  llvm::SmallPtrSet<Operation*, 4> late_;    ///< of these: what works on what the trip before has begun
  Operation* behind_;                        ///< the last operation of what is left of the last trip, or the loop
  llvm::SmallPtrSet<Operation*, 16> slice_;  ///< what they follow from, themselves among it
  llvm::SetVector<BlockArgument> carried_;   ///< the same of what the trip carries
};

class SkipTripsPass : public impl::SkipTripsPassBase<SkipTripsPass> {
 public:
  void getDependentDialects(DialectRegistry& registry) const override { registerTileGpuDialects(registry); }
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration() || !func->hasAttr(kCopierWarpsAttr)) return;
    std::vector<Skip> skips;
    func.walk([&](scf::ForOp loop) {
      if (std::optional<Skip> skip = Skip::of(loop)) skips.push_back(std::move(*skip));
    });
    for (Skip& skip : skips) skip.apply();
  }
};

}  // namespace

}  // namespace fattn::tilegpu
