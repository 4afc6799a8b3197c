// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies of boxes by the tensor memory accelerator (TMA), and the mbarriers by which warps learn of their end and hand slots
// back. Each slot of a buffer has a barrier `full`, which a copy completes, and where warps release the slots another, `empty`:
//
//   copy_async (one thread)   wait for empty[slot]; arrive on full[slot], expecting so many bytes; cp.async.bulk.tensor, box by box
//   copy_wait (all threads)   wait for full[slot]
//   release (each warp)       arrive on empty[slot]
//
// A barrier goes through phases of alternating parity. Each thread keeps, for the slots of a buffer, the parity that it waits for next, a
// bit each: they are the same in all threads, as all execute the same copies and waits. A wait for the phase before the first returns at
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

constexpr int64_t kBarrierBytes = 8;
/// Numbers of a buffer's words of parities.
enum Parities : int { kFull, kEmpty };

/// One slot of a buffer that is filled by boxes; addresses in shared memory are i32.
class Slot {
 public:
  static FailureOr<Slot> create(Lowering& to, Operation* op, Value buffer, Value slot) {
    auto alloc = buffer.getDefiningOp<tilegpu::AllocOp>();
    if (!alloc || !alloc.getOffset() || !alloc.getBarriers())
      return op->emitOpError() << "needs a buffer with a place and with barriers, which -tilegpu-allocate-shared gives it";
    return Slot(to, alloc, to.scalar(slot));
  }

  Value full() { return address(static_cast<int64_t>(*alloc_.getBarriers()), kBarrierBytes); }
  Value empty() { return address(static_cast<int64_t>(*alloc_.getBarriers()) + kBarrierBytes * type().getSlots(), kBarrierBytes); }
  Value bytes() { return address(static_cast<int64_t>(*alloc_.getOffset()), type().getSlotBytes()); }
  tilegpu::BufferType type() { return alloc_.getResult().getType(); }

  /// The parity of the phase that this thread waits for next on the slot's barrier (0 for the first), which the wait then leaves behind.
  Value parity(Parities which) {
    Value word = LLVM::LoadOp::create(to_->b, to_->b.getI32Type(), to_->local(alloc_, which));
    Value shifted = number_ == 0 ? word : arith::ShRUIOp::create(to_->b, word, slot_).getResult();
    return arith::AndIOp::create(to_->b, shifted, to_->i32(1));
  }
  /// `unless`: where this (i1, null: never) does not hold nothing was waited for.
  void flip(Parities which, Value wanted) {
    Value place = to_->local(alloc_, which), word = LLVM::LoadOp::create(to_->b, to_->b.getI32Type(), place);
    Value bit = wanted ? arith::ExtUIOp::create(to_->b, to_->b.getI32Type(), wanted).getResult() : to_->i32(1);
    if (number_ != 0) bit = arith::ShLIOp::create(to_->b, bit, slot_);
    LLVM::StoreOp::create(to_->b, arith::XOrIOp::create(to_->b, word, bit), place);
  }

 private:
  Slot(Lowering& to, tilegpu::AllocOp alloc, Value slot) : to_(&to), alloc_(alloc), slot_(slot), number_(getConstantIntValue(slot)) {}

  Value address(int64_t start, int64_t stride) {
    Value base = LLVM::PtrToIntOp::create(to_->b, to_->b.getI32Type(), to_->sharedBase);
    if (number_) return arith::AddIOp::create(to_->b, base, to_->i32(start + *number_ * stride));
    Value inSlots = arith::MulIOp::create(to_->b, slot_, to_->i32(stride));
    return arith::AddIOp::create(to_->b, arith::AddIOp::create(to_->b, base, to_->i32(start)), inSlots);
  }

  Lowering* to_;
  tilegpu::AllocOp alloc_;
  Value slot_;
  std::optional<int64_t> number_;
};

/// Until the barrier has left the phase of this parity. try_wait sleeps for a while before it says no.
void wait(Lowering& to, Value barrier, Value parity) {
  assembly(to, {}, {barrier, parity},
           "{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; @!done bra again; }", "r,r,~{memory}");
}

/// One thread of the warp that executes it.
Value elected(Lowering& to) { return NVVM::ElectSyncOp::create(to.b, to.b.getI1Type(), Value()); }

/// The same for one thread of the block's first warp; null: always.
void byOneThread(Lowering& to, Value condition, llvm::function_ref<void()> emit) {
  Value first = arith::CmpIOp::create(to.b, arith::CmpIPredicate::eq, to.uniformWarp, to.i32(0));
  if (condition) first = arith::AndIOp::create(to.b, first, condition);
  inBranch(to, first, [&] { inBranch(to, elected(to), emit); });
}

/// cp.async.bulk.tensor for each box of the tile, which lies as layout::swizzled says: blocks of rows, each in columns of the swizzle's
/// width.
void copyEachBox(Lowering& to, tilegpu::CopyAsyncOp op, DictionaryAttr map, Slot& slot, Value barrier, ArrayRef<Value> first,
                 ArrayRef<Value> further) {
  ArrayRef<int64_t> box = cast<DenseI64ArrayAttr>(map.get("box")).asArrayRef(), shape = op.getBuffer().getType().getShape();
  Value bytes = slot.bytes(), descriptor = to.tensorMaps[*op.getMap()];
  layout::LinearLayout places = layout::SharedLayout(slot.type().getLayout().getLayout()).offsets();
  for (int64_t column = 0; column < shape[1]; column += box[0])
    for (int64_t row = 0; row < shape[0]; row += box[1]) {
      auto moved = [&](Value at, int64_t by) { return by ? arith::AddIOp::create(to.b, at, to.i32(by)).getResult() : at; };
      int64_t offset = places.apply({row, column})[0] * slot.type().getElementBytes();
      SmallVector<Value> operands = {moved(bytes, offset), descriptor, barrier, moved(first[1], column), moved(first[0], row)};
      llvm::append_range(operands, further);
      std::string places = "$3, $4", constraints = "r,l,r,r,r";
      for (size_t d = 0; d < further.size(); ++d) places += fmt::format(", ${}", d + 5), constraints += ",r";
      assembly(to, {}, operands,
               fmt::format("cp.async.bulk.tensor.{}d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {{{}}}], [$2];",
                           further.size() + 2, places),
               constraints + ",~{memory}");
    }
}

}  // namespace

LogicalResult copyBoxes(Lowering& to, tilegpu::CopyAsyncOp op) {
  FailureOr<Slot> slot = Slot::create(to, op, op.getBuffer(), op.getSlot());
  if (failed(slot)) return failure();
  DictionaryAttr map = tensorMapOf(op, *op.getMap());
  Value wanted = op.getPred() ? to.scalar(op.getPred()) : Value();
  auto madeBy = op->getAttrOfType<StringAttr>(tilegpu::kMadeByAttr);
  if (madeBy && madeBy.getValue() == tilegpu::kMadeElsewhere) return success();
  bool released = tilegpu::isReleased(op.getBuffer());
  SmallVector<Value> further = furtherCoordinates(to, op, op.getCoordinates(), map), first;
  for (Value offset : to.window(op.getPtr()).offsets) first.push_back(coordinate(to, offset));
  auto copy = [&] {
    if (released) wait(to, slot->empty(), arith::XOrIOp::create(to.b, slot->parity(kEmpty), to.i32(1)));
    Value full = slot->full();
    assembly(to, {}, {full, to.i32(slot->type().getSlotBytes())}, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
             "r,r,~{memory}");
    copyEachBox(to, op, map, *slot, full, first, further);
  };
  if (!madeBy)
    byOneThread(to, wanted, copy);
  else if (wanted)
    inBranch(to, wanted, copy);
  else
    copy();
  if (released) slot->flip(kEmpty, wanted);
  return success();
}

LogicalResult waitForBoxes(Lowering& to, tilegpu::CopyWaitOp op) {
  FailureOr<Slot> slot = Slot::create(to, op, op.getBuffer(), op.getSlot());
  if (failed(slot)) return failure();
  wait(to, slot->full(), slot->parity(kFull));
  slot->flip(kFull, Value());
  return success();
}

LogicalResult Machine::release(Lowering& to, tilegpu::ReleaseOp op) {
  FailureOr<Slot> slot = Slot::create(to, op, op.getBuffer(), op.getSlot());
  if (failed(slot)) return failure();
  // The arrival of one lane speaks for what the others have read; behind matrix instructions they are together anyway.
  if (llvm::any_of(op.getBuffer().getUsers(), llvm::IsaPred<tilegpu::LoadBufferOp>)) NVVM::SyncWarpOp::create(to.b, to.i32(-1));
  Value first = arith::CmpIOp::create(to.b, arith::CmpIPredicate::eq, to.lane, to.i32(0));
  assembly(to, {}, {slot->empty(), first}, "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}");
  return success();
}

LogicalResult Machine::initBarriers(Lowering& to, tilegpu::InitBarriersOp op) {
  auto function = op->getParentOfType<func::FuncOp>();
  int64_t warps = tilegpu::warpsOf(function);
  byOneThread(to, Value(), [&] {
    function.walk([&](tilegpu::AllocOp alloc) {
      if (!alloc.getBarriers()) return;
      int64_t slots = alloc.getResult().getType().getSlots(), released = tilegpu::isReleased(alloc.getResult()) ? slots : 0;
      for (int64_t i = 0; i < slots + released; ++i) {
        Value base = LLVM::PtrToIntOp::create(to.b, to.b.getI32Type(), to.sharedBase);
        Value at = arith::AddIOp::create(to.b, base, to.i32(static_cast<int64_t>(*alloc.getBarriers()) + kBarrierBytes * i));
        assembly(to, {}, {at, to.i32(i < slots ? 1 : warps)}, "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}");
      }
    });
    assembly(to, {}, {}, "fence.mbarrier_init.release.cluster;", "~{memory}");
    for (Value map : to.tensorMaps) assembly(to, {}, {map}, "prefetch.tensormap [$0];", "l,~{memory}");
  });
  return success();
}

}  // namespace fattn::nvidia
