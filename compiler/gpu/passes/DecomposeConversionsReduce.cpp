// SPDX-License-Identifier: Apache-2.0
// Reductions across warps, and running sums, for -tilegpu-decompose-conversions.
//
// The dimension is split where the bits that warps choose begin and end: 256 columns, of which a lane's registers and lanes choose the low
// 64 and warps the rest, become 4 x 64. What no warp chooses is reduced first; the results, one a warp, are few, and a conversion gives
// every thread all those of its lines. A dimension that cannot be split (a layout in which lanes and warps are xored) is converted as a
// whole.
#include <numeric>

#include "compiler/gpu/passes/DecomposeConversions.h"
#include "compiler/layout/Queries.h"
#include "compiler/layout/Tiling.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

using layout::kLane, layout::kRegister, layout::kWarp;
using layout::LinearLayout;

/// A part of a dimension: neighbouring bits, chosen by warps or not.
struct Part {
  int bits = 0;
  int64_t size = 1;
  bool byWarps = false;
};

bool crossesWarps(const LinearLayout& layout, int axis) {
  layout::ReductionPlan plan = layout::planReduction(layout, axis);
  return !plan.warps.empty() || !plan.warpCopies.empty();
}

/// The parts of dimension `axis`, lowest first; empty where it cannot be split.
SmallVector<Part> partsOf(const LinearLayout& layout, int axis) {
  uint64_t byWarps = 0, byOthers = 0;
  for (const layout::Axis& in : layout.inputs())
    for (int bit = 0; bit < in.bits; ++bit) {
      auto image = static_cast<uint64_t>(layout.linearPart().at({{in.name, int64_t{1} << bit}})[static_cast<size_t>(axis)]);
      (in.name == kWarp ? byWarps : byOthers) |= image;
    }
  if (byWarps & byOthers) return {};
  SmallVector<Part> parts;
  const layout::Axis& out = layout.outputs()[static_cast<size_t>(axis)];
  auto extend = [&](int bits, int64_t size, bool warps) {
    if (parts.empty() || parts.back().byWarps != warps) parts.push_back({0, 1, warps});
    parts.back().bits += bits;
    parts.back().size *= size;
  };
  for (int bit = 0; bit < out.bits; ++bit) extend(1, 2, (byWarps >> bit & 1) != 0);
  // An odd number of copies lies above all bits, and a part has room for nothing above them.
  SmallVector<const layout::Repeat*> odd;
  for (const layout::Repeat& repeat : layout.repeats())
    if (repeat.out == out.name) odd.push_back(&repeat);
  for (const layout::Repeat* repeat : odd) {
    if (odd.size() > 1 && repeat->in != odd.front()->in) return {};
    extend(0, repeat->count, repeat->in == kWarp);
  }
  return parts;
}

/// The same layout, with dimension `axis` as several: parts.back() first, as its numbers are the highest.
LinearLayout splitDimension(const LinearLayout& layout, int axis, ArrayRef<Part> parts) {
  int extra = static_cast<int>(parts.size()) - 1;
  std::vector<layout::Axis> outputs;
  for (auto [d, out] : llvm::enumerate(layout.outputs())) {
    if (static_cast<int>(d) != axis) {
      outputs.push_back({layout::dim(static_cast<int>(outputs.size())), out.bits});
      continue;
    }
    for (const Part& part : llvm::reverse(parts)) outputs.push_back({layout::dim(static_cast<int>(outputs.size())), part.bits});
  }
  std::vector<LinearLayout::Input> inputs;
  for (const layout::Axis& in : layout.inputs()) {
    inputs.push_back({in.name, {}});
    for (int bit = 0; bit < in.bits; ++bit) {
      layout::Coords image = layout.linearPart().at({{in.name, int64_t{1} << bit}}), split;
      for (auto [d, number] : llvm::enumerate(image)) {
        if (static_cast<int>(d) != axis) {
          split.push_back(number);
          continue;
        }
        int above = std::accumulate(parts.begin(), parts.end(), 0, [](int sum, const Part& part) { return sum + part.bits; });
        for (const Part& part : llvm::reverse(parts)) {
          above -= part.bits;
          split.push_back(number >> above & ((int64_t{1} << part.bits) - 1));
        }
      }
      inputs.back().bases.push_back(std::move(split));
    }
  }
  std::vector<layout::Repeat> repeats = layout.repeats();
  for (layout::Repeat& repeat : repeats)
    for (int d = axis + 1; d < static_cast<int>(layout.outputs().size()); ++d)
      if (repeat.out == layout::dim(d)) {
        repeat.out = layout::dim(d + extra);
        break;
      }
  return LinearLayout(inputs, outputs, repeats);
}

/// The tile's lines along `axis`, of `size` elements, in the registers of whoever holds a line in `lines`, the layout without that
/// dimension.
LinearLayout wholeLines(const LinearLayout& lines, int axis, int64_t size) {
  int rank = static_cast<int>(lines.outputs().size()) + 1;
  LinearLayout elements = LinearLayout::identity(kRegister, size, layout::dim(axis)), others = lines.expand(axis);
  // Odd numbers of copies come above powers of two.
  bool oddSize = !elements.repeats().empty();
  return (oddSize ? others * elements : elements * others).asTile(rank);
}

SmallVector<int64_t> without(ArrayRef<int64_t> shape, int64_t axis) {
  SmallVector<int64_t> result(shape);
  result.erase(result.begin() + axis);
  return result;
}

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

SmallVector<Value> convert(OpBuilder& b, Location loc, ArrayRef<Value> values, const LinearLayout& layout) {
  SmallVector<Value> result;
  for (Value value : values) {
    RankedTensorType type = withLayout(cast<RankedTensorType>(value.getType()), layout);
    result.push_back(type == value.getType() ? value : ConvertLayoutOp::create(b, loc, type, value).getResult());
  }
  return result;
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
  for (int d = axis + static_cast<int>(parts.size()) - 1; const Part& part : parts) {
    if (!part.byWarps) values = reduce(b, op, values, d, layout::planReduction(*layoutOf(values.front()), d).result);
    --d;
  }
  return values;
}

}  // namespace

LogicalResult reduceAcrossWarps(tile::ReduceOp op) {
  auto axis = static_cast<int>(op.getAxis());
  const LinearLayout& layout = *layoutOf(op.getInputs().front());
  if (!crossesWarps(layout, axis)) return success();
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

LogicalResult sumInOneThread(tile::CumsumOp op) {
  auto axis = static_cast<int>(op.getAxis());
  RankedTensorType type = op.getInput().getType();
  const LinearLayout& layout = *layoutOf(type);
  layout::ReductionPlan plan = layout::planReduction(layout, axis);
  if (plan.shuffles.empty() && plan.warps.empty() && plan.warpCopies.empty()) return success();
  // Lines are spread over as many threads as there are.
  SmallVector<int64_t> shape = without(type.getShape(), axis);
  int64_t lanes = layout.inputSize(kLane), warps = layout.inputSize(kWarp);
  LinearLayout lines = LinearLayout::broadcast(kLane, lanes) * LinearLayout::broadcast(kWarp, warps);
  if (!shape.empty()) {
    std::vector<int> order(shape.size());
    std::iota(order.rbegin(), order.rend(), 0);
    lines = layout::blocked({.shape = layout::Coords(shape.begin(), shape.end()),
                             .order = order,
                             .elementBits = 32,
                             .lanes = static_cast<int>(lanes),
                             .warps = warps,
                             .vectorBytes = 4});
  }
  OpBuilder b(op);
  LinearLayout whole = wholeLines(lines.asTile(static_cast<int>(shape.size())), axis, type.getDimSize(axis));
  Value input = convert(b, op.getLoc(), {op.getInput()}, whole).front();
  Value sum = tile::CumsumOp::create(b, op.getLoc(), input.getType(), input, op.getAxisAttr(), op.getReverseAttr());
  op.getResult().replaceAllUsesWith(convert(b, op.getLoc(), {sum}, layout).front());
  op.erase();
  return success();
}

}  // namespace fattn::tilegpu
