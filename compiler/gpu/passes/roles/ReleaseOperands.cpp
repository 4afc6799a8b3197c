// SPDX-License-Identifier: Apache-2.0
// Releases what an engine copies once a program, so that the copy for the block's next program may follow:
//
//   copy_async %q, %b[0] map 0                            copy_async %q, %b[0] map 0
//   copy_wait ... in %b[0]                                copy_wait ... in %b[0]
//   scf.for ... { dot_async %b[0], ... }        =>        scf.for ... { dot_async %b[0], ... }
//   (the rest of the program)                             release %b[0]
//                                                         (the rest of the program)
//
// Loops over boxes release their slots already. A function in which every buffer of boxes is released gets `tilegpu.repeats`: its blocks
// may take one program after another (-tilegpu-repeat-programs), with `dynamic` as they are handed out. -tilegpu-allocate-shared then gives
// other buffers bytes of their own, as the boxes of the next program arrive while this one ends.
//
// Conditions, else the function stays as it is: the block has room for a warp group that copies (Roles.h); for each such buffer C1 one copy
// fills it, under no predicate and in no loop; C2 all that touches it stands in the copy's block.
//
// Runs before -tilegpu-allocate-shared, which makes the release's barrier objects. Test: tests/lit/gpu/repeat-programs.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/roles/Roles.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_RELEASEOPERANDSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

struct Once {
  CopyAsyncOp copy;
  Operation* last = nullptr;  ///< of the copy's block: contains the last access
};

/// The buffers to release; nothing where one cannot be.
std::optional<SmallVector<Once>> filledOnce(func::FuncOp func) {
  llvm::MapVector<Value, Once> buffers;
  bool possible = true, any = false;
  func.walk([&](CopyAsyncOp copy) {
    if (!copy.isBulk()) return;
    any = true;
    if (isReleased(copy.getBuffer())) return;
    possible &= !copy.getPred() && !copy->getParentOfType<LoopLikeOpInterface>() && buffers.insert({copy.getBuffer(), {copy}}).second;
  });
  func.walk([&](Operation* op) {
    for (const BufferAccess& access : accessesOf(op)) {
      auto found = buffers.find(access.buffer);
      if (found == buffers.end()) continue;
      Once& once = found->second;
      Operation* outer = once.copy->getBlock()->findAncestorOpInBlock(*op);
      possible &= outer != nullptr;
      if (outer && (!once.last || once.last->isBeforeInBlock(outer))) once.last = outer;
    }
  });
  if (!possible || !any) return std::nullopt;
  SmallVector<Once> result;
  for (auto& [buffer, once] : buffers) result.push_back(once);
  return result;
}

class ReleaseOperandsPass : public impl::ReleaseOperandsPassBase<ReleaseOperandsPass> {
 public:
  using ReleaseOperandsPassBase::ReleaseOperandsPassBase;
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration() || !hasRoomForCopier(func)) return;
    std::optional<SmallVector<Once>> buffers = filledOnce(func);
    if (!buffers) return;
    for (Once& once : *buffers) {
      OpBuilder b(func.getContext());
      b.setInsertionPointAfter(once.last);
      ReleaseOp::create(b, once.copy.getLoc(), once.copy.getBuffer(), once.copy.getSlot());
    }
    func->setAttr(kRepeatsAttr, UnitAttr::get(func.getContext()));
    if (dynamic) func->setAttr(kDynamicAttr, UnitAttr::get(func.getContext()));
  }
};

}  // namespace

}  // namespace fattn::tilegpu
