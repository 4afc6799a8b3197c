// SPDX-License-Identifier: Apache-2.0
// Slots that all computing warps fill for one warp group, their owner, and what the owner does alone. A slot has the two barriers that it
// has where an engine fills it (BoxCopies.cpp):
//
//   slot_acquire (each warp)            wait for empty[slot]
//   slot_commit (each warp)             arrive on full[slot]
//   slot_wait (warps of the owner)      wait for full[slot]
//   release (warps of the owner)        arrive on empty[slot]
//
// All warps count the phases that the owner waits for: it is another group the next time. What an owner knows of the phases before is
// -tilegpu-assign-owners' part.
//
// Source: PTX ISA 8.7, "mbarrier". Test: tests/lit/nvidia/owners.mlir.
#include "compiler/nvidia/Boxes.h"
#include "compiler/nvidia/Machine.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::nvidia {

using gpu::Lowering;

LogicalResult Machine::slotAcquire(Lowering& to, tilegpu::SlotAcquireOp op) {
  FailureOr<BoxSlot> slot = BoxSlot::create(to, op, op.getBuffer(), op.getSlot());
  if (failed(slot)) return failure();
  slot->waitUntilEmpty();
  slot->flip(BoxSlot::kEmpty, Value());
  return success();
}

LogicalResult Machine::slotCommit(Lowering& to, tilegpu::SlotCommitOp op) {
  FailureOr<BoxSlot> slot = BoxSlot::create(to, op, op.getBuffer(), op.getSlot());
  if (failed(slot)) return failure();
  NVVM::SyncWarpOp::create(to.b, to.i32(-1));  // one lane speaks for what all have written
  arriveForWarp(to, slot->full());
  return success();
}

LogicalResult Machine::slotWait(Lowering& to, tilegpu::SlotWaitOp op) {
  FailureOr<BoxSlot> slot = BoxSlot::create(to, op, op.getBuffer(), op.getSlot());
  if (failed(slot)) return failure();
  slot->waitUntilFull();
  slot->flip(BoxSlot::kFull, Value());
  return success();
}

LogicalResult Machine::ownerOnly(Lowering& to, tilegpu::OwnerOnlyOp op) {
  const int64_t groupWarps = *tilegpu::targetOf(op).warpGroup, groups = tilegpu::warpsOf(op) / groupWarps;
  Value group = arith::DivUIOp::create(to.b, to.uniformWarp, to.i32(groupWarps));
  Value turn = arith::RemUIOp::create(to.b, to.scalar(op.getTurn()), to.i32(groups));
  auto branch = scf::IfOp::create(to.b, arith::CmpIOp::create(to.b, arith::CmpIPredicate::eq, group, turn), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(to.b);
  to.b.setInsertionPointToStart(branch.thenBlock());
  const Value lane = to.lane, warp = to.warp, uniformWarp = to.uniformWarp;
  // An owner has the registers of all groups' parts: addresses are computed where it uses them.
  to.lane = computedHere(to, lane);
  to.uniformWarp = computedHere(to, arith::RemUIOp::create(to.b, uniformWarp, to.i32(groupWarps)));
  to.warp = to.uniformWarp, to.ownerBranch = branch;
  if (op.getWaits()) assembly(to, {}, {}, "wgmma.wait_group.sync.aligned 0;", "~{memory}");
  LogicalResult result = to.lowerBlock(op.getBody().front());
  to.lane = lane, to.warp = warp, to.uniformWarp = uniformWarp, to.ownerBranch = nullptr;
  return result;
}

}  // namespace fattn::nvidia
