// SPDX-License-Identifier: Apache-2.0
//   scf.for ... iter_args(%x = %first) {              scf.for ... iter_args(%x = %first) {
//     release %b[%last]                                 %s = dot_async ...
//     %s = dot_async ...                                dot_wait %s
//     dot_wait %s                               =>      %e = dot_wait %x
//     %d = dot_async ..., %b[%slot], %x                 release %b[%last]
//     %e = dot_wait %d                                  %d = dot_async ..., %b[%slot], %e
//     yield %e                                          yield %d
//   }                                                 }
//
// What the first trip begins with is complete: an assembler that follows the registers of dots in flight would else have to follow those
// of two dots into the loop, and may serialize all dots instead.
#include "compiler/gpu/passes/shared/RunOn.h"

#include "compiler/gpu/passes/Buffers.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {

namespace {

/// The first wait of a trip for one of its dots.
DotWaitOp firstWait(scf::ForOp loop) {
  for (auto wait : loop.getBody()->getOps<DotWaitOp>())
    if (auto dot = wait.getValue().getDefiningOp<DotAsyncOp>(); dot && dot->getBlock() == loop.getBody()) return wait;
  return {};
}

}  // namespace

bool canRunOn(DotWaitOp wait) {
  auto dot = wait.getValue().getDefiningOp<DotAsyncOp>();
  auto loop = dyn_cast<scf::ForOp>(wait->getParentOp());
  if (!dot || !loop || !dot->hasAttr(kRunsOnAttr) || dot->getBlock() != loop.getBody()) return false;
  auto carried = dyn_cast<BlockArgument>(dot.getAcc());
  if (!carried || carried.getOwner() != loop.getBody() || !carried.hasOneUse() || carried == loop.getInductionVar()) return false;
  if (!wait->hasOneUse() || !dot->hasOneUse() || loop.getTiedLoopYieldedValue(carried)->get() != wait.getResult()) return false;
  if (isa<BlockArgument>(dot.getA()) && tile::isTile(dot.getA().getType())) return false;
  for (auto store : loop.getBody()->getOps<StoreBufferOp>())
    if (store.getBuffer() == dot.getA() || store.getBuffer() == dot.getB()) return false;
  DotWaitOp first = firstWait(loop);
  return first && first->isBeforeInBlock(dot);
}

DotWaitOp runOn(DotWaitOp wait) {
  auto dot = wait.getValue().getDefiningOp<DotAsyncOp>();
  auto loop = cast<scf::ForOp>(wait->getParentOp());
  auto carried = cast<BlockArgument>(dot.getAcc());
  DotWaitOp covering = firstWait(loop);
  auto waitFor = [loc = wait.getLoc()](OpBuilder b, Value value) {
    return DotWaitOp::create(b, loc, value.getType(), value, IntegerAttr(), UnitAttr());
  };

  OpBuilder b(wait.getContext());
  b.setInsertionPointAfter(covering);
  DotWaitOp late = waitFor(b, carried);
  dot.getAccMutable().assign(late.getResult());
  SmallVector<ReleaseOp> releases;
  for (auto release : loop.getBody()->getOps<ReleaseOp>())
    if (release->isBeforeInBlock(late) && (release.getBuffer() == dot.getA() || release.getBuffer() == dot.getB()))
      releases.push_back(release);
  for (ReleaseOp release : llvm::reverse(releases)) release->moveAfter(late);
  loop.getTiedLoopYieldedValue(carried)->set(dot.getResult());
  wait->erase();

  b.setInsertionPointAfter(loop);
  Value result = loop.getTiedLoopResult(carried);
  DotWaitOp behind = waitFor(b, result);
  result.replaceAllUsesExcept(behind.getResult(), behind);
  return behind;
}

}  // namespace fattn::tilegpu
