// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies of boxes by the tensor memory accelerator (TMA), and the mbarriers by which warps learn of their end and hand slots
// back. Each slot of a buffer has a barrier `full`, which a copy completes, and where warps release the slots another, `empty`:
//
//   copy_async (one thread)   wait for empty[slot]; arrive on full[slot], expecting so many bytes; cp.async.bulk.tensor, box by box
//   copy_wait (all threads)   wait for full[slot]
//   release (each warp)       arrive on empty[slot]
//
// A buffer's boxes may arrive with another one's (-tilegpu-share-arrivals): their bytes are announced on its `full`.
//
// Stores of boxes that another role sends have the same two barriers (BoxStores.cpp).
//
// A barrier goes through phases of alternating parity. Where an operation says the number of its phase, that tells the parity. Else each
// thread keeps, for the slots of a buffer, the parity that it waits for next, a bit each: they are the same in all threads, as all execute
// the same copies and waits. A wait for the phase before the first returns at
// once, which is how the first copy into a slot finds it empty.
//
// With roles (-tilegpu-split-roles) the thread that copies does nothing else, in a branch of its own.
//
// Sources: PTX ISA 8.7, "mbarrier", "cp.async.bulk.tensor", "elect.sync". Test: tests/lit/nvidia/box-copies.mlir.
#include <fmt/format.h>

#include "compiler/gpu/passes/Buffers.h"
#include "compiler/layout/Shared.h"
#include "compiler/nvidia/Boxes.h"
#include "compiler/nvidia/Machine.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace fattn::nvidia {

using gpu::Lowering;

namespace {

/// One thread of the warp that executes it.
Value elected(Lowering& to) { return NVVM::ElectSyncOp::create(to.b, to.b.getI1Type(), Value()); }

/// The same for one thread of the block's first warp; null: always.
void byOneThread(Lowering& to, Value condition, llvm::function_ref<void()> emit) {
  Value first = arith::CmpIOp::create(to.b, arith::CmpIPredicate::eq, to.uniformWarp, to.i32(0));
  if (condition) first = arith::AndIOp::create(to.b, first, condition);
  inBranch(to, first, [&] { inBranch(to, elected(to), emit); });
}

/// A box of the tile: its place in shared memory, and its row and column in the array.
struct Box {
  Value bytes, row, column;
};

/// cp.async.bulk.tensor; to all blocks of a cluster whose bit is set in `blocks` (i16), null: to this one.
void copyBox(Lowering& to, Value descriptor, const Box& box, Value barrier, ArrayRef<Value> further, Value blocks) {
  SmallVector<Value> operands = {box.bytes, descriptor, barrier, box.column, box.row};
  llvm::append_range(operands, further);
  std::string places = "$3, $4", constraints = "r,l,r,r,r", multicast, mask;
  for (size_t d = 0; d < further.size(); ++d) places += fmt::format(", ${}", d + 5), constraints += ",r";
  if (blocks) {
    multicast = ".multicast::cluster", mask = fmt::format(", ${}", operands.size());
    operands.push_back(blocks), constraints += ",h";
  }
  assembly(to, {}, operands,
           fmt::format("cp.async.bulk.tensor.{}d.shared::cluster.global.mbarrier::complete_tx::bytes{} [$0], [$1, {{{}}}], [$2]{};",
                       further.size() + 2, multicast, places, mask),
           constraints + ",~{memory}");
}

/// All boxes of the tile.
void copyEachBox(Lowering& to, tilegpu::CopyAsyncOp op, DictionaryAttr map, BoxSlot& slot, Value barrier, ArrayRef<Value> first,
                 ArrayRef<Value> further) {
  Value descriptor = to.tensorMaps[*op.getMap()];
  forEachBox(to, map, slot, first,
             [&](Value bytes, Value row, Value column) { copyBox(to, descriptor, {bytes, row, column}, barrier, further, Value()); });
}

/// Where neighbouring blocks each bring a part of the boxes for all of them: this block's part.
void copyPartOfBoxes(Lowering& to, tilegpu::CopyAsyncOp op, DictionaryAttr map, BoxSlot& slot, Value barrier, ArrayRef<Value> first,
                     ArrayRef<Value> further) {
  SmallVector<Box> boxes;
  forEachBox(to, map, slot, first, [&](Value bytes, Value row, Value column) { boxes.push_back({bytes, row, column}); });
  const auto cluster = static_cast<size_t>(tilegpu::clusterOf(op)), part = boxes.size() / cluster;
  Value rank = clusterRank(to, op), all = arith::ConstantOp::create(to.b, to.b.getI16IntegerAttr((1 << cluster) - 1));
  for (size_t i = 0; i < part; ++i) {
    Box mine = boxes[i];
    for (size_t block = 1; block < cluster; ++block) {
      Value is = arith::CmpIOp::create(to.b, arith::CmpIPredicate::eq, rank, to.i32(static_cast<int64_t>(block)));
      auto choose = [&](Value theirs, Value other) { return arith::SelectOp::create(to.b, is, theirs, other).getResult(); };
      const Box& theirs = boxes[block * part + i];
      mine = {choose(theirs.bytes, mine.bytes), choose(theirs.row, mine.row), choose(theirs.column, mine.column)};
    }
    copyBox(to, to.tensorMaps[*op.getMap()], mine, barrier, further, all);
  }
}

bool isShared(Value buffer) { return buffer.getDefiningOp<tilegpu::AllocOp>()->hasAttr(tilegpu::kSharedCopiesAttr); }

/// How many warps or threads arrive in each phase of a slot's barriers.
struct Arrivals {
  int64_t full = 1, empty = 0;
};

/// What an engine fills one thread announces and every warp releases; what it stores every warp lays and one thread hands back; what warps
/// fill for others every warp commits. An owner lays, commits and releases alone.
Arrivals arrivalsOf(tilegpu::AllocOp alloc) {
  auto warpsAt = [&](auto kind) {
    for (Operation* user : alloc->getUsers())
      if (isa<decltype(kind)>(user)) return tilegpu::warpsOf(user);
    return int64_t{0};
  };
  if (int64_t laid = warpsAt(tilegpu::StoreBoxesOp())) return {.full = laid, .empty = 1};
  const int64_t blocks = isShared(alloc.getResult()) ? tilegpu::clusterOf(alloc) : 1;
  return {.full = std::max<int64_t>(warpsAt(tilegpu::SlotCommitOp()), 1), .empty = warpsAt(tilegpu::ReleaseOp()) * blocks};
}

}  // namespace

LogicalResult copyBoxes(Lowering& to, tilegpu::CopyAsyncOp op) {
  FailureOr<BoxSlot> slot = BoxSlot::create(to, op, op.getBuffer(), op.getSlot(), op.getPhase());
  if (failed(slot)) return failure();
  DictionaryAttr map = tensorMapOf(op, *op.getMap());
  Value wanted = op.getPred() ? to.scalar(op.getPred()) : Value();
  if (tilegpu::isMadeElsewhere(op)) return success();
  bool released = tilegpu::isReleased(op.getBuffer());
  SmallVector<Value> further = furtherCoordinates(to, op, op.getCoordinates(), map), first;
  for (Value offset : to.window(op.getPtr()).offsets) first.push_back(coordinate(to, offset));
  auto copy = [&] {
    if (released) slot->waitUntilEmpty();
    Value full = slot->full();
    if (!slot->arrivesElsewhere())
      assembly(to, {}, {full, to.i32(slot->bytesArriving())}, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}");
    if (isShared(op.getBuffer()))
      copyPartOfBoxes(to, op, map, *slot, full, first, further);
    else
      copyEachBox(to, op, map, *slot, full, first, further);
  };
  if (!op->hasAttr(tilegpu::kMadeByAttr))
    byOneThread(to, wanted, copy);
  else if (wanted)
    inBranch(to, wanted, copy);
  else
    copy();
  if (released) slot->flip(BoxSlot::kEmpty, wanted);
  return success();
}

LogicalResult waitForBoxes(Lowering& to, tilegpu::CopyWaitOp op) {
  FailureOr<BoxSlot> slot = BoxSlot::create(to, op, op.getBuffer(), op.getSlot(), op.getPhase());
  if (failed(slot)) return failure();
  if (slot->arrivesElsewhere()) return success();  // the wait in front, for the other buffer, was for both
  slot->waitUntilFull();
  slot->flip(BoxSlot::kFull, Value());
  return success();
}

LogicalResult Machine::release(Lowering& to, tilegpu::ReleaseOp op) {
  FailureOr<BoxSlot> slot = BoxSlot::create(to, op, op.getBuffer(), op.getSlot());
  if (failed(slot)) return failure();
  // The arrival of one lane speaks for what the others have read; behind matrix instructions they are together anyway.
  if (llvm::any_of(op.getBuffer().getUsers(), llvm::IsaPred<tilegpu::LoadBufferOp>)) NVVM::SyncWarpOp::create(to.b, to.i32(-1));
  if (isShared(op.getBuffer()))
    arriveInCluster(to, op, slot->empty());
  else
    arriveForWarp(to, slot->empty());
  return success();
}

LogicalResult Machine::initBarriers(Lowering& to, tilegpu::InitBarriersOp op) {
  auto function = op->getParentOfType<func::FuncOp>();
  byOneThread(to, Value(), [&] {
    function.walk([&](tilegpu::AllocOp alloc) {
      if (!alloc.getBarriers()) return;
      const Arrivals arrivals = arrivalsOf(alloc);
      int64_t slots = alloc.getResult().getType().getSlots();
      int64_t handedBack = arrivals.empty ? slots : 0;
      for (int64_t i = 0; i < slots + handedBack; ++i) {
        Value base = LLVM::PtrToIntOp::create(to.b, to.b.getI32Type(), to.sharedBase);
        Value at = arith::AddIOp::create(to.b, base, to.i32(static_cast<int64_t>(*alloc.getBarriers()) + tilegpu::kBarrierBytes * i));
        assembly(to, {}, {at, to.i32(i < slots ? arrivals.full : arrivals.empty)}, "mbarrier.init.shared::cta.b64 [$0], $1;",
                 "r,r,~{memory}");
      }
    });
    initClaims(to, function);
    assembly(to, {}, {}, "fence.mbarrier_init.release.cluster;", "~{memory}");
    for (Value map : to.tensorMaps) assembly(to, {}, {map}, "prefetch.tensormap [$0];", "l,~{memory}");
  });
  meetCluster(to, op);
  return success();
}

}  // namespace fattn::nvidia
