// SPDX-License-Identifier: Apache-2.0
// What only the exact side of a tile.select_lazy uses is computed there, where it is rarely needed:
//
//   %y = arith.mulf %x, %c                            %z = tile.select_lazy %any usual(%u) {
//   %z = tile.select_lazy %any usual(%u) {      =>      %y = arith.mulf %x, %c
//     %r = tile.reduce %y ...                           %r = tile.reduce %y ...
//
// And what narrows a result (%h = arith.truncf %z) narrows both sides instead, so that fewer bytes are alive across the branch.
//
// Assumptions: A1 the operation stands in the block of the select_lazy, so that it is not moved into a loop; A2 it neither reads nor writes
// memory; A3 what narrows is the result's only use. Constants stay: they cost nothing and would be lifted again. Test:
// tests/lit/transforms/sink-lazy.mlir.
#include "compiler/dialect/Tile.h"
#include "compiler/transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::transforms {

#define GEN_PASS_DEF_SINKLAZYPASS
#include "compiler/transforms/Passes.h.inc"

namespace {

/// Whether all uses of the operation's results are inside of the region.
bool isUsedOnlyIn(Operation* op, Region& region) {
  return !op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation* user) { return region.isAncestor(user->getParentRegion()); });
}

void sinkInto(tile::SelectLazyOp lazy) {
  Block& block = lazy.getExact().front();
  // Backwards, so that what only a sunk operation uses follows it.
  for (Operation *op = lazy->getPrevNode(), *previous = nullptr; op; op = previous) {
    previous = op->getPrevNode();
    if (!isMemoryEffectFree(op) || matchPattern(op, m_Constant()) || !isUsedOnlyIn(op, lazy.getExact())) continue;
    op->moveBefore(&block, block.begin());
  }
}

/// An elementwise operation of one operand, and of a result with fewer bits.
bool isNarrowing(Operation* op) {
  if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumOperands() != 1 || op->getNumResults() != 1) return false;
  Type from = getElementTypeOrSelf(op->getOperand(0).getType()), to = getElementTypeOrSelf(op->getResult(0).getType());
  return from.isIntOrFloat() && to.isIntOrFloat() && to.getIntOrFloatBitWidth() < from.getIntOrFloatBitWidth();
}

void narrowResults(tile::SelectLazyOp lazy) {
  Operation* yield = lazy.getExact().front().getTerminator();
  for (OpResult result : lazy.getResults()) {
    if (!result.hasOneUse()) continue;
    Operation* user = *result.getUsers().begin();
    if (!isNarrowing(user) || user->getBlock() != lazy->getBlock()) continue;
    auto narrowed = [&](Operation* before, Value wide) {
      OpBuilder b(before);
      IRMapping operand;
      operand.map(user->getOperand(0), wide);
      return b.clone(*user, operand)->getResult(0);
    };
    OpOperand& usual = lazy.getUsualMutable()[result.getResultNumber()];
    usual.set(narrowed(lazy, usual.get()));
    yield->setOperand(result.getResultNumber(), narrowed(yield, yield->getOperand(result.getResultNumber())));
    result.setType(user->getResult(0).getType());
    user->getResult(0).replaceAllUsesWith(result);
    user->erase();
  }
}

class SinkLazyPass : public impl::SinkLazyPassBase<SinkLazyPass> {
 public:
  void runOnOperation() override {
    SmallVector<tile::SelectLazyOp> all;
    getOperation().walk<WalkOrder::PreOrder>([&](tile::SelectLazyOp lazy) { all.push_back(lazy); });
    for (tile::SelectLazyOp lazy : all) {
      narrowResults(lazy);
      sinkInto(lazy);
    }
  }
};

}  // namespace

}  // namespace fattn::transforms
