// SPDX-License-Identifier: Apache-2.0
// All parts below c / parts, which a power of two divides exactly, give a sum below c, also rounded; NaN is below nothing. So not (sum < c)
// becomes that some part is not below c / parts. It holds wherever the old condition does, and where it holds besides, either side of a
// select_lazy is right. As conjunctions and disjunctions keep that, what a select_lazy asks is computed for each part, and the parts meet
// where the warp votes:
//
//   %s = tile.reduce %x axis 1 {add}                       %s = tile.reduce (reshape %x) axis 2 {add}      within threads
//   %c = not (%s < 8.0)                                    %c = not (%s < 2.0)                             [64 x 4]: 4 lanes hold a row
//   %a = andi %c, %r                                =>     %a = andi %c, (broadcast %r)
//   select_lazy %a                                         select_lazy (tile.reduce %a axis 1 {or})
#include "compiler/gpu/passes/lazy/SumConditions.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::tilegpu {

std::optional<SumCondition> sumConditionOf(arith::CmpFOp cmp) {
  using P = arith::CmpFPredicate;
  const P p = cmp.getPredicate();
  if (!matchPattern(cmp.getRhs(), m_Constant())) return std::nullopt;
  if (p == P::UGE || p == P::UGT) return SumCondition{cmp, nullptr, cmp.getResult()};
  if (p != P::OLT && p != P::OLE) return std::nullopt;
  auto negation = cmp->hasOneUse() ? dyn_cast<arith::XOrIOp>(*cmp->user_begin()) : arith::XOrIOp();
  if (!negation || negation.getLhs() != cmp.getResult() || !matchPattern(negation.getRhs(), m_One())) return std::nullopt;
  return SumCondition{cmp, negation, negation.getResult()};
}

std::optional<APFloat> shareOf(Value constant, int64_t parts) {
  DenseFPElementsAttr attr;
  if (!matchPattern(constant, m_Constant(&attr)) || !attr.isSplat() || !llvm::isPowerOf2_64(static_cast<uint64_t>(parts)))
    return std::nullopt;
  auto value = attr.getSplatValue<APFloat>();
  auto exponent = static_cast<int>(llvm::Log2_64(static_cast<uint64_t>(parts)));
  APFloat share = scalbn(value, -exponent, APFloat::rmNearestTiesToEven);
  bool exact = value.isFinite() && !share.isDenormal() && scalbn(share, exponent, APFloat::rmNearestTiesToEven).bitwiseIsEqual(value);
  return exact ? std::optional(share) : std::nullopt;
}

static RankedTensorType withElement(RankedTensorType type, Type element) {
  return RankedTensorType::get(type.getShape(), element, type.getEncoding());
}

void compareParts(const SumCondition& condition, RankedTensorType parts, const APFloat& share) {
  arith::CmpFOp cmp = condition.cmp;
  OpBuilder b(cmp);
  RankedTensorType truths = withElement(parts, b.getI1Type());
  cmp.getRhsMutable().assign(arith::ConstantOp::create(b, cmp.getLoc(), DenseElementsAttr::get(parts, share)));
  cmp.getResult().setType(truths);
  if (Operation* negation = condition.negation) {
    negation->setOperand(1, arith::ConstantOp::create(b, cmp.getLoc(), DenseElementsAttr::get(truths, true)));
    negation->getResult(0).setType(truths);
  }
}

Value anyPart(OpBuilder& b, Value parts, RankedTensorType row) {
  auto either = [](OpBuilder& inner, Location loc, ValueRange left, ValueRange right) {
    Value one = arith::OrIOp::create(inner, loc, left[0], right[0]);
    tile::YieldOp::create(inner, loc, one);
  };
  const int64_t last = cast<RankedTensorType>(parts.getType()).getRank() - 1;
  Value any = tile::ReduceOp::create(b, parts.getLoc(), ValueRange(parts), last, either).getResult(0);
  any.setType(row);
  return any;
}

namespace {

/// What a select_lazy asks: conjunctions and disjunctions of sums' conditions and others.
class AskedTree {
 public:
  AskedTree(tile::SelectLazyOp lazy, LayoutPool& pool) : lazy_(lazy), pool_(pool) {}

  /// Changes nothing. False where there is no sum in parts.
  bool find() {
    Value root = lazy_.getCondition();
    type_ = dyn_cast<RankedTensorType>(root.getType());
    if (!type_ || type_.getRank() != 1 || !layoutOf(type_)) return false;
    visit(lazy_.getConditionMutable());
    return !sums_.empty();
  }

  void rewrite() {
    const RankedTensorType truths = withElement(parts_, type_.getElementType());
    for (OpOperand* other : others_) {
      OpBuilder b(other->getOwner());
      other->set(repeatForParts(b, other->get(), truths, pool_));
    }
    for (Sum& sum : sums_) {
      auto reduce = sum.condition.cmp.getLhs().getDefiningOp<tile::ReduceOp>();
      OpBuilder b(reduce);
      sum.condition.cmp.getLhsMutable().assign(LanePartials::of(reduce, pool_)->emit(b, reduce));
      compareParts(sum.condition, parts_, sum.share);
      reduce.erase();
    }
    for (Operation* node : nodes_) node->getResult(0).setType(truths);
    OpBuilder b(lazy_);
    lazy_.getConditionMutable().assign(anyPart(b, lazy_.getCondition(), type_));
  }

 private:
  struct Sum {
    SumCondition condition;
    APFloat share;
  };

  void visit(OpOperand& operand) {
    Value value = operand.get();
    Operation* op = value.getDefiningOp();
    if (op && value.hasOneUse() && isa<arith::OrIOp, arith::AndIOp>(op)) {
      nodes_.push_back(op);
      for (OpOperand& further : op->getOpOperands()) visit(further);
    } else if (!op || !value.hasOneUse() || !addSum(value)) {
      others_.push_back(&operand);
    }
  }

  bool addSum(Value value) {
    Operation* op = value.getDefiningOp();
    auto cmp = dyn_cast<arith::CmpFOp>(isa<arith::XOrIOp>(op) ? op->getOperand(0).getDefiningOp() : op);
    std::optional<SumCondition> condition = cmp ? sumConditionOf(cmp) : std::nullopt;
    if (!condition || condition->asked != value) return false;
    auto reduce = cmp.getLhs().getDefiningOp<tile::ReduceOp>();
    if (!reduce || !reduce->hasOneUse() || !isa_and_nonnull<arith::AddFOp>(combinationOf(reduce))) return false;
    std::optional<LanePartials> partials = LanePartials::of(reduce, pool_);
    if (!partials || !partials->inOneWarp() || partials->lines() != pool_.number(*layoutOf(type_))) return false;
    if (parts_ && parts_ != partials->type()) return false;
    std::optional<APFloat> share = shareOf(cmp.getRhs(), partials->parts());
    if (!share) return false;
    parts_ = partials->type();
    sums_.push_back({*condition, *share});
    return true;
  }

  tile::SelectLazyOp lazy_;
  LayoutPool& pool_;
  RankedTensorType type_, parts_;
  SmallVector<Operation*> nodes_;
  SmallVector<OpOperand*> others_;
  SmallVector<Sum> sums_;
};

}  // namespace

void askParts(tile::SelectLazyOp lazy, LayoutPool& pool) {
  AskedTree tree(lazy, pool);
  if (tree.find()) tree.rewrite();
}

}  // namespace fattn::tilegpu
