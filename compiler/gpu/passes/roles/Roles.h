// SPDX-License-Identifier: Apache-2.0
// Which blocks have room for a warp group that only copies, which stores it can send, and where in a program its threads stand.
#ifndef FATTN_COMPILER_GPU_PASSES_ROLES_ROLES_H
#define FATTN_COMPILER_GPU_PASSES_ROLES_ROLES_H

#include "compiler/gpu/dialect/TileGpu.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace fattn::tilegpu {

/// Registers of a thread that only copies, enough for addresses: the fewest that can be asked for.
constexpr int64_t kFewestRegisters = 24;

/// Two computing warp groups or more, on a chip that can move registers from one to the other (a single group would halve the blocks on an
/// SM for its copies), and threads left for a further group.
inline bool hasRoomForCopier(mlir::func::FuncOp func) {
  const gpu::Target& target = targetOf(func);
  const int64_t warps = warpsOf(func), group = target.warpGroup.value_or(0);
  if (group == 0 || !target.registers.reallocation || warps % group != 0 || warps < 2 * group) return false;
  return (warps + group) * target.warpSize <= target.maxThreads;
}

/// A copy that another role makes, which leaves its token here.
inline bool isCopyElsewhere(mlir::Operation* op) { return mlir::isa<CopyAsyncOp>(op) && isMadeElsewhere(op); }

/// Additions in a loop, which a warp would wait for in the next trip, and those of an owner. Where the block has no further warps, it does.
inline bool isSentInTrips(StoreBoxesOp store) {
  const bool again = store->getParentOfType<mlir::LoopLikeOpInterface>() || store->getParentOfType<OwnerOnlyOp>();
  return store.getAdd() && again && hasRoomForCopier(store->getParentOfType<mlir::func::FuncOp>());
}

/// And where a block takes one program after another, what ends a program beside them: an engine takes boxes in their order, so that a
/// warp which sent its own would wait until those of the last trips are read, when it could begin the next program.
inline bool maySendElsewhere(StoreBoxesOp store) {
  if (isSentInTrips(store)) return true;
  auto func = store->getParentOfType<mlir::func::FuncOp>();
  if (!func->hasAttr(kRepeatsAttr)) return false;
  return func.walk([](StoreBoxesOp other) { return isSentInTrips(other) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance(); })
      .wasInterrupted();
}

/// Threads of a group that only copies: one makes the copies, the other one sends what computing warps have laid into buffers. A thread of
/// its own, as it waits for the computing warps in each trip, and copies would wait with it.
constexpr int64_t kCopyingThread = 0, kSendingThread = 1;

inline bool isThread(IsCopierOp test, int64_t thread) { return test.getThreadAttr() && test.getThreadAttr().getInt() == thread; }

/// The roles of a function: what only copies, in one thread, what sends, in another, and what computes. Null: not split, or nothing is
/// sent.
struct Roles {
  mlir::Block *copier = nullptr, *sender = nullptr, *computing = nullptr;
};

inline Roles rolesOf(mlir::func::FuncOp func) {
  Roles roles;
  for (mlir::Operation& op : func.getBody().front()) {
    auto branch = mlir::dyn_cast<mlir::scf::IfOp>(op);
    if (!branch || !branch.getCondition().getDefiningOp<IsCopierOp>()) continue;
    roles.computing = branch.elseBlock();
    branch.getThenRegion().walk([&](mlir::scf::IfOp one) {
      if (auto test = one.getCondition().getDefiningOp<IsCopierOp>())
        (isThread(test, kSendingThread) ? roles.sender : roles.copier) = one.thenBlock();
    });
  }
  return roles;
}

}  // namespace fattn::tilegpu

#endif
