// SPDX-License-Identifier: Apache-2.0
// Running sums across warps, for -tilegpu-decompose-conversions.
//
// The dimension is split as for a reduction, into parts that warps choose and parts that they do not, lowest first. The lowest part is
// summed within each warp. Then, part by part, the totals of the blocks below it say what comes before each block:
//
//   256 columns = 2 x 4 x 32, of which warps choose the 4:
//   %s = tile.cumsum %x axis 2                                       // 2 x 4 x 32, within a warp
//   %t = tile.reduce %x axis 2 {add}                                 // 2 x 4: one total a warp
//   %w = convert_layout %t                                           // every warp has the totals of all 4
//   %e = tile.reduce (select %w where it comes before, else 0)       // 2 x 4: what comes before the warp
//   %u = tile.reduce %w {add}                                        // 2
//   %f = tile.cumsum %u {tilegpu.exclusive}                          // 2: what comes before the 4 x 32
//   %r = %s + (%e + %f)
//
// Only totals go through shared memory. A warp reads those of every block that warps share, which are many where warps choose low bits of
// the dimension: each has every fourth element then, say. Such a tile is converted to a layout in which the elements of a warp are
// neighbours, and back; so is one in which lanes and warps are mixed along the dimension.
#include <numeric>

#include "compiler/gpu/passes/layouts/DecomposeConversions.h"
#include "compiler/layout/Queries.h"
#include "compiler/layout/Tiling.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

using layout::kLane, layout::kWarp, layout::LinearLayout;

RankedTensorType tileOf(ArrayRef<int64_t> shape, Type element, const LinearLayout& layout) {
  return withLayout(RankedTensorType::get(shape, element), layout);
}

/// One element a line: dimension d collapsed to size 1.
LinearLayout collapsed(const LinearLayout& layout, int d) { return layout.slice(d).expand(d); }

class WarpScan {
 public:
  WarpScan(tile::CumsumOp op, Value input, ArrayRef<Part> parts)
      : b_(op), op_(op), loc_(op.getLoc()), axis_(static_cast<int>(op.getAxis())), parts_(parts) {
    element_ = op.getInput().getType().getElementType();
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<int64_t> shape = without(type.getShape(), axis_);
    for (const Part& part : parts) shape.insert(shape.begin() + axis_, part.size);
    RankedTensorType split = tileOf(shape, element_, splitDimension(*layoutOf(type), axis_, parts));
    input_ = split == type ? input : tile::ReshapeOp::create(b_, loc_, split, input).getResult();
  }

  /// The sums in the split tile.
  Value run() {
    Value totals = input_;
    SmallVector<Value> before;  // by part
    Value sums;
    for (auto [i, part] : llvm::enumerate(parts_)) {
      int d = dimOf(i);
      bool last = i + 1 == parts_.size();
      if (part.byWarps) {
        auto [own, all] = acrossWarps(totals, d, last);
        before.push_back(own);
        totals = all;
        if (i == 0) sums = add(input_, own);
        continue;
      }
      before.push_back(cumsum(totals, d, /*exclusive=*/i > 0));
      if (i == 0) sums = before.front();
      if (!last) totals = total(totals, d);
    }
    // What comes before a block: within the next larger block, and before that one.
    Value outside;
    for (size_t i = parts_.size() - 1; i > 0; --i) {
      outside = outside ? add(before[i], spread(outside, before[i], dimOf(i))) : before[i];
    }
    return outside ? add(sums, spread(outside, sums, dimOf(0))) : sums;
  }

 private:
  int dimOf(size_t part) const { return axis_ + static_cast<int>(parts_.size() - 1 - part); }

  static RankedTensorType typeOf(Value v) { return cast<RankedTensorType>(v.getType()); }

  Value add(Value left, Value right) {
    right = convert(b_, loc_, right, *layoutOf(left)).front();
    if (isa<FloatType>(element_)) return arith::AddFOp::create(b_, loc_, left, right);
    return arith::AddIOp::create(b_, loc_, left, right);
  }

  Value cumsum(Value v, int d, bool exclusive) {
    auto sum = tile::CumsumOp::create(b_, loc_, v.getType(), v, b_.getI64IntegerAttr(d), op_.getReverseAttr());
    if (exclusive) sum->setAttr(kExclusiveAttr, b_.getUnitAttr());
    return sum;
  }

  /// The sum along dimension d.
  Value total(Value v, int d) {
    RankedTensorType type = tileOf(without(typeOf(v).getShape(), d), element_, layout::planReduction(*layoutOf(v), d).result);
    auto sum = tile::ReduceOp::create(b_, loc_, TypeRange{type}, ValueRange{v}, static_cast<uint64_t>(d));
    OpBuilder::InsertionGuard guard(b_);
    Block* body = b_.createBlock(&sum.getCombine(), {}, {element_, element_}, {loc_, loc_});
    Value left = body->getArgument(0), right = body->getArgument(1);
    Value both = isa<FloatType>(element_) ? arith::AddFOp::create(b_, loc_, left, right).getResult()
                                          : arith::AddIOp::create(b_, loc_, left, right).getResult();
    tile::YieldOp::create(b_, loc_, both);
    return sum.getResult(0);
  }

  /// `v` without dimension d, repeated along it in the layout of `like`.
  Value spread(Value v, Value like, int d) {
    const LinearLayout& layout = *layoutOf(like);
    LinearLayout one = collapsed(layout, d);
    v = convert(b_, loc_, v, one.slice(d)).front();
    SmallVector<int64_t> shape(typeOf(like).getShape());
    shape[static_cast<size_t>(d)] = 1;
    Type element = typeOf(v).getElementType();
    v = tile::ExpandDimsOp::create(b_, loc_, tileOf(shape, element, one), v, static_cast<uint64_t>(d));
    return tile::BroadcastOp::create(b_, loc_, tileOf(typeOf(like).getShape(), element, layout), v);
  }

  /// The elements' numbers along dimension d of a tile with this shape and layout.
  Value numbers(ArrayRef<int64_t> shape, const LinearLayout& layout, int d) {
    auto rank = static_cast<int>(shape.size());
    std::vector<LinearLayout> layouts = {layout};  // with ever fewer other dimensions
    for (int other = rank - 1; other >= 0; --other)
      if (other != d) layouts.push_back(layouts.back().slice(other));
    SmallVector<int64_t> line = {shape[static_cast<size_t>(d)]};
    Value v = tile::ArangeOp::create(b_, loc_, tileOf(line, b_.getI32Type(), layouts.back()), uint64_t{0});
    for (int other = 0; other < rank; ++other) {
      if (other == d) continue;
      layouts.pop_back();
      SmallVector<int64_t> wide(typeOf(v).getShape());
      wide.insert(wide.begin() + other, 1);
      LinearLayout one = collapsed(layouts.back(), other);
      v = tile::ExpandDimsOp::create(b_, loc_, tileOf(wide, b_.getI32Type(), one), convert(b_, loc_, v, one.slice(other)).front(),
                                     static_cast<uint64_t>(other));
      wide[static_cast<size_t>(other)] = shape[static_cast<size_t>(other)];
      v = tile::BroadcastOp::create(b_, loc_, tileOf(wide, b_.getI32Type(), layouts.back()), v);
    }
    return v;
  }

  /// What comes before the own warp's element along dimension d, and the sum of all of them (null for the last part).
  std::pair<Value, Value> acrossWarps(Value totals, int d, bool last) {
    ArrayRef<int64_t> shape = typeOf(totals).getShape();
    int64_t count = shape[static_cast<size_t>(d)];
    // For each element along d, all of them in registers along d + 1.
    SmallVector<int64_t> pairs(shape);
    pairs.insert(pairs.begin() + d + 1, count);
    LinearLayout each = wholeLines(*layoutOf(totals), d + 1, count);
    Value all = convert(b_, loc_, totals, collapsed(each, d).slice(d)).front();
    SmallVector<int64_t> one(pairs);
    one[static_cast<size_t>(d)] = 1;
    Value others = tile::ExpandDimsOp::create(b_, loc_, tileOf(one, element_, collapsed(each, d)), all, static_cast<uint64_t>(d));
    RankedTensorType type = tileOf(pairs, element_, each);
    others = tile::BroadcastOp::create(b_, loc_, type, others);
    auto isBefore = op_.getReverse() ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt;
    Value before = arith::CmpIOp::create(b_, loc_, isBefore, numbers(pairs, each, d + 1), numbers(pairs, each, d));
    TypedAttr none = isa<FloatType>(element_) ? TypedAttr(b_.getFloatAttr(element_, -0.0)) : TypedAttr(b_.getIntegerAttr(element_, 0));
    Value zero = arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(type, Attribute(none)));
    Value own = total(arith::SelectOp::create(b_, loc_, before, others, zero), d + 1);
    own = convert(b_, loc_, own, *layoutOf(totals)).front();
    return {own, last ? Value() : total(all, d)};
  }

  OpBuilder b_;
  tile::CumsumOp op_;
  Location loc_;
  int axis_;
  SmallVector<Part> parts_;
  Type element_;
  Value input_;
};

/// Whether a warp would read more totals of a line than an exchange of the tile is worth. Measured in instructions for sm_90 with 4 and 8
/// warps: with 16 totals the exchange is better for every shape tried, with 8 it saves up to a tenth of them and costs four barriers.
bool hasManyTotals(ArrayRef<Part> parts) {
  constexpr int64_t kFew = 8;
  if (parts.empty() || llvm::none_of(parts.drop_back(), [](const Part& part) { return part.byWarps; })) return false;
  int64_t totals = 1;
  for (const Part& part : parts)
    if (totals > 1 || part.byWarps) totals *= part.size;
  return totals > kFew;
}

/// A layout that any dimension can be split in.
LinearLayout plainLayout(RankedTensorType type) {
  const LinearLayout& layout = *layoutOf(type);
  std::vector<int> order(static_cast<size_t>(type.getRank()));
  std::iota(order.rbegin(), order.rend(), 0);
  return layout::blocked({.shape = layout::Coords(type.getShape().begin(), type.getShape().end()),
                          .order = order,
                          .elementBits = elementBits(type.getElementType()),
                          .lanes = static_cast<int>(layout.inputSize(kLane)),
                          .warps = layout.inputSize(kWarp)});
}

}  // namespace

LogicalResult sumWithinWarps(tile::CumsumOp op) {
  auto axis = static_cast<int>(op.getAxis());
  RankedTensorType type = op.getInput().getType();
  if (layout::scanDigits(*layoutOf(type), axis)) return success();
  OpBuilder b(op);
  Value input = op.getInput();
  auto isPlain = [&](const LinearLayout& layout) {
    SmallVector<Part> parts = partsOf(layout, axis);
    if (parts.empty()) return false;
    LinearLayout split = splitDimension(layout, axis, parts);
    for (auto [i, part] : llvm::enumerate(parts))
      if (!part.byWarps && !layout::scanDigits(split, axis + static_cast<int>(parts.size() - 1 - i))) return false;
    return true;
  };
  LinearLayout layout = *layoutOf(type);
  if (SmallVector<Part> parts = partsOf(layout, axis); hasManyTotals(parts)) layout = warpsOnTop(layout, axis, parts);
  if (!isPlain(layout)) layout = plainLayout(type);
  input = convert(b, op.getLoc(), input, layout).front();
  Value sums = WarpScan(op, input, partsOf(*layoutOf(input), axis)).run();
  if (sums.getType() != input.getType()) sums = tile::ReshapeOp::create(b, op.getLoc(), input.getType(), sums);
  op.getResult().replaceAllUsesWith(convert(b, op.getLoc(), sums, *layoutOf(type)).front());
  op.erase();
  return success();
}

}  // namespace fattn::tilegpu
