// SPDX-License-Identifier: Apache-2.0
// Makes what threads write to shared memory visible to the matrix unit that reads it:
//
//   copy_wait %t                                       copy_wait %t
//   barrier                                      =>    fence_async
//   %d = dot_async %q[0], %k[%slot], %c                barrier
//                                                      %d = dot_async %q[0], %k[%slot], %c
//
// The matrix unit reads through another path (the asynchronous proxy) than threads write. A thread's fence stands directly behind what
// completes its writes, a wait for copies or a store, to any buffer that a dot_async reads, or whose bytes an engine writes for another
// buffer: the barrier that separates the writers from the reader follows later. Of fences in a row the last one serves. What an engine
// copies in boxes takes the unit's path already.
//
// Runs behind -tilegpu-allocate-shared and before -tilegpu-place-barriers. Test: tests/lit/gpu/place-fences.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_PLACEFENCESPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// Buffers that a matrix unit reads, and such as have bytes in common with what an engine fills.
llvm::SmallSetVector<Value, 4> unitBuffers(func::FuncOp func) {
  llvm::SmallSetVector<Value, 4> buffers, filled;
  func.walk([&](Operation* op) {
    auto copy = dyn_cast<CopyAsyncOp>(op);
    if (copy && copy.isBulk()) filled.insert(copy.getBuffer());
    if (isa<DotAsyncOp>(op))
      for (const BufferAccess& access : accessesOf(op)) buffers.insert(access.buffer);
  });
  func.walk([&](AllocOp alloc) {
    Value buffer = alloc.getResult();
    if (llvm::any_of(filled, [&](Value other) { return other != buffer && overlap(other, buffer); })) buffers.insert(buffer);
  });
  return buffers;
}

/// Whether these writes by threads are complete behind the operation.
bool completesWrites(Operation* op, const llvm::SmallSetVector<Value, 4>& buffers) {
  auto wait = dyn_cast<CopyWaitOp>(op);
  if (!isa<CopyWaitOp, StoreBufferOp>(op) || (wait && wait.isBulk())) return false;
  return llvm::any_of(accessesOf(op), [&](const BufferAccess& access) { return buffers.contains(access.buffer); });
}

class PlaceFencesPass : public impl::PlaceFencesPassBase<PlaceFencesPass> {
 public:
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isDeclaration()) continue;
      llvm::SmallSetVector<Value, 4> buffers = unitBuffers(func);
      SmallVector<Operation*> writers;
      func.walk([&](Operation* op) {
        if (completesWrites(op, buffers)) writers.push_back(op);
      });
      for (Operation* writer : writers) {
        if (writer->getNextNode() && llvm::is_contained(writers, writer->getNextNode())) continue;
        OpBuilder b(writer->getContext());
        b.setInsertionPointAfter(writer);
        FenceAsyncOp::create(b, writer->getLoc());
      }
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
