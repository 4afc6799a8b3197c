// SPDX-License-Identifier: Apache-2.0
#include "compiler/transforms/MaskedTrips.h"

#include "compiler/dialect/Tile.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace fattn::transforms {

using Predicate = arith::CmpIPredicate;

/// Holds where all elements of the comparison are `value`: right - left, or the other way round, minus one for strict comparisons.
static std::optional<AffineCondition> conditionOf(arith::CmpIOp cmp, bool value) {
  AffineCondition result;
  auto left = boundsOf(cmp.getLhs(), result.computed), right = boundsOf(cmp.getRhs(), result.computed);
  if (!left || !right) return std::nullopt;
  Predicate p = value ? cmp.getPredicate() : arith::invertPredicate(cmp.getPredicate());
  bool less = p == Predicate::slt || p == Predicate::sle;
  if (!less && p != Predicate::sgt && p != Predicate::sge) return std::nullopt;
  result.slack = less ? *right : *left;
  if (!result.slack.add(less ? *left : *right, -1)) return std::nullopt;
  if (p == Predicate::slt || p == Predicate::sgt) result.slack.low -= 1;
  return result;
}

bool MaskedTrips::isOutside(const AffineBounds& slack) const {
  return llvm::all_of(slack.terms, [&](auto& t) { return t.first == loop_.getInductionVar() || loop_.isDefinedOutsideOfLoop(t.first); });
}

bool MaskedTrips::isKnownBefore(const AffineCondition& condition) const {
  auto known = [&](const AffineBounds& bounds) { return isOutside(bounds) && bounds.fits(); };
  return !loop_.getUnsignedCmp() && known(condition.slack) &&
         llvm::all_of(condition.computed, [&](const IntegerResult& result) { return known(result.bounds) && result.mostScalar() >= 0; });
}

Slope MaskedTrips::slopeOf(const AffineCondition& condition) const {
  int64_t slope = condition.slack.coefficientOf(loop_.getInductionVar());
  return slope < 0 ? Slope::Falls : slope > 0 ? Slope::Rises : Slope::Stays;
}

bool MaskedTrips::add(arith::CmpIOp cmp, bool value, SmallVectorImpl<Mask>& out) const {
  if (llvm::any_of(out, [&](const Mask& mask) { return mask.cmp == cmp && mask.value == value; })) return true;
  auto known = conditionOf(cmp, value);
  if (!known || !isKnownBefore(*known)) return false;
  out.push_back({cmp, value, std::move(*known)});
  return true;
}

bool MaskedTrips::collect(Value condition, bool value, SmallVectorImpl<Mask>& out) const {
  constexpr size_t kMostMasks = 16;  // a comparison may be reached by exponentially many ways
  Operation* op = condition.getDefiningOp();
  if (!op || out.size() > kMostMasks) return false;
  if (auto cmp = dyn_cast<arith::CmpIOp>(op)) return add(cmp, value, out);
  if (op->hasTrait<tile::MovesElements>()) return collect(op->getOperand(0), value, out);
  if (isa<arith::XOrIOp>(op) && matchPattern(op->getOperand(1), m_One())) return collect(op->getOperand(0), !value, out);
  if (value ? !isa<arith::AndIOp>(op) : !isa<arith::OrIOp>(op)) return false;
  bool left = collect(op->getOperand(0), value, out);
  return collect(op->getOperand(1), value, out) && left;
}

int MaskedTrips::usualness(Value value) const {
  if (matchPattern(value, m_Constant())) return 0;
  return loop_.isDefinedOutsideOfLoop(value) ? 1 : 2;
}

static bool hasElements(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile && tile.getNumElements() > 1;
}

static bool isMask(Value value) { return hasElements(value.getType()) && getElementTypeOrSelf(value.getType()).isInteger(1); }

MaskedTrips::Usual MaskedTrips::collect(arith::SelectOp select, bool& complete) const {
  int whereTrue = usualness(select.getTrueValue()), whereFalse = usualness(select.getFalseValue());
  Usual result{whereTrue >= whereFalse, {}};
  complete = isMask(select.getCondition()) && collect(select.getCondition(), result.side, result.masks);
  auto rises = [&](const Mask& mask) { return slopeOf(mask.known) == Slope::Rises; };
  if (whereTrue != whereFalse || llvm::none_of(result.masks, rises)) return result;
  complete = false;
  return {result.side, {}};
}

std::optional<MaskedTrips::Usual> MaskedTrips::usual(arith::SelectOp select) const {
  bool complete = false;
  Usual result = collect(select, complete);
  bool isTile = llvm::any_of(result.masks, [](Mask& mask) { return hasElements(mask.cmp.getType()); });
  return complete && isTile ? std::optional(result) : std::nullopt;
}

MaskedTrips::Masks MaskedTrips::masks() const {
  Masks result;
  auto add = [&](ArrayRef<Mask> masks) {
    for (Mask mask : masks)
      if (hasElements(mask.cmp.getType()) && llvm::none_of(result, [&](const Mask& other) { return other.cmp == mask.cmp; }))
        result.push_back(mask);
  };
  loop_.walk([&](Operation* op) {
    bool complete = false;
    if (auto select = dyn_cast<arith::SelectOp>(op)) return add(collect(select, complete).masks);
    if (op->hasTrait<tile::MovesElements>() || isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)) return;
    for (Value operand : llvm::make_filter_range(op->getOperands(), isMask)) {
      Masks masks;
      collect(operand, true, masks);
      add(masks);
    }
  });
  return result;
}

SmallVector<MaskedTrips::Check, 0> MaskedTrips::checks() const {
  SmallVector<Check, 0> result;
  loop_.walk([&](Operation* op) {
    if (auto load = dyn_cast<tile::LoadOp>(op)) collectChecks(load, load.getPtr(), load.getBoundaryCheck(), result);
    if (auto store = dyn_cast<tile::StoreOp>(op)) collectChecks(store, store.getPtr(), store.getBoundaryCheck(), result);
    if (auto add = dyn_cast<tile::AccumulateOp>(op)) collectChecks(add, add.getPtr(), add.getBoundaryCheck(), result);
  });
  return result;
}

void MaskedTrips::collectChecks(Operation* access, Value ptr, ArrayRef<int64_t> dims, SmallVectorImpl<Check>& out) const {
  auto advance = ptr.getDefiningOp<tile::AdvanceOp>();
  auto window = (advance ? advance.getPtr() : ptr).getDefiningOp<tile::MakeBlockPtrOp>();
  if (!window) return;
  for (int64_t d : dims) {
    AffineCondition above, below;  // the first element is not before the array, the last one not behind it
    auto offset = boundsOf(window.getOffsets()[static_cast<unsigned>(d)], above.computed);
    auto delta = advance ? boundsOf(advance.getDeltas()[static_cast<unsigned>(d)], above.computed) : AffineBounds();
    below.computed = above.computed;
    auto slack = boundsOf(window.getShape()[static_cast<unsigned>(d)], below.computed);
    if (!offset || !slack || !delta || !offset->add(*delta, 1) || !slack->add(*offset, -1)) continue;
    slack->low -= window.getResult().getType().getShape()[static_cast<unsigned>(d)];
    above.slack = *offset, below.slack = *slack;
    if (slopeOf(below) == Slope::Stays || !isKnownBefore(below) || !isKnownBefore(above)) continue;
    Check check{access, d, {below}};
    if (!neverNegative(*offset)) check.inside.push_back(above);
    out.push_back(std::move(check));
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

}  // namespace fattn::transforms
