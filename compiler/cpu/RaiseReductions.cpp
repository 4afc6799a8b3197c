// SPDX-License-Identifier: Apache-2.0
// Reductions of computed tiles move up to where these are computed, so that one loop nest does both, whatever stood between them:
//
//   %p = math.exp2 %x                       %p = math.exp2 %x
//   %d = tile.dot %p, %v, %acc        =>    %l = tile.reduce %p axis 1 {add}
//   %l = tile.reduce %p axis 1 {add}        %d = tile.dot %p, %v, %acc
//
// Without it, %p would be computed for the dot and once more for the sum.
#include "compiler/cpu/Passes.h"
#include "compiler/dialect/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace fattn::cpu {

#define GEN_PASS_DEF_RAISEREDUCTIONSPASS
#include "compiler/cpu/Passes.h.inc"

namespace {

/// The operation behind which all that a reduction takes is known; null where an input is not computed in its block.
Operation* lastDefinition(tile::ReduceOp reduce) {
  Operation* last = nullptr;
  auto isBehind = [&](Operation* op) { return op && op->getBlock() == reduce->getBlock() && (!last || last->isBeforeInBlock(op)); };
  for (Value input : reduce.getInputs()) {
    Operation* op = input.getDefiningOp();
    if (!op || op->getBlock() != reduce->getBlock() || !op->hasTrait<OpTrait::Elementwise>()) return nullptr;
    if (isBehind(op)) last = op;
  }
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(reduce->getRegions(), captured);
  for (Value value : captured)
    if (isBehind(value.getDefiningOp())) last = value.getDefiningOp();
  return last;
}

class RaiseReductionsPass : public impl::RaiseReductionsPassBase<RaiseReductionsPass> {
  void runOnOperation() override {
    getOperation().walk([](tile::ReduceOp reduce) {
      if (Operation* last = lastDefinition(reduce)) reduce->moveAfter(last);
    });
  }
};

}  // namespace

}  // namespace fattn::cpu
