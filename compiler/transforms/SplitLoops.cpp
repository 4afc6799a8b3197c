// SPDX-License-Identifier: Apache-2.0
// Splits a loop where its masks are known, so that only the trips that need a mask pay for it:
//
//   scf.for %j = %lo to %hi step 64 {                 %last = %lo + 64 * (trips in which every element of the masks is true)
//     %m = arith.cmpi sle, %cols(%j), %rows           scf.for %j = %lo to %last step 64 { %s as it is }
//     %s2 = arith.select %m, %s, %fill         =>     scf.for %j = %last to %hi step 64 { mask, select }
//   }
//
// where the last trips are partial. Where the first ones are, the loop with masks comes first. Where both are, as in windows that slide,
// there is one on either side if the body has dots, whose work is worth a third copy of it; otherwise the masks of the first trips stay.
//
// Loads and stores of the loop without masks lose the boundary checks that hold for all of its trips, too. For targets whose loops are
// cheap to start; where they are pipelined, GuardMasks.cpp spares the masks without a second loop.
//
// Which masks: MaskedTrips.h. Others stay in all loops. A loop without masks is not split for its boundary checks alone: a copy engine
// fills what lies outside, which costs less than a second loop. Test: tests/lit/transforms/split-loops.mlir.
#include "compiler/dialect/Tile.h"
#include "compiler/transforms/KnownTrips.h"
#include "compiler/transforms/MaskedTrips.h"
#include "compiler/transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace fattn::transforms {

#define GEN_PASS_DEF_SPLITLOOPSPASS
#include "compiler/transforms/Passes.h.inc"

namespace {

void dropCheck(const MaskedTrips::Check& check) {
  auto drop = [&](auto access) {
    SmallVector<int64_t> dims(access.getBoundaryCheck());
    llvm::erase(dims, check.dim);
    access.setBoundaryCheck(dims);
  };
  llvm::TypeSwitch<Operation*>(check.access).Case<tile::LoadOp, tile::StoreOp, tile::AccumulateOp>(drop);
}

class Splitter {
 public:
  explicit Splitter(scf::ForOp loop) : loop_(loop), trips_(loop), masks_(trips_.masks()) {}

  void run() {
    if (any(Slope::Falls) && any(Slope::Rises) && !hasDots())
      llvm::erase_if(masks_, [&](auto& mask) { return trips_.slopeOf(mask.known) == Slope::Rises; });
    if (llvm::none_of(masks_, [&](auto& mask) { return isWorthALoop(mask); })) return;
    SmallVector<MaskedTrips::Check, 0> checks = trips_.checks();
    llvm::erase_if(checks, [&](auto& check) { return llvm::any_of(check.inside, [&](auto& inside) { return needsAnotherLoop(inside); }); });
    KnownTrips known(loop_, /*whole=*/true);
    for (const MaskedTrips::Mask& mask : masks_) known.require(mask.known);
    for (const MaskedTrips::Check& check : checks)
      for (const AffineCondition& inside : check.inside) known.require(inside);
    OpBuilder b(loop_);
    auto [first, last] = known.emit(b);
    if (first) splitBefore(first);
    if (last) splitBehind(last);
    for (const MaskedTrips::Mask& mask : masks_) replace(mask);
    for (const MaskedTrips::Check& check : checks) dropCheck(check);
  }

 private:
  bool any(Slope slope) {
    return llvm::any_of(masks_, [&](const MaskedTrips::Mask& mask) { return trips_.slopeOf(mask.known) == slope; });
  }
  bool hasDots() {
    return loop_.walk([](tile::DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
  }
  /// What is computed before the loop and the same in all trips is computed without another loop.
  bool isWorthALoop(MaskedTrips::Mask mask) {
    return trips_.slopeOf(mask.known) != Slope::Stays || mask.cmp->getBlock() == loop_.getBody();
  }
  /// Beside those that the masks need.
  bool needsAnotherLoop(const AffineCondition& inside) {
    Slope slope = trips_.slopeOf(inside);
    return slope == Slope::Rises ? !any(Slope::Rises) : slope == Slope::Falls && any(Slope::Rises) && !any(Slope::Falls);
  }

  /// The trips before this one get a loop with masks.
  void splitBefore(Value first) {
    OpBuilder b(loop_);
    auto head = cast<scf::ForOp>(b.clone(*loop_.getOperation()));
    head.getUpperBoundMutable().assign(first);
    head->setAttr("tile.masked", b.getUnitAttr());
    loop_.getLowerBoundMutable().assign(first);
    loop_.getInitArgsMutable().assign(head.getResults());
  }

  /// The trips from this one on get a loop with masks.
  void splitBehind(Value last) {
    OpBuilder b(loop_);
    b.setInsertionPointAfter(loop_);
    auto tail = cast<scf::ForOp>(b.clone(*loop_.getOperation()));
    loop_.getUpperBoundMutable().assign(last);
    loop_->replaceUsesWithIf(tail->getResults(), [&](OpOperand& use) { return use.getOwner() != tail; });
    tail.getLowerBoundMutable().assign(last);
    tail.getInitArgsMutable().assign(loop_.getResults());
    tail->setAttr("tile.masked", b.getUnitAttr());
  }

  void replace(const MaskedTrips::Mask& mask) {
    OpBuilder b = OpBuilder::atBlockBegin(loop_.getBody());
    arith::CmpIOp cmp = mask.cmp;
    Value known = arith::ConstantOp::create(b, loop_.getLoc(), DenseElementsAttr::get(cast<ShapedType>(cmp.getType()), mask.value));
    cmp->replaceUsesWithIf(ValueRange(known), [&](OpOperand& use) { return loop_->isProperAncestor(use.getOwner()); });
  }

  scf::ForOp loop_;
  MaskedTrips trips_;
  MaskedTrips::Masks masks_;
};

class SplitLoopsPass : public impl::SplitLoopsPassBase<SplitLoopsPass> {
 public:
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (!loop->hasAttr("tile.masked")) loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) Splitter(loop).run();
  }
};

}  // namespace

}  // namespace fattn::transforms
