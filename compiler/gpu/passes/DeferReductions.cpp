// SPDX-License-Identifier: Apache-2.0
// Reductions that a loop only adds up leave each thread its own part, and the parts meet once, behind the loop:
//
//   scf.for iter_args(%l = %zero) {                        scf.for iter_args(%l = %zeros) {            [64 x 4]: 4 lanes hold a row
//     %r = tile.reduce %p axis 1 {add}                       %r = tile.reduce (reshape %p) axis 2 {add}      within threads
//     %s = arith.mulf %l, %alpha                    =>       %s = arith.mulf %l, (broadcast %alpha)
//     %n = arith.addf %s, %r                                 %n = arith.addf %s, %r
//     scf.yield %n                                           scf.yield %n
//   }                                                      }
//                                                          %total = tile.reduce %loop axis 1 {add}
//
// So shuffles, and what crosses warps through shared memory, run once and not in every trip; the parts take as many registers as the sums
// did. The carried value and everything in the loop that is computed from it become parts: sums of them (or minima and maxima, whatever the
// reductions combine with), for sums products with what is the same for all parts of a line, selections between them, results of branches
// and of tile.select_lazy. Sums take their order from the compiler (docs/language.md).
//
// One other use is allowed: a sum that is compared with a constant for the condition of a select_lazy, not (sum < c). All parts below c /
// parts, which a power of two divides exactly, give a sum below c, also rounded; NaN is below nothing. So the condition becomes that some
// part is not below c / parts. It holds wherever the old one does, and where it holds besides, either side is right.
//
// Assumptions: A1 threads hold whole parts, none depends on registers and threads together; A2 all reductions are spread alike and leave
// their results where the sums are; A3 parts of conditions are in one warp; A4 sums begin with zero. Otherwise the loop stays as it is.
// Test: tests/lit/gpu/defer-reductions.mlir.
#include "compiler/gpu/passes/LanePartials.h"
#include "compiler/gpu/passes/Passes.h"
#include "fattn/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

bool isSum(OperationName name) { return name.getStringRef() == "arith.addf" || name.getStringRef() == "arith.addi"; }
/// Combining an element with itself changes nothing.
bool isIdempotent(OperationName name) {
  static constexpr llvm::StringLiteral kNames[] = {"arith.maxnumf", "arith.maximumf", "arith.minnumf", "arith.minimumf", "arith.maxsi",
                                                   "arith.minsi",   "arith.maxui",    "arith.minui",   "arith.andi",     "arith.ori"};
  return llvm::is_contained(kNames, name.getStringRef());
}

/// not (sum < c), as a select_lazy asks for it.
struct LazyCondition {
  arith::CmpFOp cmp;
  Operation* negation;  ///< null where the comparison is one of not being below
};

/// A carried value and what is computed from it.
class Deferral {
 public:
  Deferral(scf::ForOp loop, unsigned index, LayoutPool& pool) : loop_(loop), index_(index), pool_(pool) {}

  /// Changes nothing where this is false.
  bool run() {
    arg_ = loop_.getRegionIterArg(index_);
    sumType_ = dyn_cast<RankedTensorType>(arg_.getType());
    if (!sumType_ || !layoutOf(sumType_) || !findReductions() || !collect() || !check()) return false;
    rewrite();
    return true;
  }

 private:
  // What becomes parts.
  bool findReductions();
  bool collect();
  bool push(Value v);
  bool source(OpOperand& operand);
  bool visitDefinition(Value v);
  bool visitUse(OpOperand& use);
  bool visitArithmetic(Operation* op, OpOperand* use);
  bool visitFactors(Operation* op);
  bool visitYield(OpOperand& use);
  bool lazyCondition(arith::CmpFOp cmp);
  bool isInside(Operation* op) const;
  bool check();

  // The change.
  void rewrite();
  void rewriteOperands(Operation* op);
  void rewriteCondition(const LazyCondition& condition);
  Value repeated(OpBuilder& b, Value value);
  Value constantLike(OpBuilder& b, Value constant, Type element);

  scf::ForOp loop_;
  unsigned index_;
  LayoutPool& pool_;
  Value arg_;
  RankedTensorType sumType_;
  std::optional<OperationName> name_;        ///< of the combination
  SmallVector<tile::ReduceOp> reductions_;   ///< that may become parts
  llvm::SetVector<Value> parts_;             ///< sums that do
  llvm::SetVector<Operation*> operations_;   ///< that compute these, with operands that are the same for all parts
  llvm::SetVector<tile::ReduceOp> reduced_;  ///< of `parts_`
  SmallVector<OpOperand*> neutral_;          ///< constants that stand for parts
  SmallVector<LazyCondition> conditions_;
  std::optional<LanePartials> partials_;
  RankedTensorType type_;  ///< of the parts
};

/// The loop is the innermost around the operation, apart from branches.
bool Deferral::isInside(Operation* op) const {
  for (Operation* parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
    if (parent == loop_) return true;
    if (!isa<scf::IfOp, tile::SelectLazyOp>(parent)) return false;
  }
  return false;
}

/// The combination that the carried value is next computed with decides what is looked for.
bool Deferral::findReductions() {
  loop_.getBody()->walk([&](tile::ReduceOp reduce) {
    Operation* combination = combinationOf(reduce);
    if (combination && isInside(reduce) && reduce.getResult(0).getType() == sumType_) reductions_.push_back(reduce);
  });
  return !reductions_.empty();
}

bool Deferral::collect() {
  if (!push(arg_) || !source((*loop_.getYieldedValuesMutable())[index_])) return false;
  for (size_t i = 0; i < parts_.size(); ++i) {
    Value v = parts_[i];
    if (!visitDefinition(v)) return false;
    for (OpOperand& use : v.getUses())
      if (!visitUse(use)) return false;
  }
  return name_ && !reduced_.empty();
}

bool Deferral::push(Value v) {
  if (v.getType() != sumType_) return false;
  parts_.insert(v);
  return true;
}

/// An operand that has to be parts.
bool Deferral::source(OpOperand& operand) {
  Value v = operand.get();
  if (v.getType() != sumType_) return false;
  if (matchPattern(v, m_Constant())) {
    if (!llvm::is_contained(neutral_, &operand)) neutral_.push_back(&operand);
    return true;
  }
  if (v != arg_ && (!v.getDefiningOp() || !isInside(v.getDefiningOp()))) return false;
  return push(v);
}

bool Deferral::visitDefinition(Value v) {
  if (v == arg_) return true;
  auto result = cast<OpResult>(v);
  Operation* op = result.getOwner();
  if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    if (!llvm::is_contained(reductions_, reduce)) return false;
    OperationName name = combinationOf(reduce)->getName();
    if (name_ && *name_ != name) return false;
    name_ = name;
    reduced_.insert(reduce);
    return true;
  }
  auto yields = [&](Region& region) { return source(region.front().getTerminator()->getOpOperand(result.getResultNumber())); };
  if (auto lazy = dyn_cast<tile::SelectLazyOp>(op))
    return source(lazy.getUsualMutable()[result.getResultNumber()]) && yields(lazy.getExact());
  if (auto branch = dyn_cast<scf::IfOp>(op)) return yields(branch.getThenRegion()) && yields(branch.getElseRegion());
  return visitArithmetic(op, nullptr);
}

/// An operation that gives parts; `use` is the operand that is known to be.
bool Deferral::visitArithmetic(Operation* op, OpOperand* use) {
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
bool Deferral::visitFactors(Operation* op) {
  Value a = op->getOperand(0), b = op->getOperand(1);
  if (parts_.contains(a) || parts_.contains(b)) return true;
  auto isReduction = [&](Value v) { return llvm::is_contained(reductions_, v.getDefiningOp<tile::ReduceOp>()); };
  if (isReduction(a)) return push(a);
  return !isReduction(b) || push(b);
}

bool Deferral::visitUse(OpOperand& use) {
  Operation* op = use.getOwner();
  if (!isInside(op)) return false;
  if (isa<scf::YieldOp, tile::YieldOp>(op)) return visitYield(use);
  if (auto lazy = dyn_cast<tile::SelectLazyOp>(op)) return use.getOperandNumber() != 0 && push(lazy.getResult(use.getOperandNumber() - 1));
  if (auto cmp = dyn_cast<arith::CmpFOp>(op)) return use.getOperandNumber() == 0 && lazyCondition(cmp);
  if (op->getNumResults() != 1 || op->getResult(0).getType() != sumType_) return false;
  return visitArithmetic(op, &use) && push(op->getResult(0));
}

bool Deferral::visitYield(OpOperand& use) {
  Operation* parent = use.getOwner()->getParentOp();
  if (parent == loop_) return use.getOperandNumber() == index_;
  return !isa<tile::ReduceOp>(parent) && push(parent->getResult(use.getOperandNumber()));
}

/// Whether this is one that a select_lazy asks, and nothing else.
bool Deferral::lazyCondition(arith::CmpFOp cmp) {
  using P = arith::CmpFPredicate;
  P p = cmp.getPredicate();
  if (sumType_.getRank() != 1 || !matchPattern(cmp.getRhs(), m_Constant())) return false;
  LazyCondition condition{cmp, nullptr};
  Value asked = cmp.getResult();
  if (p == P::OLT || p == P::OLE) {
    auto negation = cmp->hasOneUse() ? dyn_cast<arith::XOrIOp>(*cmp->user_begin()) : arith::XOrIOp();
    if (!negation || negation.getLhs() != cmp.getResult() || !matchPattern(negation.getRhs(), m_One())) return false;
    condition.negation = negation;
    asked = negation.getResult();
  } else if (p != P::UGE && p != P::UGT) {
    return false;
  }
  conditions_.push_back(condition);
  return llvm::all_of(asked.getUses(),
                      [](OpOperand& use) { return isa<tile::SelectLazyOp>(use.getOwner()) && use.getOperandNumber() == 0; });
}

/// The constant divided by the number of parts, which is a power of two; nothing where that is not exact.
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

bool Deferral::check() {
  // Constants may stand for parts that combine to them: zeros of sums, anything of what is idempotent.
  auto isNeutral = [&](Value v) { return isIdempotent(*name_) || matchPattern(v, m_AnyZeroFloat()) || matchPattern(v, m_Zero()); };
  if (!isSum(*name_) && !isIdempotent(*name_)) return false;
  if (!isNeutral(loop_.getInitArgs()[index_]) || !llvm::all_of(neutral_, [&](OpOperand* use) { return isNeutral(use->get()); }))
    return false;
  for (Operation* op : operations_) {
    if (isa<arith::SelectOp>(op) && parts_.contains(op->getOperand(0))) return false;
    if (!isa<arith::MulFOp, arith::MulIOp, math::FmaOp>(op)) continue;
    if (!isSum(*name_) || parts_.contains(op->getOperand(0)) == parts_.contains(op->getOperand(1))) return false;
  }
  for (tile::ReduceOp reduce : reduced_) {
    std::optional<LanePartials> partials = LanePartials::of(reduce, pool_);
    if (!partials || (partials_ && partials->type() != type_) || partials->lines() != pool_.number(*layoutOf(sumType_))) return false;
    type_ = partials->type();
    partials_ = std::move(partials);
  }
  if (!conditions_.empty() && !partials_->inOneWarp()) return false;
  if (!llvm::all_of(conditions_, [&](LazyCondition& c) { return shareOf(c.cmp.getRhs(), partials_->parts()).has_value(); })) return false;
  return isSum(*name_) || conditions_.empty();
}

Value Deferral::repeated(OpBuilder& b, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return repeatForParts(b, value, RankedTensorType::get(type_.getShape(), type.getElementType(), type_.getEncoding()), pool_);
}

Value Deferral::constantLike(OpBuilder& b, Value constant, Type element) {
  Attribute attr;
  auto type = RankedTensorType::get(type_.getShape(), element, type_.getEncoding());
  if (matchPattern(constant, m_Constant(&attr)))
    if (auto dense = dyn_cast<DenseElementsAttr>(attr); dense && dense.isSplat())
      return arith::ConstantOp::create(b, constant.getLoc(), dense.resizeSplat(type));
  return repeated(b, constant);
}

void Deferral::rewriteOperands(Operation* op) {
  OpBuilder b(op);
  for (OpOperand& operand : op->getOpOperands()) {
    if (parts_.contains(operand.get()) || llvm::is_contained(neutral_, &operand)) continue;
    if (isa<RankedTensorType>(operand.get().getType()))
      operand.set(constantLike(b, operand.get(), cast<RankedTensorType>(operand.get().getType()).getElementType()));
  }
}

void Deferral::rewriteCondition(const LazyCondition& condition) {
  arith::CmpFOp cmp = condition.cmp;
  OpBuilder b(cmp);
  auto type = cast<RankedTensorType>(cmp.getType());
  auto parts = RankedTensorType::get(type_.getShape(), type.getElementType(), type_.getEncoding());
  APFloat share = *shareOf(cmp.getRhs(), partials_->parts());
  cmp.getRhsMutable().assign(arith::ConstantOp::create(b, cmp.getLoc(), DenseElementsAttr::get(type_, share)));
  cmp.getResult().setType(parts);
  Value asked = cmp.getResult();
  if (Operation* negation = condition.negation) {
    Value yes = arith::ConstantOp::create(b, cmp.getLoc(), DenseElementsAttr::get(parts, true));
    negation->setOperand(1, yes);
    asked = negation->getResult(0);
    asked.setType(parts);
  }
  b.setInsertionPointAfterValue(asked);
  auto any = tile::ReduceOp::create(b, cmp.getLoc(), ValueRange(asked), type_.getRank() - 1,
                                    [](OpBuilder& inner, Location loc, ValueRange left, ValueRange right) {
                                      Value either = arith::OrIOp::create(inner, loc, left[0], right[0]);
                                      tile::YieldOp::create(inner, loc, either);
                                    });
  any.getResult(0).setType(type);
  asked.replaceAllUsesExcept(any.getResult(0), any);
}

void Deferral::rewrite() {
  OpBuilder b(loop_);
  Value init = loop_.getInitArgs()[index_], total = loop_.getResult(index_);
  tile::ReduceOp like = reduced_.front();
  loop_.getInitArgsMutable()[index_].assign(constantLike(b, init, sumType_.getElementType()));
  b.setInsertionPointAfter(loop_);
  RankedTensorType type = sumType_;
  total.setType(type_);
  Value sum = combineParts(b, total, like, type);
  total.replaceAllUsesExcept(sum, sum.getDefiningOp());
  for (OpOperand* use : neutral_) {
    b.setInsertionPoint(use->getOwner());
    use->set(constantLike(b, use->get(), type.getElementType()));
  }
  for (Operation* op : operations_) rewriteOperands(op);
  for (const LazyCondition& condition : conditions_) rewriteCondition(condition);
  for (Value v : parts_)
    if (!v.getDefiningOp<tile::ReduceOp>()) v.setType(type_);
  for (tile::ReduceOp reduce : reduced_) {
    b.setInsertionPoint(reduce);
    reduce.getResult(0).replaceAllUsesWith(LanePartials::of(reduce, pool_)->emit(b, reduce));
    reduce.erase();
  }
}

class DeferReductionsPass : public PassWrapper<DeferReductionsPass, OperationPass<ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DeferReductionsPass)
  StringRef getArgument() const override { return "tilegpu-defer-reductions"; }
  StringRef getDescription() const override { return "Combine what threads have of sums behind the loop that adds them up"; }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal()) continue;
      try {
        LayoutPool pool(targetOf(function), warpsOf(function));
        function.walk([&](scf::ForOp loop) {
          for (unsigned i = 0; i < loop.getNumResults(); ++i) Deferral(loop, i, pool).run();
        });
      } catch (const Error& error) {
        function.emitError() << error.what();
        return signalPassFailure();
      }
    }
  }
};

}  // namespace

std::unique_ptr<Pass> createDeferReductionsPass() { return std::make_unique<DeferReductionsPass>(); }

}  // namespace fattn::tilegpu
