// SPDX-License-Identifier: Apache-2.0
// Block pointers carried through a loop and advanced by the same amount every trip become offsets from the induction variable:
//
//   %r = scf.for %i = %lo to %hi step %s iter_args(%p = %init) {        scf.for %i = %lo to %hi step %s {
//     %t = tile.load %p                                                   %n = (%i - %lo) / %s
//     %q = tile.advance %p, [%d]                                  =>      %p = tile.advance %init, [%n * %d]
//     scf.yield %q                                                        %t = tile.load %p
//   }                                                                   }  // %r = tile.advance %init, [trips * %d]
//
// Assumptions: A1 the amounts are computed outside of the loop; A2 nothing but tile.advance lies between the argument and what is yielded.
// Shape and strides of the pointer are then visible inside the loop. Test: tests/lit/transforms/fold-advances.mlir.
#include "compiler/dialect/Tile.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::transforms {

#define GEN_PASS_DEF_FOLDADVANCESPASS
#include "compiler/transforms/Passes.h.inc"

namespace {

/// The sum of all deltas between `arg` and `yielded`, per dimension; empty if they do not fit A1 and A2.
SmallVector<Value> totalAdvance(scf::ForOp loop, Value arg, Value yielded, OpBuilder& b) {
  SmallVector<tile::AdvanceOp> chain;
  while (yielded != arg) {
    auto advance = yielded.getDefiningOp<tile::AdvanceOp>();
    if (!advance || !llvm::all_of(advance.getDeltas(), [&](Value d) { return loop.isDefinedOutsideOfLoop(d); })) return {};
    chain.push_back(advance);
    yielded = advance.getPtr();
  }
  SmallVector<Value> total;
  for (tile::AdvanceOp advance : chain)
    for (auto [i, d] : llvm::enumerate(advance.getDeltas())) {
      if (total.size() <= i)
        total.push_back(d);
      else
        total[i] = arith::AddIOp::create(b, loop.getLoc(), total[i], d);
    }
  return total;
}

Value asI64(OpBuilder& b, Location loc, Value v) {
  if (v.getType().isInteger(64)) return v;
  if (v.getType().isIndex()) return arith::IndexCastOp::create(b, loc, b.getI64Type(), v);
  return arith::ExtSIOp::create(b, loc, b.getI64Type(), v);
}

Value advanced(OpBuilder& b, Location loc, Value ptr, Value trips, ArrayRef<Value> deltas) {
  SmallVector<Value> by;
  for (Value d : deltas) by.push_back(arith::MulIOp::create(b, loc, trips, d));
  return tile::AdvanceOp::create(b, loc, ptr.getType(), ptr, by);
}

void foldLoop(scf::ForOp loop) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  Location loc = loop.getLoc();
  for (auto [i, arg] : llvm::enumerate(loop.getRegionIterArgs())) {
    if (!isa<tile::BlockPtrType>(arg.getType())) continue;
    OpBuilder before(loop);
    SmallVector<Value> deltas = totalAdvance(loop, arg, yield.getOperand(i), before);
    Value init = loop.getInitArgs()[i];
    if (deltas.empty() && yield.getOperand(i) != arg) continue;
    Value lo = asI64(before, loc, loop.getLowerBound()), hi = asI64(before, loc, loop.getUpperBound());
    Value step = asI64(before, loc, loop.getStep());
    Value final = init, current = init;
    if (!deltas.empty()) {
      OpBuilder inside = OpBuilder::atBlockBegin(loop.getBody());
      Value done = arith::SubIOp::create(inside, loc, asI64(inside, loc, loop.getInductionVar()), lo);
      current = advanced(inside, loc, init, arith::DivSIOp::create(inside, loc, done, step), deltas);
      Value zero = arith::ConstantOp::create(before, loc, before.getI64IntegerAttr(0));
      Value span = arith::MaxSIOp::create(before, loc, arith::SubIOp::create(before, loc, hi, lo), zero);
      final = advanced(before, loc, init, arith::CeilDivSIOp::create(before, loc, span, step), deltas);
    }
    yield.setOperand(i, arg);
    arg.replaceUsesWithIf(current, [&](OpOperand& use) { return use.getOwner() != yield; });
    loop.getResult(i).replaceAllUsesWith(final);
  }
}

class FoldAdvancesPass : public impl::FoldAdvancesPassBase<FoldAdvancesPass> {
 public:
  void runOnOperation() override {
    getOperation().walk<WalkOrder::PreOrder>([](scf::ForOp loop) { foldLoop(loop); });
  }
};

}  // namespace

}  // namespace fattn::transforms
