// SPDX-License-Identifier: Apache-2.0
#include "compiler/transforms/MaskedTrips.h"

#include "compiler/dialect/Tile.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::transforms {

/// right - left (or the other way round), minus one for strict comparisons: the mask is true wherever this is >= 0.
static std::optional<AffineBounds> slackOf(arith::CmpIOp cmp, SmallVectorImpl<IntegerResult>& computed) {
  auto left = boundsOf(cmp.getLhs(), computed), right = boundsOf(cmp.getRhs(), computed);
  if (!left || !right) return std::nullopt;
  using P = arith::CmpIPredicate;
  P p = cmp.getPredicate();
  bool less = p == P::slt || p == P::sle;
  if (!less && p != P::sgt && p != P::sge) return std::nullopt;
  AffineBounds slack = less ? *right : *left;
  if (!slack.add(less ? *left : *right, -1)) return std::nullopt;
  if (p == P::slt || p == P::sgt) slack.low -= 1;
  return slack;
}

MaskedTrips::MaskedTrips(scf::ForOp loop) : loop_(loop) {
  APInt constant;
  if (!matchPattern(loop.getStep(), m_ConstantInt(&constant)) || constant.getSExtValue() <= 0) return;  // A1
  step_ = constant.getSExtValue();
  collectMasks();
}

bool MaskedTrips::isOutside(const AffineBounds& slack) const {
  return llvm::all_of(slack.terms, [&](auto& t) { return t.first == loop_.getInductionVar() || loop_.isDefinedOutsideOfLoop(t.first); });
}

bool MaskedTrips::isKnownBefore(const AffineBounds& slack, ArrayRef<IntegerResult> computed) const {
  auto known = [&](const AffineBounds& bounds) { return isOutside(bounds) && bounds.fits(); };
  return known(slack) &&
         llvm::all_of(computed, [&](const IntegerResult& result) { return known(result.bounds) && result.mostScalar() >= 0; });
}

void MaskedTrips::collectMasks() {
  for (auto cmp : loop_.getBody()->getOps<arith::CmpIOp>()) {
    auto type = dyn_cast<RankedTensorType>(cmp.getType());
    if (!type || type.getNumElements() == 1) continue;
    SmallVector<IntegerResult, 0> computed;
    auto slack = slackOf(cmp, computed);
    if (!slack || !isKnownBefore(*slack, computed) || slack->coefficientOf(loop_.getInductionVar()) > 0) continue;  // A2
    masks_.push_back({cmp, *slack, computed});
  }
}

SmallVector<MaskedTrips::Check> MaskedTrips::checks() const {
  SmallVector<Check> result;
  loop_.walk([&](Operation* op) {
    if (auto load = dyn_cast<tile::LoadOp>(op)) collectChecks(load, load.getPtr(), load.getBoundaryCheck(), result);
    if (auto store = dyn_cast<tile::StoreOp>(op)) collectChecks(store, store.getPtr(), store.getBoundaryCheck(), result);
  });
  return result;
}

void MaskedTrips::collectChecks(Operation* access, Value ptr, ArrayRef<int64_t> dims, SmallVectorImpl<Check>& out) const {
  auto advance = ptr.getDefiningOp<tile::AdvanceOp>();
  auto window = (advance ? advance.getPtr() : ptr).getDefiningOp<tile::MakeBlockPtrOp>();
  if (!window) return;
  for (int64_t d : dims) {
    SmallVector<IntegerResult, 0> computed;
    auto offset = boundsOf(window.getOffsets()[static_cast<unsigned>(d)], computed);
    auto slack = boundsOf(window.getShape()[static_cast<unsigned>(d)], computed);
    auto delta = advance ? boundsOf(advance.getDeltas()[static_cast<unsigned>(d)], computed) : AffineBounds();
    if (!offset || !slack || !delta || !offset->add(*delta, 1) || !neverNegative(*offset)) continue;
    if (!slack->add(*offset, -1)) continue;
    slack->low -= window.getResult().getType().getShape()[static_cast<unsigned>(d)];
    if (isKnownBefore(*slack, computed) && slack->coefficientOf(loop_.getInductionVar()) < 0) out.push_back({access, d, *slack, computed});
  }
}

/// Whether an offset is >= 0 in every trip: it rises with the induction variable from a constant start, or is a constant.
bool MaskedTrips::neverNegative(const AffineBounds& offset) const {
  APInt lo(64, 0);
  int64_t rise = offset.coefficientOf(loop_.getInductionVar());
  for (auto [v, c] : offset.terms)
    if (v != loop_.getInductionVar() && c != 0) return false;
  if (rise != 0 && !matchPattern(loop_.getLowerBound(), m_ConstantInt(&lo))) return false;
  return rise >= 0 && offset.low + rise * lo.getSExtValue() >= 0;
}

Value MaskedTrips::constant(OpBuilder& b, int64_t v) const { return arith::ConstantOp::create(b, loop_.getLoc(), b.getI64IntegerAttr(v)); }

Value MaskedTrips::widen(OpBuilder& b, Value v) const {
  if (v.getType().isInteger(64)) return v;
  if (v.getType().isIndex()) return arith::IndexCastOp::create(b, loop_.getLoc(), b.getI64Type(), v);
  return arith::ExtSIOp::create(b, loop_.getLoc(), b.getI64Type(), v);
}

void MaskedTrips::limitScalars(const AffineBounds& slack, ArrayRef<IntegerResult> computed, Limits& limits) const {
  auto limit = [&](Value v, int64_t most) {
    if (v.getType().isInteger() && most >= llvm::maxIntN(std::min(v.getType().getIntOrFloatBitWidth(), 63U)) + 1) return;
    auto [entry, isNew] = limits.insert({v, most});
    entry->second = std::min(entry->second, most);
  };
  auto limitAll = [&](const AffineBounds& bounds, int64_t most) {
    for (auto [v, c] : bounds.terms) {
      if (v != loop_.getInductionVar()) {
        limit(v, most);
        continue;
      }
      limit(loop_.getLowerBound(), most);
      limit(loop_.getUpperBound(), most);
    }
  };
  limitAll(slack, AffineBounds::kMostScalar);
  for (const IntegerResult& result : computed) limitAll(result.bounds, result.mostScalar());
}

Value MaskedTrips::keeps(OpBuilder& b, const Limits& limits) const {
  Location loc = loop_.getLoc();
  Value all;
  for (auto [v, most] : limits) {
    Value shifted = arith::AddIOp::create(b, loc, widen(b, v), constant(b, most));
    Value small = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, shifted, constant(b, 2 * most));
    all = all ? arith::AndIOp::create(b, loc, all, small).getResult() : small;
  }
  return all;
}

/// Where something is first not known: the smallest lo + n * step with slack < 0, at least lo.
Value MaskedTrips::limitOf(OpBuilder& b, const AffineBounds& slack, Value lo, Value hi) const {
  Location loc = loop_.getLoc();
  int64_t fall = -slack.coefficientOf(loop_.getInductionVar());
  Value rest = constant(b, slack.low);
  for (auto [v, c] : slack.terms)
    if (v != loop_.getInductionVar())
      rest = arith::AddIOp::create(b, loc, rest, arith::MulIOp::create(b, loc, widen(b, v), constant(b, c)));
  if (fall == 0) {
    Value always = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, rest, constant(b, 0));
    return arith::SelectOp::create(b, loc, always, hi, lo);
  }
  // slack(iv) = rest - fall * iv >= 0  <=>  iv <= floor(rest / fall): the trips from lo up to there, counted in whole steps.
  Value last = arith::FloorDivSIOp::create(b, loc, rest, constant(b, fall));
  Value reach = arith::AddIOp::create(b, loc, arith::SubIOp::create(b, loc, last, lo), constant(b, step_));
  Value trips = arith::DivSIOp::create(b, loc, arith::MaxSIOp::create(b, loc, reach, constant(b, 0)), constant(b, step_));
  Value limit = arith::AddIOp::create(b, loc, lo, arith::MulIOp::create(b, loc, trips, constant(b, step_)));
  return arith::MinSIOp::create(b, loc, limit, hi);
}

Value MaskedTrips::begin(OpBuilder& b, ArrayRef<Mask> masks, ArrayRef<Check> checks) const {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop_);
  Location loc = loop_.getLoc();
  Value lo = widen(b, loop_.getLowerBound()), hi = widen(b, loop_.getUpperBound());
  Value first = hi;
  Limits limits;
  auto require = [&](const AffineBounds& slack, ArrayRef<IntegerResult> computed) {
    first = arith::MinSIOp::create(b, loc, first, limitOf(b, slack, lo, hi));
    limitScalars(slack, computed, limits);
  };
  for (const Mask& mask : masks) require(mask.slack, mask.computed);
  for (const Check& check : checks) require(check.slack, check.computed);
  if (Value known = keeps(b, limits)) first = arith::SelectOp::create(b, loc, known, first, lo);
  first = arith::MaxSIOp::create(b, loc, first, lo);
  Type type = loop_.getUpperBound().getType();
  if (type.isIndex()) return arith::IndexCastOp::create(b, loc, type, first);
  return type.isInteger(64) ? first : arith::TruncIOp::create(b, loc, type, first).getResult();
}

}  // namespace fattn::transforms
