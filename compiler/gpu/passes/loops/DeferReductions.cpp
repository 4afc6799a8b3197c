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
// One other use is allowed: a sum that is compared with a constant for the condition of a select_lazy, not (sum < c), for which parts can
// be asked (SumConditions.h). What is asked behind a loop, or of sums that no loop carries, is asked of parts as well.
//
// Assumptions: A1 threads hold whole parts, none depends on registers and threads together; A2 all reductions are spread alike and leave
// their results where the sums are; A3 parts of conditions are in one warp; A4 sums begin with zero. Otherwise the loop stays as it is.
// Test: tests/lit/gpu/defer-reductions.mlir.
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/loops/CarriedParts.h"
#include "fattn/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_DEFERREDUCTIONSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

class Deferral {
 public:
  Deferral(scf::ForOp loop, unsigned index, LayoutPool& pool) : loop_(loop), index_(index), pool_(pool), parts_(loop, index, pool) {}

  void run() {
    if (parts_.find()) rewrite();
  }

 private:
  void rewrite();
  void rewriteOperands(Operation* op);
  void rewriteCondition(const LazyCondition& condition);
  RankedTensorType typeOf(Type element) const {
    return RankedTensorType::get(parts_.type().getShape(), element, parts_.type().getEncoding());
  }
  /// The same for all parts.
  Value repeated(OpBuilder& b, Value value);

  scf::ForOp loop_;
  unsigned index_;
  LayoutPool& pool_;
  CarriedParts parts_;
};

Value Deferral::repeated(OpBuilder& b, Value value) {
  RankedTensorType type = typeOf(cast<RankedTensorType>(value.getType()).getElementType());
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)) && constant.isSplat())
    return arith::ConstantOp::create(b, value.getLoc(), constant.resizeSplat(type));
  return repeatForParts(b, value, type, pool_);
}

void Deferral::rewriteOperands(Operation* op) {
  OpBuilder b(op);
  for (OpOperand& operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()) && !parts_.contains(operand.get()) &&
        !llvm::is_contained(parts_.constants(), &operand))
      operand.set(repeated(b, operand.get()));
}

void Deferral::rewriteCondition(const LazyCondition& condition) {
  Value asked = condition.condition.asked;
  auto type = cast<RankedTensorType>(asked.getType());
  compareParts(condition.condition, parts_.type(), condition.share);
  OpBuilder b(asked.getContext());
  b.setInsertionPointAfterValue(asked);
  Value any = anyPart(b, asked, type);
  asked.replaceAllUsesExcept(any, any.getDefiningOp());
}

void Deferral::rewrite() {
  OpBuilder b(loop_);
  Value total = loop_.getResult(index_);
  OpOperand& init = loop_.getInitArgsMutable()[index_];
  init.set(repeated(b, init.get()));
  b.setInsertionPointAfter(loop_);
  total.setType(parts_.type());
  Value sum = combineParts(b, total, parts_.reductions().front(), parts_.sumType());
  total.replaceAllUsesExcept(sum, sum.getDefiningOp());
  for (OpOperand* use : parts_.constants()) {
    b.setInsertionPoint(use->getOwner());
    use->set(repeated(b, use->get()));
  }
  for (Operation* op : parts_.operations()) rewriteOperands(op);
  for (const LazyCondition& condition : parts_.conditions()) rewriteCondition(condition);
  for (Value v : parts_.values())
    if (!v.getDefiningOp<tile::ReduceOp>()) v.setType(parts_.type());
  for (tile::ReduceOp reduce : parts_.reductions()) {
    b.setInsertionPoint(reduce);
    reduce.getResult(0).replaceAllUsesWith(LanePartials::of(reduce, pool_)->emit(b, reduce));
    reduce.erase();
  }
}

class DeferReductionsPass : public impl::DeferReductionsPassBase<DeferReductionsPass> {
 public:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal()) continue;
      try {
        LayoutPool pool(targetOf(function), warpsOf(function));
        function.walk([&](scf::ForOp loop) {
          for (unsigned i = 0; i < loop.getNumResults(); ++i) Deferral(loop, i, pool).run();
        });
        function.walk([&](tile::SelectLazyOp lazy) { askParts(lazy, pool); });
      } catch (const Error& error) {
        function.emitError() << error.what();
        return signalPassFailure();
      }
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
