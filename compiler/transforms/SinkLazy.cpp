// SPDX-License-Identifier: Apache-2.0
// What only the exact side of a tile.select_lazy uses is computed there, where it is rarely needed:
//
//   %y = arith.mulf %x, %c                            %z = tile.select_lazy %any usual(%u) {
//   %z = tile.select_lazy %any usual(%u) {      =>      %y = arith.mulf %x, %c
//     %r = tile.reduce %y ...                           %r = tile.reduce %y ...
//
// Assumptions: A1 the operation stands in the block of the select_lazy, so that it is not moved into a loop; A2 it neither reads nor writes
// memory. Constants stay: they cost nothing and would be lifted again. Test: tests/lit/transforms/sink-lazy.mlir.
#include "compiler/dialect/Tile.h"
#include "compiler/transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::transforms {
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

class SinkLazyPass : public PassWrapper<SinkLazyPass, OperationPass<ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SinkLazyPass)
  StringRef getArgument() const override { return "tile-sink-lazy"; }
  StringRef getDescription() const override { return "Move what only an exact side uses into it"; }
  void runOnOperation() override {
    getOperation().walk<WalkOrder::PreOrder>([](tile::SelectLazyOp lazy) { sinkInto(lazy); });
  }
};

}  // namespace

std::unique_ptr<Pass> createSinkLazyPass() { return std::make_unique<SinkLazyPass>(); }

}  // namespace fattn::transforms
