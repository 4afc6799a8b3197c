// SPDX-License-Identifier: Apache-2.0
// Stores of boxes by the tensor memory accelerator (TMA), and additions of boxes to memory. A warp needs no other one for them:
//
//   one thread   where a loop, a block's next program or a store before lays boxes there: wait until the engine has read the last ones
//                (cp.async.bulk.commit_group, which makes them a group, and cp.async.bulk.wait_group.read)
//   all lanes    lay the warp's rows into the buffer (stmatrix), and make that visible to the engine (fence.proxy.async)
//   one thread   cp.async.bulk.tensor, or cp.reduce.async.bulk.tensor, for each box
//
// Where another role sends the boxes (-tilegpu-split-roles), two barriers stand for the buffer, as for what an engine fills
// (BoxCopies.cpp):
//
//   store_boxes (each warp)   wait for empty; lay the warp's part into the buffer, and fence it; arrive on full
//   send_boxes (one thread)   wait for full; cp.reduce.async.bulk.tensor for each box of the tile; wait until the engine has read them;
//                             arrive on empty
//
// elect.sync names the same thread each time, as groups belong to a thread. Behind its last store it waits until the engine has read all
// of them: the block's shared memory goes with the block. What the engine writes is there when the grid has ended. To close a group takes
// until the engine has accepted its boxes, some hundred clocks, so that this is done where the thread waits in any case.
//
// Sources: PTX ISA 8.7, "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", "cp.async.bulk.wait_group", "elect.sync", "Async proxy".
// Test: tests/lit/nvidia/box-stores.mlir.
#include <fmt/format.h>

#include "compiler/gpu/lower/BufferAccess.h"
#include "compiler/nvidia/Boxes.h"
#include "compiler/nvidia/Machine.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace fattn::nvidia {

using gpu::Lowering;

namespace {

/// Until the engine has read shared memory for all of the thread's stores. By all lanes: a branch around it costs more, and those that have
/// sent nothing pass.
void waitForReads(Lowering& to) {
  assembly(to, {}, {}, "cp.async.bulk.commit_group;", "~{memory}");
  assembly(to, {}, {}, "cp.async.bulk.wait_group.read 0;", "~{memory}");
}

void byOneThread(Lowering& to, llvm::function_ref<void()> emit) {
  inBranch(to, NVVM::ElectSyncOp::create(to.b, to.b.getI1Type(), Value()), emit);
}

/// The layout of the warp's rows as its first lane has them, for all lanes.
layout::LinearLayout ofFirstLane(const layout::LinearLayout& layout) {
  std::vector<layout::LinearLayout::Input> inputs;
  for (const layout::Axis& in : layout.inputs()) {
    inputs.push_back({in.name, {}});
    for (int bit = 0; bit < in.bits; ++bit) {
      layout::Coords image = layout.linearPart().at({{in.name, std::int64_t{1} << bit}});
      inputs.back().bases.push_back(in.name == layout::kLane ? layout::Coords(image.size()) : image);
    }
  }
  return layout::LinearLayout(inputs, layout.outputs(), layout.repeats());
}

/// The warp's rows of the tile into the buffer.
LogicalResult layRows(Lowering& to, tilegpu::StoreBoxesOp op, Value slot) {
  OpBuilder b(op);
  auto rows = tilegpu::StoreBufferOp::create(b, op.getLoc(), op.getValue(), op.getBuffer(), slot);
  LogicalResult result = to.machine.storeBuffer(to, rows);
  rows.erase();
  return result;
}

/// The register of the first lane that holds the first element, of each of the warp's boxes.
SmallVector<int64_t> boxesOf(const layout::LinearLayout& layout, ArrayRef<int64_t> box) {
  SmallVector<int64_t> result;
  for (int64_t r = 0; r < layout.inputSize(layout::kRegister); ++r) {
    layout::Coords at = Lowering::registerPart(layout, r);
    if (at[0] % box[1] == 0 && at[1] % box[0] == 0) result.push_back(r);
  }
  return result;
}

/// cp.async.bulk.tensor for a box at a place in shared memory, or cp.reduce.async.bulk.tensor where it is added.
void storeBox(Lowering& to, Value map, bool adds, Value bytes, Value row, Value column, ArrayRef<Value> further) {
  SmallVector<Value> operands = {map, bytes, column, row};
  llvm::append_range(operands, further);
  std::string places = "$2, $3", constraints = "l,r,r,r";
  for (size_t d = 0; d < further.size(); ++d) places += fmt::format(", ${}", d + 4), constraints += ",r";
  assembly(to, {}, operands,
           fmt::format("{}.async.bulk.tensor.{}d.global.shared::cta{}.bulk_group [$0, {{{}}}], [$1];", adds ? "cp.reduce" : "cp",
                       further.size() + 2, adds ? ".add.tile" : "", places),
           constraints + ",~{memory}");
}

/// Each of the warp's boxes.
LogicalResult storeEachBox(Lowering& to, tilegpu::StoreBoxesOp op, Value slot) {
  const layout::LinearLayout layout = ofFirstLane(*tilegpu::layoutOf(op.getValue()));
  FailureOr<gpu::BufferAccess> access = gpu::BufferAccess::create(to, op, op.getBuffer(), slot, layout, {});
  if (failed(access)) return failure();
  DictionaryAttr map = tensorMapOf(op, op.getMap());
  ArrayRef<int64_t> box = cast<DenseI64ArrayAttr>(map.get("box")).asArrayRef();
  SmallVector<Value> further = furtherCoordinates(to, op, op.getCoordinates(), map), first;
  for (auto [d, offset] : llvm::enumerate(to.window(op.getPtr()).offsets))
    first.push_back(arith::AddIOp::create(to.b, coordinate(to, offset), to.threadPart(layout, static_cast<int>(d))));
  for (int64_t r : boxesOf(layout, box)) {
    layout::Coords at = Lowering::registerPart(layout, r);
    auto moved = [&](Value place, int64_t by) { return by ? arith::AddIOp::create(to.b, place, to.i32(by)).getResult() : place; };
    Value bytes = LLVM::PtrToIntOp::create(to.b, to.b.getI32Type(), access->pointer(r));
    storeBox(to, to.tensorMaps[op.getMap()], op.getAdd(), bytes, moved(first[0], at[0]), moved(first[1], at[1]), further);
  }
  return success();
}

}  // namespace

/// The number of a buffer's only slot, in front of the operation.
static Value onlySlot(Lowering& to, Operation* op) {
  OpBuilder before(op);
  auto slot = arith::ConstantIntOp::create(before, op->getLoc(), 0, 32);
  to.setScalar(slot, to.i32(0));
  return slot;
}

/// The warp's part of a store that another role sends, when the tile before has been sent.
static LogicalResult layForOthers(Lowering& to, tilegpu::StoreBoxesOp op) {
  const Value number = onlySlot(to, op);
  FailureOr<BoxSlot> slot = BoxSlot::create(to, op, op.getBuffer(), number);
  if (failed(slot)) return failure();
  slot->waitUntilEmpty();
  slot->flip(BoxSlot::kEmpty, Value());
  if (failed(layRows(to, op, number))) return failure();
  assembly(to, {}, {}, "fence.proxy.async.shared::cta;", "~{memory}");
  NVVM::SyncWarpOp::create(to.b, to.i32(-1));
  arriveForWarp(to, slot->full());
  return success();
}

LogicalResult Machine::sendBoxes(Lowering& to, tilegpu::SendBoxesOp op) {
  FailureOr<BoxSlot> slot = BoxSlot::create(to, op, op.getBuffer(), onlySlot(to, op));
  if (failed(slot)) return failure();
  DictionaryAttr map = tensorMapOf(op, op.getMap());
  SmallVector<Value> further = furtherCoordinates(to, op, op.getCoordinates(), map), first;
  for (Value offset : to.window(op.getPtr()).offsets) first.push_back(coordinate(to, offset));
  slot->waitUntilFull();
  slot->flip(BoxSlot::kFull, Value());
  forEachBox(to, map, *slot, first, [&](Value bytes, Value row, Value column) {
    storeBox(to, to.tensorMaps[op.getMap()], op.getAdd(), bytes, row, column, further);
  });
  waitForReads(to);
  assembly(to, {}, {slot->empty()}, "mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}");
  return success();
}

LogicalResult Machine::storeBoxes(Lowering& to, tilegpu::StoreBoxesOp op) {
  if (tilegpu::isMadeElsewhere(op)) return layForOthers(to, op);
  const Value slot = onlySlot(to, op);
  const bool isFollowing = llvm::any_of(op.getBuffer().getUsers(), [&](Operation* other) {
    return isa<tilegpu::StoreBoxesOp>(other) && other->getBlock() == op->getBlock() && other->isBeforeInBlock(op);
  });
  if (isFollowing || op->getParentOfType<LoopLikeOpInterface>() || op->getParentOfType<tilegpu::EachProgramOp>()) {
    if (!op.getAwaited()) waitForReads(to);
    NVVM::SyncWarpOp::create(to.b, to.i32(-1));
  }
  const Value lane = to.lane, warp = to.warp;
  to.lane = computedHere(to, lane);
  // The assembler sees from this form of the warp's number that its boxes' places are the same in all lanes.
  to.warp = computedHere(to, to.uniformWarp ? to.uniformWarp : warp);
  LogicalResult result = layRows(to, op, slot);
  assembly(to, {}, {}, "fence.proxy.async.shared::cta;", "~{memory}");
  NVVM::SyncWarpOp::create(to.b, to.i32(-1));
  byOneThread(to, [&] {
    if (succeeded(result)) result = storeEachBox(to, op, slot);
  });
  to.lane = lane, to.warp = warp;
  return result;
}

LogicalResult Machine::awaitSent(Lowering& to, tilegpu::AwaitSentOp) {
  waitForReads(to);
  return success();
}

void Machine::endStores(Lowering& to) { waitForReads(to); }

}  // namespace fattn::nvidia
