// SPDX-License-Identifier: Apache-2.0
// Folders and canonicalization patterns of the `tile` operations.
#include "compiler/dialect/Tile.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace fattn::tile {

/// A splat constant of another shape, or nothing.
static OpFoldResult reshapeSplat(Attribute constant, RankedTensorType type) {
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(constant)) return splat.resizeSplat(type);
  return {};
}

/// A dense constant with the same elements in row-major order.
static OpFoldResult reshapeDense(Attribute constant, RankedTensorType type) {
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(constant)) return dense.reshape(type);
  return {};
}

//===-- Pointers ------------------------------------------------------------------------------------------------===//

OpFoldResult AdvanceOp::fold(FoldAdaptor) {
  if (llvm::all_of(getDeltas(), [](Value delta) { return matchPattern(delta, m_Zero()); })) return getPtr();
  return {};
}

OpFoldResult AddPtrOp::fold(FoldAdaptor) { return matchPattern(getOffset(), m_Zero()) ? getPtr() : Value(); }

namespace {

/// advance(advance(p, a), b) -> advance(p, a + b)
struct FoldAdvanceOfAdvance : OpRewritePattern<AdvanceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AdvanceOp op, PatternRewriter& rewriter) const override {
    auto inner = op.getPtr().getDefiningOp<AdvanceOp>();
    if (!inner) return failure();
    SmallVector<Value> deltas;
    for (auto [a, b] : llvm::zip_equal(inner.getDeltas(), op.getDeltas()))
      deltas.push_back(rewriter.createOrFold<arith::AddIOp>(op.getLoc(), a, b));
    rewriter.replaceOpWithNewOp<AdvanceOp>(op, inner.getPtr(), deltas);
    return success();
  }
};

/// An op that only rearranges elements, applied to a splat, is a splat.
template <typename Op>
struct RearrangeOfSplat : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    auto splat = op.getInput().template getDefiningOp<SplatOp>();
    if (!splat) return failure();
    rewriter.replaceOpWithNewOp<SplatOp>(op, op.getType(), splat.getInput());
    return success();
  }
};

/// op(op(x)) -> op(x) where the result type says everything: broadcast, reshape.
template <typename Op>
struct MergePair : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    auto inner = op.getInput().template getDefiningOp<Op>();
    if (!inner) return failure();
    rewriter.replaceOpWithNewOp<Op>(op, op.getType(), inner.getInput());
    return success();
  }
};

/// trans(trans(x, p), q) -> trans(x, p o q)
struct MergeTrans : OpRewritePattern<TransOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransOp op, PatternRewriter& rewriter) const override {
    auto inner = op.getInput().getDefiningOp<TransOp>();
    if (!inner) return failure();
    SmallVector<int64_t> composed = llvm::map_to_vector(op.getPermutation(), [&](int64_t d) { return inner.getPermutation()[d]; });
    rewriter.replaceOpWithNewOp<TransOp>(op, inner.getInput(), composed);
    return success();
  }
};

/// Reducing a dimension of size 1 only drops it.
struct ReduceOfOne : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter& rewriter) const override {
    if (cast<RankedTensorType>(op.getInputs()[0].getType()).getDimSize(op.getAxis()) != 1) return failure();
    SmallVector<Value> results;
    for (auto [input, type] : llvm::zip_equal(op.getInputs(), op.getResultTypes()))
      results.push_back(ReshapeOp::create(rewriter, op.getLoc(), type, input));
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// max(x, 1) > 0 holds: a loop up to such a bound runs at least once.
struct CompareLargerOne : OpRewritePattern<arith::CmpIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::CmpIOp op, PatternRewriter& rewriter) const override {
    APInt least, other;
    auto larger = op.getLhs().getDefiningOp<arith::MaxSIOp>();
    if (!larger || !matchPattern(larger.getRhs(), m_ConstantInt(&least)) || !matchPattern(op.getRhs(), m_ConstantInt(&other)))
      return failure();
    using Predicate = arith::CmpIPredicate;
    const Predicate predicate = op.getPredicate();
    const bool strict = predicate == Predicate::sgt || predicate == Predicate::sle;
    if (!strict && predicate != Predicate::sge && predicate != Predicate::slt) return failure();
    if (strict ? !least.sgt(other) : !least.sge(other)) return failure();
    const bool holds = predicate == Predicate::sgt || predicate == Predicate::sge;
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, rewriter.getBoolAttr(holds));
    return success();
  }
};

}  // namespace

void TileDialect::getCanonicalizationPatterns(RewritePatternSet& set) const { set.add<CompareLargerOne>(getContext()); }
void AdvanceOp::getCanonicalizationPatterns(RewritePatternSet& set, MLIRContext* context) { set.add<FoldAdvanceOfAdvance>(context); }
void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet& set, MLIRContext* context) {
  set.add<RearrangeOfSplat<BroadcastOp>, MergePair<BroadcastOp>>(context);
}
void ExpandDimsOp::getCanonicalizationPatterns(RewritePatternSet& set, MLIRContext* context) {
  set.add<RearrangeOfSplat<ExpandDimsOp>>(context);
}
void TransOp::getCanonicalizationPatterns(RewritePatternSet& set, MLIRContext* context) {
  set.add<RearrangeOfSplat<TransOp>, MergeTrans>(context);
}
void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet& set, MLIRContext* context) {
  set.add<RearrangeOfSplat<ReshapeOp>, MergePair<ReshapeOp>>(context);
}
void ReduceOp::getCanonicalizationPatterns(RewritePatternSet& set, MLIRContext* context) { set.add<ReduceOfOne>(context); }

//===-- Shape ---------------------------------------------------------------------------------------------------===//

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType()) return getInput();
  Attribute input = adaptor.getInput();
  if (isa_and_nonnull<IntegerAttr, FloatAttr>(input)) return DenseElementsAttr::get(getType(), input);
  return reshapeSplat(input, getType());
}

OpFoldResult UnsplatOp::fold(FoldAdaptor adaptor) {
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getInput())) return dense.getSplatValue<Attribute>();
  Operation* from = getInput().getDefiningOp();
  if (auto splat = dyn_cast_or_null<SplatOp>(from); splat && !isTile(splat.getInput().getType())) return splat.getInput();
  // What only gives the one element another shape.
  if (!isa_and_nonnull<SplatOp, BroadcastOp, ExpandDimsOp, TransOp, ReshapeOp>(from)) return {};
  getInputMutable().assign(from->getOperand(0));
  return getResult();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType()) return getInput();
  return reshapeSplat(adaptor.getInput(), getType());
}

OpFoldResult ExpandDimsOp::fold(FoldAdaptor adaptor) { return reshapeDense(adaptor.getInput(), getType()); }

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType()) return getInput();
  return reshapeDense(adaptor.getInput(), getType());
}

OpFoldResult TransOp::fold(FoldAdaptor adaptor) {
  if (llvm::equal(getPermutation(), llvm::seq<int64_t>(0, getPermutation().size()))) return getInput();
  return reshapeSplat(adaptor.getInput(), getType());
}

/// join of the two halves of one split, in order, is what was split.
OpFoldResult JoinOp::fold(FoldAdaptor) {
  auto split = getLhs().getDefiningOp<SplitOp>();
  if (split && getLhs() == split.getLhs() && getRhs() == split.getRhs()) return split.getInput();
  return {};
}

LogicalResult SplitOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult>& results) {
  auto join = getInput().getDefiningOp<JoinOp>();
  if (!join) return failure();
  results.assign({join.getLhs(), join.getRhs()});
  return success();
}

//===-- Computation and hints -----------------------------------------------------------------------------------===//

OpFoldResult CumsumOp::fold(FoldAdaptor) { return getType().getDimSize(getAxis()) == 1 ? getInput() : Value(); }

/// Where no row ever needs the exact side, the usual values are the results.
LogicalResult SelectLazyOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult>& results) {
  if (getNumResults() == 0 || !matchPattern(getCondition(), m_Zero())) return failure();
  llvm::append_range(results, getUsual());
  return success();
}

OpFoldResult AssumeDivisibleOp::fold(FoldAdaptor) { return getDivisor() == 1 ? getInput() : Value(); }

}  // namespace fattn::tile
