// SPDX-License-Identifier: Apache-2.0
// Products that are only added to or subtracted from something become fused multiply-adds (one rounding instead of two):
//
//   %t = arith.mulf %x, %c        =>   %n = arith.negf %m
//   %r = arith.subf %t, %m             %r = math.fma %x, %c, %n
//
// A product of two tiles stays where its addend is loaded behind it: one tile then waits for the load, and not two.
//
// Assumptions: A1 the product has no other use in its block (uses in nested regions, such as a rare exact side, may stay); A2 the element
// type is f32 (smaller types are computed in f32 and rounded an operation). Test: tests/lit/transforms/fold-scales.mlir.
#include "compiler/dialect/Tile.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace fattn::transforms {

#define GEN_PASS_DEF_FOLDSCALESPASS
#include "compiler/transforms/Passes.h.inc"

namespace {

arith::MulFOp soleProduct(Value v) {
  auto mul = v.getDefiningOp<arith::MulFOp>();
  auto here = [&](Operation* user) { return user->getBlock() == mul->getBlock(); };
  return mul && llvm::count_if(mul->getUsers(), here) <= 1 ? mul : arith::MulFOp();
}

/// Whether all elements are one number, which no tile of registers has to hold.
bool isSplat(Value v) { return matchPattern(v, m_Constant()) || v.getDefiningOp<tile::SplatOp>(); }

/// Whether the addend is loaded behind a product of two tiles, in its block.
bool waitsForLoad(arith::MulFOp product, Value addend) {
  if (isSplat(product.getLhs()) || isSplat(product.getRhs())) return false;
  for (Operation* op = addend.getDefiningOp(); op && op->getBlock() == product->getBlock() && product->isBeforeInBlock(op);
       op = op->getOperand(0).getDefiningOp()) {
    if (isa<tile::LoadOp>(op)) return true;
    if (op->getNumOperands() != 1 || !isMemoryEffectFree(op)) return false;
  }
  return false;
}

bool isF32Tile(Type t) { return isa<RankedTensorType>(t) && getElementTypeOrSelf(t).isF32(); }

struct FoldAdd : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp op, PatternRewriter& rewriter) const override {
    if (!isF32Tile(op.getType())) return failure();
    Value product = op.getLhs(), other = op.getRhs();
    if (!soleProduct(product)) std::swap(product, other);
    auto mul = soleProduct(product);
    if (!mul || waitsForLoad(mul, other)) return failure();
    rewriter.replaceOpWithNewOp<math::FmaOp>(op, mul.getLhs(), mul.getRhs(), other);
    return success();
  }
};

struct FoldSub : OpRewritePattern<arith::SubFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::SubFOp op, PatternRewriter& rewriter) const override {
    if (!isF32Tile(op.getType())) return failure();
    if (auto mul = soleProduct(op.getLhs()); mul && !waitsForLoad(mul, op.getRhs())) {
      Value negated = arith::NegFOp::create(rewriter, op.getLoc(), op.getRhs());
      rewriter.replaceOpWithNewOp<math::FmaOp>(op, mul.getLhs(), mul.getRhs(), negated);
      return success();
    }
    if (auto mul = soleProduct(op.getRhs()); mul && !waitsForLoad(mul, op.getLhs())) {
      Value negated = arith::NegFOp::create(rewriter, op.getLoc(), mul.getLhs());
      rewriter.replaceOpWithNewOp<math::FmaOp>(op, negated, mul.getRhs(), op.getLhs());
      return success();
    }
    return failure();
  }
};

class FoldScalesPass : public impl::FoldScalesPassBase<FoldScalesPass> {
 public:
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldAdd, FoldSub>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns)))) signalPassFailure();
  }
};

}  // namespace

}  // namespace fattn::transforms
