// SPDX-License-Identifier: Apache-2.0
// Whether what holds once every tile has a layout (TileGpuDialect.td) does hold: passes behind rely on it, and a lowering that meets
// anything else would compute on the wrong elements. -tilegpu-remove-conversions ends with it; as a pass of its own,
// -tilegpu-verify-layouts, it changes nothing and follows the passes that rebuild much, where a compilation is verified. Test:
// tests/lit/gpu/verify-layouts.mlir.
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/layouts/AssignLayouts.h"
#include "fattn/Error.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_VERIFYLAYOUTSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

LogicalResult verifyThreads(Operation* op, StringRef what, const layout::LinearLayout& layout, const gpu::Target& target, int64_t warps) {
  if (layout.inputSize(layout::kLane) == target.warpSize && layout.inputSize(layout::kWarp) == warps) return success();
  return op->emitOpError() << "has " << what << " on " << layout.inputSize(layout::kLane) << " lanes and "
                           << layout.inputSize(layout::kWarp) << " warps in a function for " << target.warpSize << " lanes and " << warps
                           << " warps";
}

LogicalResult verifyHomes(Operation* op, const gpu::Target& target, int64_t warps) {
  if (auto copy = dyn_cast<CopyAsyncOp>(op); copy && !copy.isBulk())
    if (failed(verifyThreads(op, "a copy", copy.getLayout()->getLayout(), target, warps))) return failure();
  for (Value v : llvm::concat<Value>(SmallVector<Value>(op->getOperands()), SmallVector<Value>(op->getResults()))) {
    if (!isTileValue(v)) continue;
    const layout::LinearLayout* layout = layoutOf(v);
    if (!layout) return op->emitOpError() << "has a tile without a layout: " << v.getType();
    if (failed(verifyThreads(op, "a tile", *layout, target, warps))) return failure();
  }
  return success();
}

/// The layouts that an operation's operands and results should have, given one of them; kNoLayout where any will do.
Placement expected(Operation* op, LayoutPool& pool) {
  auto of = [&](Value v) { return isTileValue(v) ? pool.number(*layoutOf(v)) : kNoLayout; };
  Placement any{SmallVector<LayoutId>(op->getNumOperands(), kNoLayout), SmallVector<LayoutId>(op->getNumResults(), kNoLayout)};
  if (isPlacedByResult(op)) return placeCheap(op, of(op->getResult(0)), pool);
  return llvm::TypeSwitch<Operation*, Placement>(op)
      .Case<tile::ReduceOp>([&](tile::ReduceOp reduce) {
        LayoutId from = of(reduce.getInputs()[0]), to = pool.derive(from, {Rule::Slice, {static_cast<int64_t>(reduce.getAxis())}});
        return Placement{SmallVector<LayoutId>(reduce.getNumOperands(), from), SmallVector<LayoutId>(reduce.getNumResults(), to)};
      })
      .Case<tile::ReshapeOp>([&](tile::ReshapeOp reshape) {
        return Placement{{of(reshape.getInput())}, {pool.derive(of(reshape.getInput()), reshapeRule(reshape.getResult()))}};
      })
      .Case<tile::JoinOp>([&](tile::JoinOp join) {
        LayoutId half = of(join.getLhs());
        return Placement{{half, half}, {pool.derive(half, {Rule::Join})}};
      })
      .Case<tile::SplitOp>([&](tile::SplitOp split) {
        LayoutId half = pool.derive(of(split.getInput()), {Rule::Split});
        return Placement{{of(split.getInput())}, {half, half}};
      })
      .Default([&](Operation* other) {
        if (!isElementwise(other)) return any;
        LayoutId id = kNoLayout;
        for (Value v : llvm::concat<Value>(SmallVector<Value>(other->getOperands()), SmallVector<Value>(other->getResults())))
          if (id == kNoLayout) id = of(v);
        return Placement{SmallVector<LayoutId>(other->getNumOperands(), id), SmallVector<LayoutId>(other->getNumResults(), id)};
      });
}

class VerifyLayoutsPass : public impl::VerifyLayoutsPassBase<VerifyLayoutsPass> {
 public:
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal()) continue;
      try {
        LayoutPool pool(targetOf(function), warpsOf(function));
        if (failed(verifyLayouts(function, pool))) return signalPassFailure();
      } catch (const Error& error) {
        function.emitError() << error.what();
        return signalPassFailure();
      }
    }
  }
};

}  // namespace

LogicalResult verifyLayouts(Operation* function, LayoutPool& pool) {
  WalkResult result = function->walk([&](Operation* op) -> WalkResult {
    if (failed(verifyHomes(op, pool.target(), pool.warps()))) return WalkResult::interrupt();
    Placement right = expected(op, pool);
    auto differs = [&](auto pair) {
      auto [v, id] = pair;
      return isTileValue(v) && id != kNoLayout && pool.number(*layoutOf(v)) != id;
    };
    if (llvm::any_of(llvm::zip_equal(op->getOperands(), right.operands), differs) ||
        llvm::any_of(llvm::zip_equal(op->getResults(), right.results), differs))
      return op->emitOpError() << "has operands and results whose layouts do not follow from each other";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

}  // namespace fattn::tilegpu
