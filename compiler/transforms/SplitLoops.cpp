// SPDX-License-Identifier: Apache-2.0
// Splits a loop where its masks are known to be true, so that only the trips that need a mask pay for it:
//
//   scf.for %j = %lo to %hi step 64 {                 %mid = %lo + 64 * (trips in which every element of the masks is true)
//     %m = arith.cmpi sle, %cols(%j), %rows           scf.for %j = %lo to %mid step 64 { %s as it is }
//     %s2 = arith.select %m, %s, %fill         =>     scf.for %j = %mid to %hi step 64 { mask, select }
//   }
//
// Loads and stores of the first loop lose the boundary checks that hold for all of its trips, too. For targets whose loops are cheap to
// start; where they are pipelined, GuardMasks.cpp spares the masks without a second loop.
//
// Which masks: MaskedTrips.h. Others stay in both loops. A loop without masks is not split for its boundary checks alone: a copy engine
// fills what lies outside, which costs less than a second loop. Test: tests/lit/transforms/split-loops.mlir.
#include "compiler/dialect/Tile.h"
#include "compiler/transforms/MaskedTrips.h"
#include "compiler/transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace fattn::transforms {
namespace {

void dropCheck(const MaskedTrips::Check& check) {
  auto drop = [&](auto access) {
    SmallVector<int64_t> dims(access.getBoundaryCheck());
    llvm::erase(dims, check.dim);
    access.setBoundaryCheck(dims);
  };
  if (auto load = dyn_cast<tile::LoadOp>(check.access))
    drop(load);
  else
    drop(cast<tile::StoreOp>(check.access));
}

void split(scf::ForOp loop) {
  MaskedTrips trips(loop);
  if (trips.masks().empty()) return;
  SmallVector<MaskedTrips::Check> checks = trips.checks();
  OpBuilder b(loop);
  Value mid = trips.begin(b, trips.masks(), checks);
  auto rest = cast<scf::ForOp>(b.clone(*loop.getOperation()));
  rest->moveAfter(loop);
  loop.getUpperBoundMutable().assign(mid);
  loop->replaceUsesWithIf(rest->getResults(), [&](OpOperand& use) { return use.getOwner() != rest; });
  rest.getLowerBoundMutable().assign(mid);
  rest.getInitArgsMutable().assign(loop.getResults());
  rest->setAttr("tile.masked", b.getUnitAttr());
  for (const MaskedTrips::Mask& mask : trips.masks()) {
    arith::CmpIOp cmp = mask.cmp;
    OpBuilder inside(cmp);
    Value yes = arith::ConstantOp::create(inside, loop.getLoc(), DenseElementsAttr::get(cast<ShapedType>(cmp.getType()), true));
    cmp.getResult().replaceAllUsesWith(yes);
  }
  for (const MaskedTrips::Check& check : checks) dropCheck(check);
}

class SplitLoopsPass : public PassWrapper<SplitLoopsPass, OperationPass<ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitLoopsPass)
  StringRef getArgument() const override { return "tile-split-loops"; }
  StringRef getDescription() const override { return "Give the trips in which all masks are true a loop of their own"; }
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (!loop->hasAttr("tile.masked")) loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) split(loop);
  }
};

}  // namespace

std::unique_ptr<Pass> createSplitLoopsPass() { return std::make_unique<SplitLoopsPass>(); }

}  // namespace fattn::transforms
