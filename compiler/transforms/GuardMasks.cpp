// SPDX-License-Identifier: Apache-2.0
// Branches around masks in the trips in which they are known to be true, so that only the others pay for them:
//
//   %m = arith.cmpi sle, %cols(%j), %rows             %known = arith.cmpi slt, %j, %mid       %mid: MaskedTrips::begin
//   %p2 = arith.select %m, %p, %fill           =>     %p2 = scf.if %known { scf.yield %p } else { mask, select }
//
// The loop stays one: its pipeline is filled and drained once, the values it keeps in registers are kept for one loop, and the machine
// code is half as long. The masks themselves move into the branches.
//
// Assumptions: those of MaskedTrips.h; A4 the condition is a tile in the loop's own block. Masks used in another way stay as they are.
// Test: tests/lit/transforms/guard-masks.mlir.
#include "compiler/dialect/Tile.h"
#include "compiler/transforms/MaskedTrips.h"
#include "compiler/transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::transforms {
namespace {

class MaskGuard {
 public:
  explicit MaskGuard(scf::ForOp loop) : loop_(loop), trips_(loop) {}

  void run() {
    if (trips_.masks().empty()) return;
    SmallVector<arith::SelectOp> selects;
    loop_.walk([&](arith::SelectOp select) {
      if (isKnown(select.getCondition())) selects.push_back(select);
    });
    if (selects.empty()) return;
    OpBuilder b(loop_);
    Value mid = trips_.begin(b, trips_.masks(), {});
    b.setInsertionPointToStart(loop_.getBody());
    Value known = arith::CmpIOp::create(b, loop_.getLoc(), arith::CmpIPredicate::slt, loop_.getInductionVar(), mid);
    for (arith::SelectOp select : selects) guard(select, known);
    sinkMasks();
  }

 private:
  /// Whether a condition is true for all elements where all masks are.
  bool isKnown(Value condition) {
    Operation* op = condition.getDefiningOp();
    if (!op || op->getBlock() != loop_.getBody() || !isa<RankedTensorType>(condition.getType())) return false;
    if (llvm::any_of(trips_.masks(), [&](const MaskedTrips::Mask& mask) { return mask.cmp == op; })) return true;
    bool passes = isa<arith::AndIOp, tile::BroadcastOp, tile::ExpandDimsOp, tile::TransOp, tile::ReshapeOp>(op);
    return passes && llvm::all_of(op->getOperands(), [&](Value operand) { return isKnown(operand); });
  }

  void guard(arith::SelectOp select, Value known) {
    OpBuilder b(select);
    auto branch = scf::IfOp::create(b, select.getLoc(), select.getType(), known, /*withElseRegion=*/true);
    select.replaceAllUsesWith(branch.getResult(0));
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, select.getLoc(), select.getTrueValue());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, select.getLoc(), select.getResult());
    select->moveBefore(branch.elseBlock(), branch.elseBlock()->begin());
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
  llvm::SmallPtrSet<Operation*, 16> masks_;
};

class GuardMasksPass : public PassWrapper<GuardMasksPass, OperationPass<ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(GuardMasksPass)
  StringRef getArgument() const override { return "tile-guard-masks"; }
  StringRef getDescription() const override { return "Branch around masks in the trips in which they are known to be true"; }
  void runOnOperation() override {
    getOperation().walk([](scf::ForOp loop) { MaskGuard(loop).run(); });
  }
};

}  // namespace

std::unique_ptr<Pass> createGuardMasksPass() { return std::make_unique<GuardMasksPass>(); }

}  // namespace fattn::transforms
