// SPDX-License-Identifier: Apache-2.0
// Makes conversions fewer, smaller and rarer. A rewrite is done where it lowers the price (the layout library's plans):
//
//   convert(splat x)                    => splat x                            cheap values are made again in the other layout
//   convert(broadcast x)                => broadcast(convert x)               the smaller tile is moved
//   convert(extf x)                     => extf(convert x)                    the narrower elements are
//   truncf(convert x)                   => convert(truncf x)
//   addf(convert x, convert y)          => convert(addf x, y)
//   reduce(convert x)                   => convert(reduce x)
//   scf.for { convert %outside }        => convert %outside; scf.for { }      once instead of in every trip
//
// A load's tile as a dot's operand stays where it is: it is no movement between registers, but read from shared memory just before its use.
// What it leaves has been verified: every layout follows from its neighbours' (VerifyLayouts.cpp).
// Test: tests/lit/gpu/remove-conversions.mlir.
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/layouts/AssignLayouts.h"
#include "fattn/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_REMOVECONVERSIONSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// Layouts by number for the values of a function that has them already.
struct Prices {
  LayoutPool& pool;
  std::exception_ptr& thrown;  ///< by a pattern

  LayoutId of(Value v) const { return pool.number(*layoutOf(v)); }
  double moving(Value v, LayoutId to) const {
    llvm::DenseMap<Value, bool> known;
    if (isCheapValue(v, known)) return 0;
    // What is a conversion already goes there directly.
    if (auto inner = v.getDefiningOp<ConvertLayoutOp>()) v = inner.getInput();
    return pool.conversionCost(of(v), to, bitsOf(v));
  }
  /// The value in another layout: made again, or converted.
  Value moved(OpBuilder& b, Value v, LayoutId to) const {
    if (of(v) == to) return v;
    Operation* op = v.getDefiningOp();
    llvm::DenseMap<Value, bool> known;
    if (isCheapValue(v, known)) {
      SmallVector<Value> operands(op->getOperands());
      for (auto [operand, layout] : llvm::zip_equal(operands, placeCheap(op, to, pool).operands))
        if (layout != kNoLayout) operand = moved(b, operand, layout);
      return cloneInLayout(b, op, operands, pool[to]);
    }
    if (auto inner = v.getDefiningOp<ConvertLayoutOp>(); inner && of(inner.getInput()) == to) return inner.getInput();
    return ConvertLayoutOp::create(b, v.getLoc(), withLayout(cast<RankedTensorType>(v.getType()), pool[to]), v);
  }
};

bool isPlainElementwise(Operation* op) { return OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1; }

/// An operand of a dot that will be read from shared memory.
bool isOperandFromMemory(ConvertLayoutOp op) {
  return loadBehind(op.getInput()) && llvm::all_of(op->getUsers(), [](Operation* user) { return isa<tile::DotOp>(user); });
}

/// Runs the body of a pattern. The driver of patterns is compiled without exceptions, so that none may pass through it: the first one
/// waits in `thrown`, and no pattern applies any more.
template <class Body>
LogicalResult caught(const Prices& prices, Body body) {
  if (prices.thrown) return failure();
  try {
    return body();
  } catch (...) {
    prices.thrown = std::current_exception();
    return failure();
  }
}

/// Moves a conversion before the operation whose result it converts.
struct ConvertEarlier : OpRewritePattern<ConvertLayoutOp> {
  ConvertEarlier(MLIRContext* context, const Prices& prices) : OpRewritePattern(context), prices(prices) {}
  LogicalResult matchAndRewrite(ConvertLayoutOp op, PatternRewriter& rewriter) const override {
    return caught(prices, [&] { return rewrite(op, rewriter); });
  }
  LogicalResult rewrite(ConvertLayoutOp op, PatternRewriter& rewriter) const {
    Operation* source = op.getInput().getDefiningOp();
    if (!source) return failure();
    LayoutId to = prices.of(op.getResult());
    llvm::DenseMap<Value, bool> known;
    if (isCheapValue(op.getInput(), known)) {
      rewriter.replaceOp(op, prices.moved(rewriter, op.getInput(), to));
      return success();
    }
    bool rearranges = isa<tile::BroadcastOp, tile::ExpandDimsOp>(source);
    if (!rearranges && (!isPlainElementwise(source) || !op.getInput().hasOneUse())) return failure();
    Placement placement = placeCheap(source, to, prices.pool);
    double now = prices.pool.conversionCost(prices.of(op.getInput()), to, bitsOf(op.getInput())), then = 0;
    for (auto [operand, layout] : llvm::zip_equal(source->getOperands(), placement.operands))
      if (layout != kNoLayout) then += prices.moving(operand, layout);
    if (then >= now) return failure();
    SmallVector<Value> operands(source->getOperands());
    for (auto [operand, layout] : llvm::zip_equal(operands, placement.operands))
      if (layout != kNoLayout) operand = prices.moved(rewriter, operand, layout);
    rewriter.replaceOp(op, cloneInLayout(rewriter, source, operands, prices.pool[to]));
    return success();
  }
  Prices prices;
};

/// The layout that the converted operands of an operation all come from, if converting only the results is possible.
LayoutId commonSource(Operation* op, const Prices& prices) {
  LayoutId source = kNoLayout;
  llvm::DenseMap<Value, bool> known;
  for (Value operand : op->getOperands()) {
    if (!isTileValue(operand) || isCheapValue(operand, known)) continue;
    auto convert = operand.getDefiningOp<ConvertLayoutOp>();
    if (!convert || llvm::any_of(convert->getUsers(), [&](Operation* user) { return user != op; })) return kNoLayout;
    LayoutId from = prices.of(convert.getInput());
    if (source != kNoLayout && source != from) return kNoLayout;
    source = from;
  }
  return source;
}

double movingOperands(Operation* op, const Prices& prices) {
  double total = 0;
  for (Value operand : op->getOperands())
    if (auto convert = operand.getDefiningOp<ConvertLayoutOp>()) total += prices.moving(convert.getInput(), prices.of(operand));
  return total;
}

/// op(convert x, ...) => convert(op(x, ...)) for elementwise operations.
struct ConvertLater : RewritePattern {
  ConvertLater(MLIRContext* context, const Prices& prices) : RewritePattern(MatchAnyOpTypeTag(), 1, context), prices(prices) {}
  LogicalResult matchAndRewrite(Operation* op, PatternRewriter& rewriter) const override {
    return caught(prices, [&] { return rewrite(op, rewriter); });
  }
  LogicalResult rewrite(Operation* op, PatternRewriter& rewriter) const {
    if (!isPlainElementwise(op) || !layoutOf(op->getResult(0).getType())) return failure();
    LayoutId from = commonSource(op, prices);
    if (from == kNoLayout) return failure();
    Value result = op->getResult(0);
    double now = movingOperands(op, prices), then = prices.pool.conversionCost(from, prices.of(result), bitsOf(result));
    if (then >= now) return failure();
    SmallVector<Value> operands(op->getOperands());
    for (Value& operand : operands)
      if (isTileValue(operand)) operand = prices.moved(rewriter, operand, from);
    Value early = cloneInLayout(rewriter, op, operands, prices.pool[from]);
    rewriter.replaceOpWithNewOp<ConvertLayoutOp>(op, result.getType(), early);
    return success();
  }
  Prices prices;
};

/// The same for reductions, whose results are smaller.
struct ReduceEarlier : OpRewritePattern<tile::ReduceOp> {
  ReduceEarlier(MLIRContext* context, const Prices& prices) : OpRewritePattern(context), prices(prices) {}
  LogicalResult matchAndRewrite(tile::ReduceOp op, PatternRewriter& rewriter) const override {
    return caught(prices, [&] { return rewrite(op, rewriter); });
  }
  LogicalResult rewrite(tile::ReduceOp op, PatternRewriter& rewriter) const {
    if (!layoutOf(op.getInputs()[0])) return failure();
    LayoutId from = commonSource(op, prices);
    if (from == kNoLayout) return failure();
    auto axis = static_cast<int>(op.getAxis());
    LayoutId reduced = prices.pool.derive(from, {Rule::Slice, {axis}});
    double now = movingOperands(op, prices), then = 0;
    for (auto [input, result] : llvm::zip_equal(op.getInputs(), op.getResults())) {
      now += prices.pool.reductionCost(prices.of(input), axis, bitsOf(input));
      then += prices.pool.reductionCost(from, axis, bitsOf(input)) + prices.pool.conversionCost(reduced, prices.of(result), bitsOf(result));
    }
    if (then >= now) return failure();
    IRMapping operands;
    for (Value input : op.getInputs()) operands.map(input, prices.moved(rewriter, input, from));
    auto early = cast<tile::ReduceOp>(rewriter.clone(*op, operands));
    SmallVector<Value> results;
    for (auto [result, original] : llvm::zip_equal(early.getResults(), op.getResults())) {
      result.setType(withLayout(cast<RankedTensorType>(result.getType()), prices.pool[reduced]));
      results.push_back(ConvertLayoutOp::create(rewriter, op.getLoc(), original.getType(), result));
    }
    rewriter.replaceOp(op, results);
    return success();
  }
  Prices prices;
};

/// What does not change in a loop is converted before it; loops from the inside out, so that it leaves several.
void hoist(func::FuncOp function) {
  function.walk<WalkOrder::PostOrder>([](LoopLikeOpInterface loop) {
    for (Region* region : loop.getLoopRegions())
      for (Operation& op : llvm::make_early_inc_range(region->front())) {
        auto convert = dyn_cast<ConvertLayoutOp>(op);
        if (convert && loop.isDefinedOutsideOfLoop(convert.getInput()) && !isOperandFromMemory(convert)) convert->moveBefore(loop);
      }
  });
}

class RemoveConversionsPass : public impl::RemoveConversionsPassBase<RemoveConversionsPass> {
 public:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal()) continue;
      try {
        LayoutPool pool(targetOf(function), warpsOf(function));
        RewritePatternSet patterns(&getContext());
        std::exception_ptr thrown;
        patterns.add<ConvertEarlier, ConvertLater, ReduceEarlier>(&getContext(), Prices{pool, thrown});
        LogicalResult applied = applyPatternsGreedily(function, std::move(patterns));
        if (thrown) std::rethrow_exception(thrown);
        if (failed(applied)) return signalPassFailure();
        hoist(function);
        if (failed(verifyLayouts(function, pool))) return signalPassFailure();
      } catch (const Error& error) {
        function.emitError() << error.what();
        return signalPassFailure();
      }
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
