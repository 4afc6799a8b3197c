// SPDX-License-Identifier: Apache-2.0
#include "compiler/transforms/KnownTrips.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fattn::transforms {

void KnownTrips::require(const AffineCondition& condition) {
  int64_t slope = condition.slack.coefficientOf(loop_.getInductionVar());
  (slope == 0 ? fixed_ : slope < 0 ? falling_ : rising_).push_back(condition.slack);
  limitAll(condition.slack, AffineBounds::kMostScalar);
  for (const IntegerResult& result : condition.computed) limitAll(result.bounds, result.mostScalar());
}

void KnownTrips::limit(Value v, int64_t most) {
  if (v.getType().isInteger() && most >= llvm::maxIntN(std::min(v.getType().getIntOrFloatBitWidth(), 63U)) + 1) return;
  auto [entry, isNew] = limits_.insert({v, most});
  entry->second = std::min(entry->second, most);
}

void KnownTrips::limitAll(const AffineBounds& bounds, int64_t most) {
  for (auto [v, c] : bounds.terms) {
    if (v != loop_.getInductionVar()) {
      limit(v, most);
      continue;
    }
    limit(loop_.getLowerBound(), most);
    limit(loop_.getUpperBound(), most);
    if (whole_) limit(loop_.getStep(), AffineBounds::kMostScalar);
  }
}

Value KnownTrips::constant(OpBuilder& b, int64_t v) const { return arith::ConstantOp::create(b, loop_.getLoc(), b.getI64IntegerAttr(v)); }

Value KnownTrips::widen(OpBuilder& b, Value v) const {
  if (v.getType().isInteger(64)) return v;
  if (v.getType().isIndex()) return arith::IndexCastOp::create(b, loop_.getLoc(), b.getI64Type(), v);
  return arith::ExtSIOp::create(b, loop_.getLoc(), b.getI64Type(), v);
}

Value KnownTrips::narrow(OpBuilder& b, Value v) const {
  Type type = loop_.getUpperBound().getType();
  if (type.isIndex()) return arith::IndexCastOp::create(b, loop_.getLoc(), type, v);
  return type.isInteger(64) ? v : arith::TruncIOp::create(b, loop_.getLoc(), type, v).getResult();
}

Value KnownTrips::keepsLimits(OpBuilder& b) const {
  Location loc = loop_.getLoc();
  Value all;
  for (auto [v, most] : limits_) {
    Value shifted = arith::AddIOp::create(b, loc, widen(b, v), constant(b, most));
    Value small = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, shifted, constant(b, 2 * most));
    all = all ? arith::AndIOp::create(b, loc, all, small).getResult() : small;
  }
  return all;
}

Value KnownTrips::restOf(OpBuilder& b, const AffineBounds& slack) const {
  Location loc = loop_.getLoc();
  Value rest = constant(b, slack.low);
  for (auto [v, c] : slack.terms)
    if (v != loop_.getInductionVar())
      rest = arith::AddIOp::create(b, loc, rest, arith::MulIOp::create(b, loc, widen(b, v), constant(b, c)));
  return rest;
}

/// lo and the least number of steps that is not less than the distance; none where that is negative.
Value KnownTrips::wholeSteps(OpBuilder& b, Value distance) const {
  Location loc = loop_.getLoc();
  Value reach = arith::AddIOp::create(b, loc, distance, arith::SubIOp::create(b, loc, step_, constant(b, 1)));
  Value steps = arith::DivSIOp::create(b, loc, arith::MaxSIOp::create(b, loc, reach, constant(b, 0)), step_);
  return arith::AddIOp::create(b, loc, lo_, arith::MulIOp::create(b, loc, steps, step_));
}

/// slack(i) = rest - fall * i >= 0  <=>  i < floor(rest / fall) + 1.
Value KnownTrips::endOf(OpBuilder& b, const AffineBounds& slack) const {
  Location loc = loop_.getLoc();
  Value fall = constant(b, -slack.coefficientOf(loop_.getInductionVar()));
  Value end = arith::AddIOp::create(b, loc, arith::FloorDivSIOp::create(b, loc, restOf(b, slack), fall), constant(b, 1));
  if (whole_) end = wholeSteps(b, arith::SubIOp::create(b, loc, end, lo_));
  return arith::MinSIOp::create(b, loc, end, hi_);
}

/// slack(i) = rest + rise * i >= 0  <=>  i >= -floor(rest / rise).
Value KnownTrips::beginOf(OpBuilder& b, const AffineBounds& slack) const {
  Location loc = loop_.getLoc();
  Value rise = constant(b, slack.coefficientOf(loop_.getInductionVar()));
  Value begin = arith::SubIOp::create(b, loc, constant(b, 0), arith::FloorDivSIOp::create(b, loc, restOf(b, slack), rise));
  if (whole_) begin = wholeSteps(b, arith::SubIOp::create(b, loc, begin, lo_));
  return arith::MinSIOp::create(b, loc, begin, hi_);
}

Value KnownTrips::always(OpBuilder& b, const AffineBounds& slack) const {
  return arith::CmpIOp::create(b, loop_.getLoc(), arith::CmpIPredicate::sge, restOf(b, slack), constant(b, 0));
}

KnownTrips::Interval KnownTrips::emit(OpBuilder& b) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop_);
  Location loc = loop_.getLoc();
  lo_ = widen(b, loop_.getLowerBound()), hi_ = widen(b, loop_.getUpperBound());
  if (whole_) step_ = widen(b, loop_.getStep());
  Value known = keepsLimits(b);
  for (const AffineBounds& slack : fixed_) {
    Value holds = always(b, slack);
    known = known ? arith::AndIOp::create(b, loc, known, holds).getResult() : holds;
  }
  Value first, last;
  for (const AffineBounds& slack : rising_) {
    Value begin = beginOf(b, slack);
    first = first ? arith::MaxSIOp::create(b, loc, first, begin).getResult() : begin;
  }
  for (const AffineBounds& slack : falling_) {
    Value end = endOf(b, slack);
    last = last ? arith::MinSIOp::create(b, loc, last, end).getResult() : end;
  }
  // One of the ends says that nothing is known.
  if (first && !last && known) first = arith::SelectOp::create(b, loc, known, first, hi_);
  if (!first && !last) last = hi_;
  if (last && known) last = arith::SelectOp::create(b, loc, known, last, lo_);
  if (first) first = arith::MaxSIOp::create(b, loc, first, lo_);
  if (last) last = arith::MaxSIOp::create(b, loc, last, whole_ && first ? first : lo_);
  return {first ? narrow(b, first) : first, last ? narrow(b, last) : last};
}

}  // namespace fattn::transforms
