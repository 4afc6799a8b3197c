// SPDX-License-Identifier: Apache-2.0
// Element by element: a row of any length begins at any place, so neither matrices nor vectors nor a linear layout serve.
//
//   store_buffer %x, %m[0] {extents = [3, 5]} : 4x8xf32         @(row < 3 and column < 5) st.shared [%m + 4 * (5 * row + column)], %x
//
// An element outside of the extents is not stored. A load takes the buffer's first element for it, which is memory that has been written.
// Test: tests/lit/nvidia/shared-rows.mlir.
#include "compiler/gpu/lower/SharedRows.h"

#include <map>

#include "compiler/gpu/lower/WindowAccess.h"
#include "compiler/layout/Queries.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::gpu {

using layout::Coords, layout::kRegister, layout::LinearLayout;

namespace {

class Rows {
 public:
  static FailureOr<Rows> create(Lowering& to, Operation* op, Value buffer, Value slot, RankedTensorType tile, ArrayRef<int64_t> extents) {
    auto alloc = buffer.getDefiningOp<tilegpu::AllocOp>();
    if (!alloc) return op->emitOpError() << "needs a buffer that is the result of tilegpu.alloc";
    if (!alloc.getOffset()) return alloc.emitOpError() << "needs an offset, which -tilegpu-allocate-shared sets";
    auto type = cast<tilegpu::BufferType>(buffer.getType());
    Rows rows(to, tile, extents, type.getElementBytes());
    Value bytes = arith::MulIOp::create(to.b, to.scalar(slot), to.i32(type.getSlotBytes()));
    bytes = arith::AddIOp::create(to.b, bytes, to.i32(static_cast<int64_t>(*alloc.getOffset())));
    rows.base_ = LLVM::GEPOp::create(to.b, to.sharedBase.getType(), to.b.getI8Type(), to.sharedBase, ArrayRef<LLVM::GEPArg>{bytes});
    return rows;
  }

  /// Whether the element of register r is inside of the extents (i1); null where all are.
  Value inside(const Coords& coords) {
    Value result;
    for (auto [d, coordinate] : llvm::enumerate(coords)) {
      if (extents_[d] == shape_[d]) continue;
      auto below = arith::CmpIPredicate::slt;
      result = both(to_->b, result,
                    arith::CmpIOp::create(to_->b, below, at(static_cast<int>(d), coordinate), to_->i32(extents_[d])).getResult());
    }
    return result;
  }

  /// The number of the element among those inside of the extents.
  Value number(const Coords& coords) {
    Value result = to_->i32(0);
    for (auto [d, coordinate] : llvm::enumerate(coords)) {
      result = arith::MulIOp::create(to_->b, result, to_->i32(extents_[d]));
      result = arith::AddIOp::create(to_->b, result, at(static_cast<int>(d), coordinate));
    }
    return result;
  }

  Value pointer(Value number) {
    Value bytes = arith::MulIOp::create(to_->b, number, to_->i32(elementBytes_));
    return LLVM::GEPOp::create(to_->b, base_.getType(), to_->b.getI8Type(), base_, ArrayRef<LLVM::GEPArg>{bytes});
  }

  /// The registers with elements of their own, by coordinates in the first thread.
  std::map<Coords, int64_t> elements() const {
    std::map<Coords, int64_t> result;
    for (int64_t r = 0; r < layout_->inputSize(kRegister); ++r) result.try_emplace(Lowering::registerPart(*layout_, r), r);
    return result;
  }

 private:
  Rows(Lowering& to, RankedTensorType tile, ArrayRef<int64_t> extents, int64_t elementBytes)
      : to_(&to), layout_(tilegpu::layoutOf(tile)), shape_(tile.getShape()), extents_(extents), elementBytes_(elementBytes) {
    for (int d = 0; d < static_cast<int>(shape_.size()); ++d) thread_.push_back(to.threadPart(*layout_, d));
  }

  Value at(int d, int64_t coordinate) {
    Value& known = at_[{d, coordinate}];
    if (!known) known = to_->combine(*layout_, d, thread_[static_cast<size_t>(d)], coordinate);
    return known;
  }

  Lowering* to_;
  const LinearLayout* layout_;
  SmallVector<int64_t> shape_, extents_;
  int64_t elementBytes_;
  Value base_;
  SmallVector<Value> thread_;
  std::map<std::pair<int, int64_t>, Value> at_;
};

}  // namespace

LogicalResult loadRows(Lowering& to, tilegpu::LoadBufferOp op) {
  RankedTensorType type = op.getResult().getType();
  Type element = type.getElementType();
  FailureOr<Rows> rows = Rows::create(to, op, op.getBuffer(), op.getSlot(), type, op.getExtents());
  if (failed(rows)) return failure();
  std::map<Coords, Value> loaded;
  auto bytes = static_cast<unsigned>(tilegpu::elementBits(element) / 8);
  for (const auto& [coords, r] : rows->elements()) {
    Value number = rows->number(coords);
    if (Value inside = rows->inside(coords)) number = arith::SelectOp::create(to.b, inside, number, to.i32(0));
    Value value = LLVM::LoadOp::create(to.b, memoryType(to, element, 1), rows->pointer(number), bytes);
    loaded[coords] = fromMemory(to, value, element, 1).front();
  }
  const LinearLayout& layout = *tilegpu::layoutOf(type);
  Registers result;
  for (int64_t r = 0; r < layout.inputSize(kRegister); ++r) result.push_back(loaded.at(Lowering::registerPart(layout, r)));
  to.set(op.getResult(), std::move(result));
  return success();
}

LogicalResult storeRows(Lowering& to, tilegpu::StoreBufferOp op) {
  RankedTensorType type = op.getValue().getType();
  Type element = type.getElementType();
  FailureOr<Rows> rows = Rows::create(to, op, op.getBuffer(), op.getSlot(), type, op.getExtents());
  if (failed(rows)) return failure();
  Value holder = isHolder(to, layout::holdersOf(*tilegpu::layoutOf(type)));
  const Registers registers = to.registers(op.getValue());
  for (const auto& [coords, r] : rows->elements())
    to.machine.storeShared(to.b, rows->pointer(rows->number(coords)), toMemory(to, registers[static_cast<size_t>(r)], element),
                           both(to.b, holder, rows->inside(coords)));
  return success();
}

}  // namespace fattn::gpu
