// SPDX-License-Identifier: Apache-2.0
// A result of tile.select_lazy that is only needed in a narrower type is narrowed on both sides, so that it takes fewer registers while the
// branch lies between:
//
//   %z = tile.select_lazy %any usual(%u) {               %un = arith.truncf %u
//     tile.yield %e : f32                          =>    %n = tile.select_lazy %any usual(%un) {
//   }                                                      %en = arith.truncf %e
//   %n = arith.truncf %z : f32 to bf16                     tile.yield %en : bf16
//
// Assumption: A1 every use of the result is the same conversion, to floating-point numbers or integers of fewer bits.
// Test: tests/lit/transforms/narrow-lazy.mlir.
#include "compiler/dialect/Tile.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace fattn::transforms {
namespace {

/// The conversion that all uses are, or null.
Operation* narrowingOf(Value result) {
  Operation* first = nullptr;
  for (Operation* user : result.getUsers()) {
    if (!isa<arith::TruncFOp, arith::TruncIOp>(user)) return nullptr;
    if (first && (user->getName() != first->getName() || user->getResultTypes() != first->getResultTypes() ||
                  user->getAttrDictionary() != first->getAttrDictionary()))
      return nullptr;
    first = user;
  }
  return first;
}

void narrowResults(tile::SelectLazyOp lazy) {
  Operation* yield = lazy.getExact().front().getTerminator();
  for (auto [i, result] : llvm::enumerate(lazy.getResults())) {
    Operation* conversion = narrowingOf(result);
    if (!conversion) continue;
    auto narrowed = [&](OpBuilder& b, Value wide) {
      return b
          .create(conversion->getLoc(), conversion->getName().getIdentifier(), wide, conversion->getResultTypes(), conversion->getAttrs())
          ->getResult(0);
    };
    OpBuilder before(lazy), inside(yield);
    lazy.getUsualMutable()[static_cast<unsigned>(i)].set(narrowed(before, lazy.getUsual()[i]));
    yield->setOperand(static_cast<unsigned>(i), narrowed(inside, yield->getOperand(static_cast<unsigned>(i))));
    result.setType(conversion->getResult(0).getType());
    for (Operation* user : llvm::make_early_inc_range(result.getUsers())) {
      user->getResult(0).replaceAllUsesWith(result);
      user->erase();
    }
  }
}

class NarrowLazyPass : public PassWrapper<NarrowLazyPass, OperationPass<ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NarrowLazyPass)
  StringRef getArgument() const override { return "tile-narrow-lazy"; }
  StringRef getDescription() const override { return "Narrow the results of select_lazy on both of its sides"; }
  void runOnOperation() override {
    getOperation().walk([](tile::SelectLazyOp lazy) { narrowResults(lazy); });
  }
};

}  // namespace

std::unique_ptr<Pass> createNarrowLazyPass() { return std::make_unique<NarrowLazyPass>(); }

}  // namespace fattn::transforms
