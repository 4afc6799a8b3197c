// SPDX-License-Identifier: Apache-2.0
// What needs other warps' data goes through shared memory, so that every conversion, reduction and running sum left stays within a warp:
//
//   %y = tilegpu.convert_layout %x : #a -> #b            =>    %m = tilegpu.alloc : !tilegpu.buffer<1 x 64x64xf16, swizzle for #a and #b>
//   (of kind "shared")                                         tilegpu.store_buffer %x, %m[0]
//                                                              %y = tilegpu.load_buffer %m[0]
//
//   %s = tile.reduce %x axis 1                           =>    %p = tile.reshape %x : 64x256 -> 64x4x64          // 4 warps side by side
//   (columns shared by 4 warps)                                %q = tile.reduce %p axis 2                        // within each warp
//                                                              %r = tilegpu.convert_layout %q                    // 64x4, rows whole in a
//                                                              thread %s = tile.reduce %r axis 1                        // in registers
//
//   %y = tilegpu.reshape %x from [3, 5] to [5, 3]        =>    store_buffer and load_buffer with extents, row by row
//
//   %s = tile.cumsum %x axis 1                           =>    %w = tile.cumsum %p axis 2                        // within each warp
//                                                              %t = tile.reduce %p axis 2                        // the warps' totals
//                                                              addf %w, the sum of the totals of the warps before
//
// Assumptions: A1 every tile has a layout; A2 barriers are placed later. Test: tests/lit/gpu/decompose-conversions.mlir.
#include "compiler/gpu/passes/layouts/DecomposeConversions.h"

#include "compiler/gpu/passes/Passes.h"
#include "compiler/layout/Conversion.h"
#include "fattn/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_DECOMPOSECONVERSIONSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

using layout::Conversion, layout::ConversionKind, layout::LinearLayout;

/// The same tile, of elements that memory can hold.
FailureOr<Value> toStorage(OpBuilder& b, Operation* op) {
  Value input = op->getOperand(0);
  auto type = cast<RankedTensorType>(input.getType());
  if (tile::isStorageType(type.getElementType())) return input;
  if (!type.getElementType().isIndex()) {
    op->emitOpError() << "cannot move elements of type " << type.getElementType()
                      << " between warps; legal are numbers, from which addresses are computed where they are used";
    return failure();
  }
  return arith::IndexCastOp::create(b, op->getLoc(), type.clone(b.getI64Type()), input).getResult();
}

LogicalResult throughShared(ConvertLayoutOp op) {
  RankedTensorType type = op.getInput().getType();
  const LinearLayout &from = *layoutOf(type), &into = *layoutOf(op.getResult());
  Conversion plan = layout::planConversion(from, into, elementBits(type.getElementType()), banksOf(op));
  if (plan.kind != ConversionKind::Shared) return success();
  OpBuilder b(op);
  FailureOr<Value> value = toStorage(b, op);
  if (failed(value)) return failure();
  Type element = cast<RankedTensorType>(value->getType()).getElementType();
  auto shared = SharedAttr::get(op.getContext(), plan.shared->layout.elements());
  auto buffer = AllocOp::create(b, op.getLoc(), BufferType::get(op.getContext(), 1, type.getShape(), element, shared), IntegerAttr(),
                                IntegerAttr(), IntegerAttr());
  Value slot = arith::ConstantIntOp::create(b, op.getLoc(), 0, 32);
  StoreBufferOp::create(b, op.getLoc(), *value, buffer, slot);
  Type loaded = op.getResult().getType().clone(element);
  Value result = LoadBufferOp::create(b, op.getLoc(), loaded, buffer, slot);
  if (loaded != op.getResult().getType()) result = arith::IndexCastOp::create(b, op.getLoc(), op.getResult().getType(), result);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
  return success();
}

/// The elements that there are lie in memory one after the other, row by row.
LogicalResult reshapeThroughShared(ReshapeOp op) {
  OpBuilder b(op);
  FailureOr<Value> value = toStorage(b, op);
  if (failed(value)) return failure();
  Type element = cast<RankedTensorType>(value->getType()).getElementType();
  int64_t count = 1;
  for (int64_t extent : op.getFrom()) count *= extent;
  auto shared = SharedAttr::get(op.getContext(), LinearLayout::identity(layout::kOffset, count, layout::dim(0)));
  auto buffer = AllocOp::create(b, op.getLoc(), BufferType::get(op.getContext(), 1, count, element, shared), IntegerAttr(), IntegerAttr(),
                                IntegerAttr());
  Value slot = arith::ConstantIntOp::create(b, op.getLoc(), 0, 32);
  StoreBufferOp::create(b, op.getLoc(), *value, buffer, slot, op.getFromAttr());
  Type loaded = op.getResult().getType().clone(element);
  Value result = LoadBufferOp::create(b, op.getLoc(), loaded, buffer, slot, b.getDenseI64ArrayAttr({}), op.getToAttr());
  if (loaded != op.getResult().getType()) result = arith::IndexCastOp::create(b, op.getLoc(), op.getResult().getType(), result);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
  return success();
}

struct DecomposeConversionsPass : impl::DecomposeConversionsPassBase<DecomposeConversionsPass> {
  /// Calls `rewrite` on all operations of one kind, of which new ones may come.
  template <typename Op, typename Rewrite>
  LogicalResult each(Rewrite rewrite) {
    SmallVector<Op> ops;
    getOperation().walk([&](Op op) { ops.push_back(op); });
    for (Op op : ops) {
      try {
        if (failed(rewrite(op))) return failure();
      } catch (const Error& error) {  // the layout library's
        return op.emitOpError() << "cannot be decomposed: " << error.what();
      }
    }
    return success();
  }

  void runOnOperation() override {
    bool done = succeeded(each<ReshapeOp>(reshapeThroughShared)) && succeeded(each<tile::CumsumOp>(sumWithinWarps)) &&
                succeeded(each<tile::ReduceOp>(reduceAcrossWarps)) && succeeded(each<ConvertLayoutOp>(throughShared));
    if (!done) signalPassFailure();
  }
};

}  // namespace

}  // namespace fattn::tilegpu
