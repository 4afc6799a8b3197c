// SPDX-License-Identifier: Apache-2.0
// Splits a loop where its masks are known to be true, so that only the trips that need a mask pay for it:
//
//   scf.for %j = %lo to %hi step 64 {                 %mid = %lo + 64 * (trips in which every element of the masks is true)
//     %m = arith.cmpi sle, %cols(%j), %rows           scf.for %j = %lo to %mid step 64 { %s as it is }
//     %s2 = arith.select %m, %s, %fill         =>     scf.for %j = %mid to %hi step 64 { mask, select }
//   }
//
// Loads and stores of the first loop lose the boundary checks that hold for all of its trips, too.
//
// A mask is a conjunction of signed comparisons whose two sides are affine in the induction variable (AffineTiles.h). The slack of a
// comparison, right side minus left side, falls linearly with the trips; it must be >= 0 at the least element.
// Assumptions: A1 step is a positive constant; A2 the slack falls with the induction variable (then the known trips come first) or does not
// depend on it; A3 the mask has more than one element, or feeds one that has. Masks that fit no rule stay in both loops. A loop without
// masks is not split for its boundary checks alone: a copy engine fills what lies outside, which costs less than a second loop.
// Test: tests/lit/transforms/split-loops.mlir.
#include "compiler/dialect/Tile.h"
#include "compiler/transforms/AffineTiles.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::transforms {
namespace {

/// right - left (or the other way round), minus one for strict comparisons: the mask is true wherever this is >= 0.
std::optional<AffineBounds> slackOf(arith::CmpIOp cmp) {
  auto left = boundsOf(cmp.getLhs()), right = boundsOf(cmp.getRhs());
  if (!left || !right) return std::nullopt;
  using P = arith::CmpIPredicate;
  P p = cmp.getPredicate();
  bool less = p == P::slt || p == P::sle;
  if (!less && p != P::sgt && p != P::sge) return std::nullopt;
  AffineBounds slack = less ? *right : *left;
  slack.add(less ? *left : *right, -1);
  if (p == P::slt || p == P::sgt) slack.low -= 1;
  return slack;
}

struct Mask {
  arith::CmpIOp cmp;
  AffineBounds slack;
};

/// A dimension of a load or store that the loop walks along; its window lies inside of the array where slack >= 0, as it never begins
/// before it.
struct Check {
  Operation* access;
  int64_t dim;
  AffineBounds slack;
};

class LoopSplitter {
 public:
  explicit LoopSplitter(scf::ForOp loop) : loop(loop) {}

  bool run() {
    APInt constant;
    if (!matchPattern(loop.getStep(), m_ConstantInt(&constant)) || constant.getSExtValue() <= 0) return false;  // A1
    step = constant.getSExtValue();
    collect();
    if (masks.empty()) return false;
    loop.walk([&](Operation* op) {
      if (auto load = dyn_cast<tile::LoadOp>(op)) collectChecks(load, load.getPtr(), load.getBoundaryCheck());
      if (auto store = dyn_cast<tile::StoreOp>(op)) collectChecks(store, store.getPtr(), store.getBoundaryCheck());
    });
    split();
    return true;
  }

 private:
  bool outside(const AffineBounds& slack) {
    return llvm::all_of(slack.terms, [&](auto& t) { return t.first == loop.getInductionVar() || loop.isDefinedOutsideOfLoop(t.first); });
  }

  void collect() {
    for (auto cmp : loop.getBody()->getOps<arith::CmpIOp>()) {
      auto type = dyn_cast<RankedTensorType>(cmp.getType());
      if (!type || type.getNumElements() == 1) continue;
      auto slack = slackOf(cmp);
      if (!slack || !outside(*slack) || slack->coefficientOf(loop.getInductionVar()) > 0) continue;  // A2
      masks.push_back({cmp, *slack});
    }
  }

  void collectChecks(Operation* access, Value ptr, ArrayRef<int64_t> dims) {
    auto advance = ptr.getDefiningOp<tile::AdvanceOp>();
    auto window = (advance ? advance.getPtr() : ptr).getDefiningOp<tile::MakeBlockPtrOp>();
    if (!window) return;
    for (int64_t d : dims) {
      auto offset = boundsOf(window.getOffsets()[static_cast<unsigned>(d)]), slack = boundsOf(window.getShape()[static_cast<unsigned>(d)]);
      auto delta = advance ? boundsOf(advance.getDeltas()[static_cast<unsigned>(d)]) : AffineBounds();
      if (!offset || !slack || !delta) continue;
      offset->add(*delta, 1);
      if (!neverNegative(*offset)) continue;
      slack->add(*offset, -1);
      slack->low -= window.getResult().getType().getShape()[static_cast<unsigned>(d)];
      if (outside(*slack) && slack->coefficientOf(loop.getInductionVar()) < 0) checks.push_back({access, d, *slack});
    }
  }

  /// Whether an offset is >= 0 in every trip: it rises with the induction variable from a constant start, or is a constant.
  bool neverNegative(const AffineBounds& offset) {
    APInt lo(64, 0);
    int64_t rise = offset.coefficientOf(loop.getInductionVar());
    for (auto [v, c] : offset.terms)
      if (v != loop.getInductionVar() && c != 0) return false;
    if (rise != 0 && !matchPattern(loop.getLowerBound(), m_ConstantInt(&lo))) return false;
    return rise >= 0 && offset.low + rise * lo.getSExtValue() >= 0;
  }

  Value constant(OpBuilder& b, int64_t v) { return arith::ConstantOp::create(b, loop.getLoc(), b.getI64IntegerAttr(v)); }

  Value widen(OpBuilder& b, Value v) {
    if (v.getType().isInteger(64)) return v;
    if (v.getType().isIndex()) return arith::IndexCastOp::create(b, loop.getLoc(), b.getI64Type(), v);
    return arith::ExtSIOp::create(b, loop.getLoc(), b.getI64Type(), v);
  }

  /// Where something is first not known: the smallest lo + n * step with slack < 0, at least lo.
  Value limitOf(OpBuilder& b, const AffineBounds& slack, Value lo, Value hi) {
    Location loc = loop.getLoc();
    int64_t fall = -slack.coefficientOf(loop.getInductionVar());
    Value rest = constant(b, slack.low);
    for (auto [v, c] : slack.terms)
      if (v != loop.getInductionVar())
        rest = arith::AddIOp::create(b, loc, rest, arith::MulIOp::create(b, loc, widen(b, v), constant(b, c)));
    if (fall == 0) {
      Value always = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, rest, constant(b, 0));
      return arith::SelectOp::create(b, loc, always, hi, lo);
    }
    // slack(iv) = rest - fall * iv >= 0  <=>  iv <= floor(rest / fall): the trips from lo up to there, counted in whole steps.
    Value last = arith::FloorDivSIOp::create(b, loc, rest, constant(b, fall));
    Value reach = arith::AddIOp::create(b, loc, arith::SubIOp::create(b, loc, last, lo), constant(b, step));
    Value trips = arith::DivSIOp::create(b, loc, arith::MaxSIOp::create(b, loc, reach, constant(b, 0)), constant(b, step));
    Value limit = arith::AddIOp::create(b, loc, lo, arith::MulIOp::create(b, loc, trips, constant(b, step)));
    return arith::MinSIOp::create(b, loc, limit, hi);
  }

  void split() {
    OpBuilder b(loop);
    Location loc = loop.getLoc();
    Value lo = widen(b, loop.getLowerBound()), hi = widen(b, loop.getUpperBound());
    Value mid = hi;
    for (const Mask& mask : masks) mid = arith::MinSIOp::create(b, loc, mid, limitOf(b, mask.slack, lo, hi));
    for (const Check& check : checks) mid = arith::MinSIOp::create(b, loc, mid, limitOf(b, check.slack, lo, hi));
    mid = arith::MaxSIOp::create(b, loc, mid, lo);
    Type type = loop.getUpperBound().getType();
    if (type.isIndex())
      mid = arith::IndexCastOp::create(b, loc, type, mid);
    else if (!type.isInteger(64))
      mid = arith::TruncIOp::create(b, loc, type, mid);
    IRMapping map;
    auto rest = cast<scf::ForOp>(b.clone(*loop.getOperation(), map));
    rest->moveAfter(loop);
    loop.getUpperBoundMutable().assign(mid);
    loop->replaceUsesWithIf(rest->getResults(), [&](OpOperand& use) { return use.getOwner() != rest; });
    rest.getLowerBoundMutable().assign(mid);
    rest.getInitArgsMutable().assign(loop.getResults());
    rest->setAttr("tile.masked", b.getUnitAttr());
    for (Mask& mask : masks) {
      OpBuilder inside(mask.cmp);
      Value yes = arith::ConstantOp::create(inside, loc, DenseElementsAttr::get(cast<ShapedType>(mask.cmp.getType()), true));
      mask.cmp.getResult().replaceAllUsesWith(yes);
    }
    for (const Check& check : checks) dropCheck(check);
  }

  static void dropCheck(const Check& check) {
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

  scf::ForOp loop;
  int64_t step = 0;
  SmallVector<Mask> masks;
  SmallVector<Check> checks;
};

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
    for (scf::ForOp loop : loops) LoopSplitter(loop).run();
  }
};

}  // namespace

std::unique_ptr<Pass> createSplitLoopsPass() { return std::make_unique<SplitLoopsPass>(); }

}  // namespace fattn::transforms
