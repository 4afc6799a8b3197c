// SPDX-License-Identifier: Apache-2.0
// Lets each warp decide by its own rows where a mask can be left out:
//
//   scf.for %n = ... {                                 %least = warp_least %rows
//     %usual = cmpi slt, %n, %bound                    %mine = %least - 63 + 1, as far as an i32 goes
//     scf.if (%usual) { yield %s }              =>     scf.for %n = ... {
//     else { yield select(%n + 0..63 <= %rows, ...) }    %usual = cmpi slt, %n, %mine
//   }                                                    (the branch as it was)
//                                                      }
//
// The bound is what all rows of the block allow (-tile-guard-masks). Where warps run apart, those of the later rows need no mask in trips
// in which only the first rows do. What all rows allow the warp's rows allow as well, so its own bound takes the other one's place, whose
// arithmetic of 64 bits goes. A first trip that stands in front of its loop has such a branch, too, where n is 0.
//
// Conditions, else a branch stays as it is: C1 it has a bound that the loop does not change, yields tiles and has no other effect; C2 each
// result is in the `else` a select between what the `then` yields and something else; C3 its condition is a conjunction of comparisons
// (less, or less or equal, as signed numbers) of n + c, where c are the numbers of an arange, with a number, or with a tile of i32 that the
// loop does not change; C4 there is such a tile, as numbers are the same for all warps. The sums of C3 do not wrap where the new bound lets
// the mask be left out: c is not negative, and n + c is at most the number that it is compared with.
//
// Runs behind -tilegpu-split-roles, on functions whose roles were split: a bound that differs among warps would part them at the barriers
// of a trip. Test: tests/lit/gpu/narrow-guards.mlir.
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/roles/Masks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_NARROWGUARDSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// One comparison of a mask: it holds for all of a warp's elements where n < bound + shift.
struct Limit {
  Value number, tile;  ///< what is compared with: one of the two
  int64_t shift = 0;
};

class Guard {
 public:
  /// Nothing where a condition does not hold.
  static std::optional<Guard> of(scf::IfOp branch) {
    auto test = branch.getCondition().getDefiningOp<arith::CmpIOp>();
    if (!test || !test.getLhs().getType().isInteger(32) || branch.getNumResults() == 0) return std::nullopt;
    if (!isMemoryEffectFree(branch) || !branch.thenBlock()->without_terminator().empty()) return std::nullopt;
    Guard guard(branch, test);
    if (!guard.readTest()) return std::nullopt;
    for (auto [usual, other] : llvm::zip_equal(branch.thenYield().getResults(), branch.elseYield().getResults())) {
      auto select = other.getDefiningOp<arith::SelectOp>();
      if (!select || select.getTrueValue() != usual || !guard.add(select.getCondition())) return std::nullopt;
    }
    if (llvm::none_of(guard.limits_, [](const Limit& limit) { return limit.tile; })) return std::nullopt;
    return guard;
  }

  /// Where two branches have the same test, the last one erases it.
  void narrow() {
    OpBuilder b(place_);
    Location loc = branch_.getLoc();
    Type wide = b.getI64Type();
    auto number = [&](int64_t value) { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)); };
    Value least;
    for (const Limit& limit : limits_) {
      Value from = limit.tile ? leastOf(b, limit.tile) : limit.number;
      Value bound = arith::AddIOp::create(b, loc, arith::ExtSIOp::create(b, loc, wide, from), number(limit.shift));
      least = least ? arith::MinSIOp::create(b, loc, least, bound).getResult() : bound;
    }
    least = arith::MaxSIOp::create(b, loc, least, number(std::numeric_limits<int32_t>::min()));
    least = arith::MinSIOp::create(b, loc, least, number(std::numeric_limits<int32_t>::max()));
    Value mine = arith::TruncIOp::create(b, loc, b.getI32Type(), least);
    b.setInsertionPoint(branch_);
    branch_.getConditionMutable().set(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, n_, mine));
    if (test_->use_empty()) test_.erase();
  }

 private:
  Guard(scf::IfOp branch, arith::CmpIOp test) : branch_(branch), test_(test), place_(branch) {
    if (auto loop = dyn_cast<scf::ForOp>(branch->getParentOp())) place_ = loop;
  }

  /// Whether it is n < bound. Outside of a loop n is 0, and may stand behind the bound.
  bool readTest() {
    const bool turned = test_.getPredicate() == arith::CmpIPredicate::sgt;
    if (!turned && test_.getPredicate() != arith::CmpIPredicate::slt) return false;
    n_ = turned ? test_.getRhs() : test_.getLhs();
    return isFixed(turned ? test_.getLhs() : test_.getRhs()) && (place_ != branch_ || isConstantIntValue(n_, 0));
  }

  /// The number that another branch has asked for, where it is there.
  Value leastOf(OpBuilder& b, Value tile) {
    const DominanceInfo dominance;
    for (Operation* user : tile.getUsers())
      if (isa<WarpLeastOp>(user) && dominance.properlyDominates(user, place_)) return user->getResult(0);
    return WarpLeastOp::create(b, branch_.getLoc(), b.getI32Type(), tile);
  }

  /// Whether it is there where the new bound is computed.
  bool isFixed(Value value) { return !place_->isAncestor(value.getParentBlock()->getParentOp()); }

  bool add(Value mask) {
    std::optional<SmallVector<MaskComparison>> comparisons = comparisonsOf(mask);
    if (!comparisons) return false;
    for (const MaskComparison& one : *comparisons) {
      Value bound = one.number ? one.number : one.tile;
      const bool same = one.n ? one.n == n_ : isConstantIntValue(n_, 0);
      if (!same || !isFixed(bound) || !getElementTypeOrSelf(bound).isInteger(32)) return false;
      limits_.push_back({.number = one.number, .tile = one.tile, .shift = (one.strict ? 0 : 1) - one.greatest});
    }
    return true;
  }

  scf::IfOp branch_;
  arith::CmpIOp test_;
  Operation* place_;  ///< the loop of whose trip the branch is a part, else the branch: in front of it the new bound is computed
  Value n_;
  SmallVector<Limit> limits_;
};

class NarrowGuardsPass : public impl::NarrowGuardsPassBase<NarrowGuardsPass> {
 public:
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration() || !func->hasAttr(kCopierWarpsAttr)) return;
    SmallVector<Guard> guards;
    func.walk([&](scf::IfOp branch) {
      if (std::optional<Guard> guard = Guard::of(branch)) guards.push_back(*guard);
    });
    for (Guard& guard : guards) guard.narrow();
  }
};

}  // namespace

}  // namespace fattn::tilegpu
