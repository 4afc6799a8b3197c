// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/loops/CarriedParts.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::tilegpu {

static bool isSum(OperationName name) { return name.getStringRef() == "arith.addf" || name.getStringRef() == "arith.addi"; }
/// Combining an element with itself changes nothing.
static bool isIdempotent(OperationName name) {
  static constexpr llvm::StringLiteral kNames[] = {"arith.maxnumf", "arith.maximumf", "arith.minnumf", "arith.minimumf", "arith.maxsi",
                                                   "arith.minsi",   "arith.maxui",    "arith.minui",   "arith.andi",     "arith.ori"};
  return llvm::is_contained(kNames, name.getStringRef());
}

/// The loop is the innermost around the operation, apart from branches.
bool CarriedParts::isInside(Operation* op) const {
  for (Operation* parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
    if (parent == loop_) return true;
    if (!isa<scf::IfOp, tile::SelectLazyOp>(parent)) return false;
  }
  return false;
}

bool CarriedParts::find() {
  arg_ = loop_.getRegionIterArg(index_);
  sumType_ = dyn_cast<RankedTensorType>(arg_.getType());
  if (!sumType_ || !layoutOf(sumType_)) return false;
  findCandidates();
  return !candidates_.empty() && collect() && check();
}

void CarriedParts::findCandidates() {
  loop_.getBody()->walk([&](tile::ReduceOp reduce) {
    if (combinationOf(reduce) && isInside(reduce) && reduce.getResult(0).getType() == sumType_) candidates_.push_back(reduce);
  });
}

bool CarriedParts::collect() {
  if (!push(arg_) || !source((*loop_.getYieldedValuesMutable())[index_])) return false;
  for (size_t i = 0; i < values_.size(); ++i) {
    Value v = values_[i];
    if (!visitDefinition(v)) return false;
    for (OpOperand& use : v.getUses())
      if (!visitUse(use)) return false;
  }
  return name_ && !reductions_.empty();
}

bool CarriedParts::push(Value v) {
  if (v.getType() != sumType_) return false;
  values_.insert(v);
  return true;
}

/// An operand that has to be parts.
bool CarriedParts::source(OpOperand& operand) {
  Value v = operand.get();
  if (v.getType() != sumType_) return false;
  if (matchPattern(v, m_Constant())) {
    if (!llvm::is_contained(constants_, &operand)) constants_.push_back(&operand);
    return true;
  }
  if (v != arg_ && (!v.getDefiningOp() || !isInside(v.getDefiningOp()))) return false;
  return push(v);
}

bool CarriedParts::visitDefinition(Value v) {
  if (v == arg_) return true;
  auto result = cast<OpResult>(v);
  Operation* op = result.getOwner();
  if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    if (!llvm::is_contained(candidates_, reduce)) return false;
    OperationName name = combinationOf(reduce)->getName();
    if (name_ && *name_ != name) return false;
    name_ = name;
    reductions_.insert(reduce);
    return true;
  }
  auto yields = [&](Region& region) { return source(region.front().getTerminator()->getOpOperand(result.getResultNumber())); };
  if (auto lazy = dyn_cast<tile::SelectLazyOp>(op))
    return source(lazy.getUsualMutable()[result.getResultNumber()]) && yields(lazy.getExact());
  if (auto branch = dyn_cast<scf::IfOp>(op)) return yields(branch.getThenRegion()) && yields(branch.getElseRegion());
  return visitArithmetic(op, nullptr);
}

/// An operation that gives parts; `use` is the operand that is known to be.
bool CarriedParts::visitArithmetic(Operation* op, OpOperand* use) {
  operations_.insert(op);
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return (!use || use->getOperandNumber() != 0) && source(select.getTrueValueMutable()) && source(select.getFalseValueMutable());
  if (isa<math::FmaOp>(op)) return source(op->getOpOperand(2)) && visitFactors(op);
  if (isa<arith::MulFOp, arith::MulIOp>(op)) return visitFactors(op);
  bool combines = op->getNumOperands() == 2 && op->getNumResults() == 1 && (isSum(op->getName()) || isIdempotent(op->getName()));
  if (!combines || (name_ && *name_ != op->getName())) return false;
  name_ = op->getName();
  return source(op->getOpOperand(0)) && source(op->getOpOperand(1));
}

/// One factor is parts: one that is known to be, or a reduction. Whether the other one is not is seen at the end.
bool CarriedParts::visitFactors(Operation* op) {
  Value a = op->getOperand(0), b = op->getOperand(1);
  if (values_.contains(a) || values_.contains(b)) return true;
  auto isReduction = [&](Value v) { return llvm::is_contained(candidates_, v.getDefiningOp<tile::ReduceOp>()); };
  if (isReduction(a)) return push(a);
  return !isReduction(b) || push(b);
}

bool CarriedParts::visitUse(OpOperand& use) {
  Operation* op = use.getOwner();
  if (!isInside(op)) return false;
  if (isa<scf::YieldOp, tile::YieldOp>(op)) return visitYield(use);
  if (auto lazy = dyn_cast<tile::SelectLazyOp>(op)) return use.getOperandNumber() != 0 && push(lazy.getResult(use.getOperandNumber() - 1));
  if (auto cmp = dyn_cast<arith::CmpFOp>(op)) return use.getOperandNumber() == 0 && lazyCondition(cmp);
  if (op->getNumResults() != 1 || op->getResult(0).getType() != sumType_) return false;
  return visitArithmetic(op, &use) && push(op->getResult(0));
}

bool CarriedParts::visitYield(OpOperand& use) {
  Operation* parent = use.getOwner()->getParentOp();
  if (parent == loop_) return use.getOperandNumber() == index_;
  return !isa<tile::ReduceOp>(parent) && push(parent->getResult(use.getOperandNumber()));
}

/// Whether this is one that a select_lazy asks, and nothing else.
bool CarriedParts::lazyCondition(arith::CmpFOp cmp) {
  std::optional<SumCondition> condition = sumType_.getRank() == 1 ? sumConditionOf(cmp) : std::nullopt;
  if (!condition) return false;
  conditions_.push_back({*condition, APFloat(0.0)});
  return llvm::all_of(condition->asked.getUses(),
                      [](OpOperand& use) { return isa<tile::SelectLazyOp>(use.getOwner()) && use.getOperandNumber() == 0; });
}

bool CarriedParts::isNeutral(Value constant) const {
  return isIdempotent(*name_) || matchPattern(constant, m_AnyZeroFloat()) || matchPattern(constant, m_Zero());
}

/// One factor of a product is parts, the other is the same for all of them.
bool CarriedParts::scalesRightly(Operation* op) const {
  if (!isa<arith::MulFOp, arith::MulIOp, math::FmaOp>(op)) return true;
  return isSum(*name_) && values_.contains(op->getOperand(0)) != values_.contains(op->getOperand(1));
}

bool CarriedParts::check() {
  if (!isSum(*name_) && !isIdempotent(*name_)) return false;
  if (!isNeutral(loop_.getInitArgs()[index_]) || !llvm::all_of(constants_, [&](OpOperand* use) { return isNeutral(use->get()); }))
    return false;
  if (!llvm::all_of(operations_, [&](Operation* op) { return scalesRightly(op); })) return false;
  for (tile::ReduceOp reduce : reductions_) {
    std::optional<LanePartials> partials = LanePartials::of(reduce, pool_);
    if (!partials || (partials_ && partials->type() != partials_->type())) return false;
    if (partials->lines() != pool_.number(*layoutOf(sumType_))) return false;
    partials_ = std::move(partials);
  }
  return conditions_.empty() || checkConditions();
}

bool CarriedParts::checkConditions() {
  if (!isSum(*name_) || !partials_->inOneWarp()) return false;
  for (LazyCondition& condition : conditions_) {
    std::optional<APFloat> share = shareOf(condition.condition.cmp.getRhs(), partials_->parts());
    if (!share) return false;
    condition.share = *share;
  }
  return true;
}

}  // namespace fattn::tilegpu
