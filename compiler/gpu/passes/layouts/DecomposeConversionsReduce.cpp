// SPDX-License-Identifier: Apache-2.0
// Reductions across warps, for -tilegpu-decompose-conversions.
//
// The dimension is split where the bits that warps choose begin and end: 256 columns, of which a lane's registers and lanes choose the low
// 64 and warps the rest, become 4 x 64. What no warp chooses is reduced first, and of that what a thread has in its own registers, so that
// lanes exchange one number and not one for each part. The results, one a warp, are few, and a conversion gives every thread all those of
// its lines. A dimension that cannot be split (a layout in which lanes and warps are xored) is converted as a whole.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/layouts/DecomposeConversions.h"
#include "compiler/layout/Queries.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

using layout::LinearLayout;

/// The author's combination, on other tiles.
SmallVector<Value> reduce(OpBuilder& b, tile::ReduceOp like, ArrayRef<Value> inputs, int axis, const LinearLayout& result) {
  SmallVector<Type> types;
  for (Value input : inputs) {
    auto type = cast<RankedTensorType>(input.getType());
    types.push_back(withLayout(RankedTensorType::get(without(type.getShape(), axis), type.getElementType()), result));
  }
  auto op = tile::ReduceOp::create(b, like.getLoc(), types, inputs, axis);
  IRMapping mapping;
  like.getCombine().cloneInto(&op.getCombine(), mapping);
  return SmallVector<Value>(op.getResults());
}

/// The results of the warps, one after the other: a dimension for each part that warps choose.
SmallVector<Value> reduceWithinWarps(OpBuilder& b, tile::ReduceOp op, ArrayRef<Part> parts) {
  auto axis = static_cast<int>(op.getAxis());
  SmallVector<Value> values;
  LinearLayout layout = splitDimension(*layoutOf(op.getInputs().front()), axis, parts);
  for (Value input : op.getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<int64_t> shape = without(type.getShape(), axis);
    for (const Part& part : parts) shape.insert(shape.begin() + axis, part.size);
    RankedTensorType split = withLayout(RankedTensorType::get(shape, type.getElementType()), layout);
    values.push_back(split == type ? input : tile::ReshapeOp::create(b, op.getLoc(), split, input).getResult());
  }
  // The lowest part is the last of the new dimensions.
  SmallVector<int> within, acrossLanes;
  for (int d = axis + static_cast<int>(parts.size()) - 1; const Part& part : parts) {
    const bool inRegisters = layout::planReduction(layout, d).shuffles.empty();
    if (!part.byWarps) (inRegisters ? within : acrossLanes).push_back(d);
    --d;
  }
  within.append(acrossLanes);
  for (size_t i = 0; i < within.size(); ++i) {
    values = reduce(b, op, values, within[i], layout::planReduction(*layoutOf(values.front()), within[i]).result);
    for (int& later : MutableArrayRef<int>(within).drop_front(i + 1)) later -= later > within[i] ? 1 : 0;
  }
  return values;
}

}  // namespace

LogicalResult reduceAcrossWarps(tile::ReduceOp op) {
  auto axis = static_cast<int>(op.getAxis());
  const LinearLayout& layout = *layoutOf(op.getInputs().front());
  if (!crossesWarps(op)) return success();
  OpBuilder b(op);
  SmallVector<Part> parts = partsOf(layout, axis);
  SmallVector<Value> values = parts.empty() ? SmallVector<Value>(op.getInputs()) : reduceWithinWarps(b, op, parts);
  LinearLayout lines = layout::planReduction(layout, axis).result.asTile(static_cast<int>(layout.outputs().size()) - 1);
  // One dimension a part of warps, or the whole one: in registers, highest first.
  auto rank = cast<RankedTensorType>(values.front().getType()).getRank();
  for (int64_t left = rank - static_cast<int64_t>(lines.outputs().size()); left > 0; --left) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(values.front().getType()).getShape();
    LinearLayout whole = lines;
    for (int64_t d = left - 1; d >= 0; --d) whole = wholeLines(whole, axis, shape[static_cast<size_t>(axis + d)]);
    values = convert(b, op.getLoc(), values, whole);
    values = reduce(b, op, values, axis, layout::planReduction(whole, axis).result);
  }
  values = convert(b, op.getLoc(), values, *layoutOf(op.getResults().front()));
  op.replaceAllUsesWith(values);
  op.erase();
  return success();
}

}  // namespace fattn::tilegpu
