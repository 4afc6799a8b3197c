// SPDX-License-Identifier: Apache-2.0
// Branches around masks in the trips in which they are known, so that only the others pay for them:
//
//   %m = arith.cmpi sle, %cols(%j), %rows             %known = arith.cmpi slt, %j, %last      %last: KnownTrips.h
//   %p2 = arith.select %m, %p, %fill           =>     %p2 = scf.if %known { scf.yield %p } else { mask, select }
//
// where the last trips are partial; %j >= %first where the first ones are, and both for windows. The loop stays one: its pipeline is filled
// and drained once, the values it keeps in registers are kept for one loop, and the machine code is half as long. The masks themselves move
// into the branches.
//
// Which masks: MaskedTrips.h. A select in several loops is spared its mask in the innermost one whose trips move the mask. Masks used in
// another way stay as they are. Test: tests/lit/transforms/guard-masks.mlir.
#include "compiler/dialect/Tile.h"
#include "compiler/transforms/KnownTrips.h"
#include "compiler/transforms/MaskedTrips.h"
#include "compiler/transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::transforms {

#define GEN_PASS_DEF_GUARDMASKSPASS
#include "compiler/transforms/Passes.h.inc"

namespace {

class MaskGuard {
 public:
  /// `guarded` has the selects that are in a branch already.
  MaskGuard(scf::ForOp loop, DenseSet<Operation*>& guarded) : loop_(loop), trips_(loop), guarded_(guarded) {}

  void run() {
    SmallVector<std::pair<arith::SelectOp, MaskedTrips::Usual>> selects;
    loop_.walk([&](arith::SelectOp select) {
      if (guarded_.contains(select)) return;
      if (auto usual = trips_.usual(select); usual && isMine(usual->masks)) selects.emplace_back(select, std::move(*usual));
    });
    for (auto& [select, usual] : selects) guard(select, usual.side, known(usual.masks));
    if (!selects.empty()) sinkMasks();
  }

 private:
  /// Masks that stay the same in this loop may move with the trips of one around it.
  bool isMine(ArrayRef<MaskedTrips::Mask> masks) {
    auto moves = [&](const MaskedTrips::Mask& mask) { return trips_.slopeOf(mask.known) != Slope::Stays; };
    return llvm::any_of(masks, moves) || !loop_->getParentOfType<scf::ForOp>();
  }

  /// Whether all of these masks are known in a trip; the same value for the same masks.
  Value known(ArrayRef<MaskedTrips::Mask> masks) {
    SmallVector<std::pair<Operation*, bool>> key;
    for (const MaskedTrips::Mask& mask : masks) key.emplace_back(mask.cmp, mask.value);
    llvm::sort(key);
    auto it = llvm::find_if(known_, [&](auto& entry) { return entry.first == key; });
    if (it == known_.end()) it = known_.insert(it, {key, emitKnown(masks)});
    return it->second;
  }

  Value emitKnown(ArrayRef<MaskedTrips::Mask> masks) {
    KnownTrips trips(loop_, /*whole=*/false);
    for (const MaskedTrips::Mask& mask : masks) trips.require(mask.known);
    OpBuilder b(loop_);
    auto [first, last] = trips.emit(b);
    b.setInsertionPointToStart(loop_.getBody());
    Location loc = loop_.getLoc();
    Value i = loop_.getInductionVar();
    Value begun = first ? arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, i, first) : Value();
    Value goesOn = last ? arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, i, last) : Value();
    if (!begun || !goesOn) return begun ? begun : goesOn;
    return arith::AndIOp::create(b, loc, begun, goesOn);
  }

  void guard(arith::SelectOp select, bool side, Value known) {
    OpBuilder b(select);
    auto branch = scf::IfOp::create(b, select.getLoc(), select.getType(), known, /*withElseRegion=*/true);
    select.replaceAllUsesWith(branch.getResult(0));
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, select.getLoc(), side ? select.getTrueValue() : select.getFalseValue());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, select.getLoc(), select.getResult());
    select->moveBefore(branch.elseBlock(), branch.elseBlock()->begin());
    guarded_.insert(select);
    addMask(select.getCondition());
  }

  /// What a condition is computed from in the loop's block.
  void addMask(Value value) {
    Operation* op = value.getDefiningOp();
    if (!op || op->getBlock() != loop_.getBody() || !isMemoryEffectFree(op) || matchPattern(op, m_Constant())) return;
    if (!isa<RankedTensorType>(value.getType()) || !masks_.insert(op).second) return;
    for (Value operand : op->getOperands()) addMask(operand);
  }

  /// Each is cloned into the regions that use it; last ones first, so that operands follow their users.
  void sinkMasks() {
    for (Operation& op : llvm::make_early_inc_range(llvm::reverse(*loop_.getBody())))
      if (masks_.contains(&op)) sink(&op);
  }

  void sink(Operation* op) {
    llvm::MapVector<Block*, SmallVector<OpOperand*>> uses;
    for (OpOperand& use : op->getUses()) {
      Block* block = use.getOwner()->getBlock();
      if (block == loop_.getBody()) return;  // used in every trip
      uses[block].push_back(&use);
    }
    for (auto& [block, operands] : uses) {
      OpBuilder b = OpBuilder::atBlockBegin(block);
      Operation* copy = b.clone(*op);
      for (OpOperand* use : operands) use->set(copy->getResult(0));
    }
    op->erase();
  }

  scf::ForOp loop_;
  MaskedTrips trips_;
  DenseSet<Operation*>& guarded_;
  SmallVector<std::pair<SmallVector<std::pair<Operation*, bool>>, Value>> known_;
  llvm::SmallPtrSet<Operation*, 16> masks_;
};

class GuardMasksPass : public impl::GuardMasksPassBase<GuardMasksPass> {
 public:
  void runOnOperation() override {
    DenseSet<Operation*> guarded;
    getOperation().walk([&](scf::ForOp loop) { MaskGuard(loop, guarded).run(); });
  }
};

}  // namespace

}  // namespace fattn::transforms
