// SPDX-License-Identifier: Apache-2.0
// Lets small boxes arrive with large ones, so that who has waited for these need not wait again:
//
//   %t = copy_async %q, %a[%s] if %p map 0          %a = alloc {barriers = 4096} : 2 x 64x128xbf16
//   %u = copy_async %l, %b[%s] if %p map 1    =>    %b = alloc {barriers = 4128, arrives = 4096} : 2 x 1x64xf32
//   ...                                             (copies and waits as before)
//   copy_wait %t in %a[%s]
//   copy_wait %u in %b[%s]
//
// A slot's barrier object completes when all bytes are there that the copying thread has announced: for the first buffer those of both. The
// wait for the second one stays, for who reads the program, and becomes no instruction. Each wait takes an answer of shared memory's queue,
// behind what the warp reads there, also where the data has long arrived.
//
// Conditions: C1 the second buffer has at most an eighth of the first one's bytes, and as many slots; C2 for each of its copies the first
// buffer has one in front, in the same block, into the same slot, under the same predicate; C3 the same holds for the waits; C4 neither
// buffer's slots are programs' (`tilegpu.slot_by_program`).
//
// Runs behind -tilegpu-allocate-shared, and before copies go to another role. Test: tests/lit/gpu/share-arrivals.mlir.
#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/gpu/passes/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_SHAREARRIVALSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// A small buffer's bytes are at most the large one's divided by this.
constexpr int64_t kSmall = 8;

/// What is done to a buffer of boxes, in the order of the text.
struct BoxUses {
  SmallVector<CopyAsyncOp> copies;
  SmallVector<CopyWaitOp> waits;
};

/// Whether one operation follows the other in a block and is for the same slot.
template <typename Op>
bool follows(Op second, Op first) {
  return first->getBlock() == second->getBlock() && first->isBeforeInBlock(second) && first.getSlot() == second.getSlot();
}

/// Whether the boxes of the first buffer can bring those of the second with them: C2 and C3.
bool areTogether(const BoxUses& first, const BoxUses& second) {
  if (first.copies.size() != second.copies.size() || first.waits.size() != second.waits.size()) return false;
  for (auto [one, other] : llvm::zip(first.copies, second.copies)) {
    CopyAsyncOp large = one, small = other;
    if (!follows(small, large) || small.getPred() != large.getPred()) return false;
  }
  return llvm::all_of(llvm::zip(first.waits, second.waits), [](auto pair) { return follows(std::get<1>(pair), std::get<0>(pair)); });
}

/// C1 and C4.
bool mayShare(AllocOp first, AllocOp second) {
  BufferType large = first.getResult().getType(), small = second.getResult().getType();
  return !first->hasAttr(kSlotByProgramAttr) && !second->hasAttr(kSlotByProgramAttr) && large.getSlots() == small.getSlots() &&
         small.getSlotBytes() * kSmall <= large.getSlotBytes();
}

class ShareArrivalsPass : public impl::ShareArrivalsPassBase<ShareArrivalsPass> {
 public:
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration()) return;
    llvm::MapVector<AllocOp, BoxUses> buffers;
    func.walk([&](Operation* op) {
      auto copy = dyn_cast<CopyAsyncOp>(op);
      auto wait = dyn_cast<CopyWaitOp>(op);
      if (copy && copy.isBulk()) buffers[copy.getBuffer().getDefiningOp<AllocOp>()].copies.push_back(copy);
      if (wait && wait.isBulk()) buffers[wait.getBuffer().getDefiningOp<AllocOp>()].waits.push_back(wait);
    });
    for (auto& [second, boxes] : buffers)
      for (auto& [first, others] : buffers) {
        if (first == second || !first.getBarriers() || !mayShare(first, second) || !areTogether(others, boxes)) continue;
        second.setArrives(first.getBarriers());
        break;
      }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
