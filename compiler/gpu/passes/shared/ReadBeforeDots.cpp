// SPDX-License-Identifier: Apache-2.0
// Reads rows of numbers before the matrix unit gets work, where they are needed behind it:
//
//   %d = dot_async %q[0], %k[%s], ...                copy_wait %t in %m[%s]
//   copy_wait %t in %m[%s]                           %x = load_buffer %m[%s]
//   %x = load_buffer %m[%s] : -> 1x64          =>    %d = dot_async %q[0], %k[%s], ...
//   %y = dot_wait %d                                 %y = dot_wait %d
//
// The unit reads both operands from shared memory, as fast as that is. Reads of threads wait for it meanwhile: a few bytes took a few
// hundred clocks of a trip (docs/backward.md). In front of the dots they wait less. The line takes registers while the dots begin; the most
// that are taken at once stays, as the dots' results have theirs from then on.
//
// Conditions: C1 the tile is a line, of one row or column; C2 between the read and the dots stand only other dots' beginnings, waits for
// boxes, and what has no effect; C3 nothing of that is an operand of the read; its own wait comes along.
//
// Runs behind -tilegpu-place-waits, which moves waits down to reads. Test: tests/lit/gpu/read-before-dots.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_READBEFOREDOTSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// C1.
bool isLine(LoadBufferOp load) { return llvm::is_contained(load.getType().getShape(), 1) || load.getType().getRank() == 1; }

void moveUp(LoadBufferOp load) {
  SmallVector<Operation*, 2> moved = {load};  // the last one first
  auto feeds = [&](Operation* op) { return llvm::any_of(moved, [&](Operation* one) { return llvm::is_contained(op->getUsers(), one); }); };
  Operation* dots = nullptr;
  for (Operation* op = load->getPrevNode(); op && !feeds(op); op = op->getPrevNode()) {
    auto wait = dyn_cast<CopyWaitOp>(op);
    if (isa<DotAsyncOp>(op))
      dots = op;
    else if (wait && wait.isBulk() && wait.getBuffer() == load.getBuffer())
      moved.push_back(wait);
    else if (!(wait && wait.isBulk()) && !isMemoryEffectFree(op))
      break;
  }
  if (!dots) return;
  for (Operation* op : llvm::reverse(moved)) {
    if (op->isBeforeInBlock(dots)) continue;
    op->moveBefore(dots);
  }
}

class ReadBeforeDotsPass : public impl::ReadBeforeDotsPassBase<ReadBeforeDotsPass> {
 public:
  void runOnOperation() override {
    SmallVector<LoadBufferOp> loads;
    getOperation().walk([&](LoadBufferOp load) {
      if (isLine(load)) loads.push_back(load);
    });
    for (LoadBufferOp load : loads) moveUp(load);
  }
};

}  // namespace

}  // namespace fattn::tilegpu
