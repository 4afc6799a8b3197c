// SPDX-License-Identifier: Apache-2.0
// Lets a barrier that stands there anyway serve a wait for copies whose data is needed only behind it:
//
//   copy_wait %k, %v {pending = 0}                  copy_wait %k {pending = 1}
//   barrier                                         barrier
//   %x = load_buffer %keys[%slot]                   %x = load_buffer %keys[%slot]
//   store_buffer %p, %weights[0]              =>    store_buffer %p, %weights[0]
//   barrier                                         copy_wait %v {pending = 1}
//   %q = load_buffer %weights[0]                    barrier
//   %y = load_buffer %values[%slot]                 %q = load_buffer %weights[0]
//                                                   %y = load_buffer %values[%slot]
//
// One wait for all copies of a trip costs one barrier (PipelineLoop.h), but copies then have less time than they could have. Here a copy
// gets the time up to the last barrier before its data is touched, and no barrier is added. A wait does not pass what may write the global
// memory that its copies read.
//
// Runs behind -tilegpu-place-barriers. Waits for boxes have barriers of their own and are left alone. Test: tests/lit/gpu/split-waits.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/shared/Waits.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_SPLITWAITSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// Whether the operation, or one in its regions, touches bytes of one of these buffers. A copy into the same buffer fills another slot.
bool touchesBytes(Operation* op, ArrayRef<Value> buffers) {
  WalkResult found = op->walk([&](Operation* inner) {
    for (const BufferAccess& access : accessesOf(inner))
      for (Value buffer : buffers)
        if (overlap(access.buffer, buffer) && !(isa<CopyAsyncOp>(inner) && access.buffer == buffer)) return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return found.wasInterrupted();
}

/// The last barrier behind the wait before something touches what the token's copies bring; null where the wait's own is the last, or where
/// it cannot be told. A fence behind a wait is for what a matrix unit or an engine does with the data: such a wait stays in front of it.
BarrierOp barrierFor(CopyWaitOp wait, Value token, transforms::Aliasing& aliasing) {
  SmallVector<Value> buffers;
  for (CopyAsyncOp copy : copiesOf(token)) buffers.push_back(copy.getBuffer());
  const CopiedMemory copied(token, aliasing);
  BarrierOp own, last;
  for (Operation* op = wait->getNextNode(); !op->hasTrait<OpTrait::IsTerminator>(); op = op->getNextNode()) {
    if (touchesBytes(op, buffers)) return last;
    if (copied.mayChangeIn(op)) return last;
    if (op->walk([](FenceAsyncOp) { return WalkResult::interrupt(); }).wasInterrupted()) return {};
    if (auto barrier = dyn_cast<BarrierOp>(op)) (own ? last : own) = barrier;
  }
  return {};  // nothing in this block: the wait ends the buffer's life
}

void split(CopyWaitOp wait, transforms::Aliasing& aliasing) {
  llvm::MapVector<Operation*, SmallVector<Value>> later;
  SmallVector<Value> here;
  for (Value token : wait.getTokens())
    if (BarrierOp barrier = barrierFor(wait, token, aliasing))
      later[barrier].push_back(token);
    else
      here.push_back(token);
  for (auto& [barrier, tokens] : later) {
    OpBuilder b(barrier);
    CopyWaitOp::create(b, wait.getLoc(), tokens, Value(), Value(), Value(), IntegerAttr());
  }
  if (here.empty())
    wait->erase();
  else
    wait.getTokensMutable().assign(here);
}

class SplitWaitsPass : public impl::SplitWaitsPassBase<SplitWaitsPass> {
 public:
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    SmallVector<CopyWaitOp> waits;
    func.walk([&](CopyWaitOp wait) {
      if (!wait.isBulk() && wait->getParentOfType<LoopLikeOpInterface>()) waits.push_back(wait);
    });
    if (waits.empty()) return;
    transforms::Aliasing aliasing;
    for (CopyWaitOp wait : waits) split(wait, aliasing);
    countPending(func);
  }
};

}  // namespace

}  // namespace fattn::tilegpu
