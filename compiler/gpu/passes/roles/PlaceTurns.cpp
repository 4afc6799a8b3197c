// SPDX-License-Identifier: Apache-2.0
// Lets the warp groups of a block begin their dots one group after the other:
//
//   scf.for ... {                                     scf.for ... {
//     copy_wait ... in %k[%slot]                        copy_wait ... in %k[%slot]
//     %s = dot_async %q[0], %k[%slot], %zero            turn_wait
//     %o = dot_async %p, %v[%other], %acc      =>       %s = dot_async %q[0], %k[%slot], %zero
//     %t = dot_wait %s                                  %o = dot_async %p, %v[%other], %acc
//     (arithmetic)                                      turn_pass
//   }                                                   %t = dot_wait %s
//                                                       (arithmetic)
//                                                     }
//
// There is one matrix unit for all groups. Where they all begin at once they also compute at once, and the unit is idle meanwhile; in turns
// one group computes while the others' dots run.
//
// Groups also take turns at a dot for which each of them has operands of its own: what follows from the first group's product then runs
// beside the second group's product.
//
// In loops whose dots all begin before the first of them is waited for, and that have other work on tiles. Not where groups wait for one
// another among the dots, at a barrier or for what one of them leaves: a group that has the turn would wait for one that waits for it.
// Assumption: A1 all groups take the same trips, as loops' bounds are the same in all threads. Runs behind -tilegpu-split-roles, where the
// groups run apart. Test: tests/lit/gpu/place-turns.mlir.
#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/gpu/passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_PLACETURNSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// Whether a group waits there for other groups.
bool waitsForGroups(Operation* op) {
  return op
      ->walk([](Operation* inner) {
        return isa<BarrierOp, SlotAcquireOp, SlotWaitOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The dots that the body begins, where none is waited for, and no other group, before the last has begun; else none.
SmallVector<DotAsyncOp> dotsTogether(scf::ForOp loop) {
  SmallVector<DotAsyncOp> dots;
  bool waited = false;
  for (Operation& op : loop.getBody()->without_terminator()) {
    auto dot = dyn_cast<DotAsyncOp>(op);
    if (dot && waited) return {};
    if (dot) dots.push_back(dot);
    waited |= !dots.empty() && (isa<DotWaitOp>(op) || waitsForGroups(&op));
  }
  return dots;
}

/// The dot of the body for which each group has operands of its own; else none.
SmallVector<DotAsyncOp> dotsOfGroups(scf::ForOp loop) {
  for (auto dot : loop.getBody()->getOps<DotAsyncOp>())
    if (!dot.getOthers().empty()) return {dot};
  return {};
}

/// Whether a trip computes on tiles beside its dots.
bool computes(scf::ForOp loop) {
  return llvm::any_of(*loop.getBody(),
                      [](Operation& op) { return isa<math::MathDialect>(op.getDialect()) && tile::isTile(op.getResult(0).getType()); });
}

class PlaceTurnsPass : public impl::PlaceTurnsPassBase<PlaceTurnsPass> {
 public:
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isDeclaration() || !func->hasAttr(kCopierWarpsAttr)) continue;
      bool any = false;
      func.walk([&](scf::ForOp loop) {
        SmallVector<DotAsyncOp> dots = dotsOfGroups(loop);
        if (dots.empty() && computes(loop)) dots = dotsTogether(loop);
        if (dots.empty()) return;
        OpBuilder b(dots.front());
        TurnWaitOp::create(b, dots.front().getLoc());
        b.setInsertionPointAfter(dots.back());
        TurnPassOp::create(b, dots.back().getLoc(), UnitAttr());
        any = true;
      });
      if (any) open(func);
    }
  }

 private:
  /// The last group lets the first one begin.
  static void open(func::FuncOp func) {
    func.walk([](SetRegistersOp set) {
      if (!set.getMore()) return;
      OpBuilder b(set->getContext());
      b.setInsertionPointAfter(set);
      TurnPassOp::create(b, set.getLoc(), b.getUnitAttr());
    });
  }
};

}  // namespace

}  // namespace fattn::tilegpu
