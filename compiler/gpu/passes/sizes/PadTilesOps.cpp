// SPDX-License-Identifier: Apache-2.0
// What operations do about the padding of their tiles, for -tilegpu-pad-tiles. Elementwise operations (but integer division), and those
// that only rename elements, do nothing: the padding of their results is unspecified as well.
#include "compiler/gpu/passes/sizes/PadTiles.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::tilegpu {

Value elementsBelow(OpBuilder& b, Location loc, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims, ArrayRef<int64_t> extents) {
  Value all;
  for (int64_t dim : dims) {
    auto line = RankedTensorType::get({shape[dim]}, b.getI32Type());
    Value limit = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(line, b.getI32IntegerAttr(static_cast<int32_t>(extents[dim]))));
    Value numbers = tile::ArangeOp::create(b, loc, line, 0);
    Value below = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, numbers, limit);
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
      if (d != dim) below = tile::ExpandDimsOp::create(b, loc, below, d);
    auto type = RankedTensorType::get(shape, b.getI1Type());
    if (below.getType() != type) below = tile::BroadcastOp::create(b, loc, type, below);
    all = all ? arith::AndIOp::create(b, loc, all, below).getResult() : below;
  }
  return all;
}

static Value splat(OpBuilder& b, Location loc, RankedTensorType type, TypedAttr number) {
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, Attribute(number)));
}

Value zeroedBeyond(OpBuilder& b, Value tile, int64_t dim, int64_t extent) {
  auto type = cast<RankedTensorType>(tile.getType());
  SmallVector<int64_t> extents(type.getShape());
  extents[dim] = extent;
  Value inside = elementsBelow(b, tile.getLoc(), type.getShape(), dim, extents);
  Value zero = splat(b, tile.getLoc(), type, b.getZeroAttr(type.getElementType()));
  return arith::SelectOp::create(b, tile.getLoc(), inside, tile, zero);
}

namespace {

SmallVector<int64_t> paddedDims(ArrayRef<int64_t> shape, ArrayRef<int64_t> extents) {
  SmallVector<int64_t> dims;
  for (auto [d, sizes] : llvm::enumerate(llvm::zip_equal(shape, extents)))
    if (std::get<0>(sizes) != std::get<1>(sizes)) dims.push_back(static_cast<int64_t>(d));
  return dims;
}

/// Whether a load gives zeros in its padding, also looking through tile.trans.
bool isZeroOutside(Value tile) {
  while (auto trans = tile.getDefiningOp<tile::TransOp>()) tile = trans.getInput();
  auto load = tile.getDefiningOp<tile::LoadOp>();
  if (!load) return false;
  Attribute padding = load.getPadding().value_or(Attribute());
  if (auto number = dyn_cast_or_null<FloatAttr>(padding)) return number.getValue().isPosZero();
  if (auto number = dyn_cast_or_null<IntegerAttr>(padding)) return number.getValue().isZero();
  return !padding;
}

/// The number that changes nothing, where the region is one operation on its two arguments that has such a number.
TypedAttr neutralOf(tile::ReduceOp op, Builder& b) {
  Block& body = op.getCombine().front();
  if (op.getInputs().size() != 1 || !llvm::hasNItems(body.begin(), body.end(), 2)) return {};
  Operation* combine = &body.front();
  if (body.getTerminator()->getOperand(0).getDefiningOp() != combine || combine->getNumOperands() != 2) return {};
  if (combine->getOperand(0) == combine->getOperand(1) ||
      llvm::any_of(combine->getOperands(), [&](Value v) { return v.getParentBlock() != &body || !isa<BlockArgument>(v); }))
    return {};
  Type type = body.getArgument(0).getType();
  if (!type.isIntOrFloat()) return {};
  auto floating = [&](APFloat value) { return b.getFloatAttr(type, value); };
  auto* semantics = isa<FloatType>(type) ? &cast<FloatType>(type).getFloatSemantics() : nullptr;
  unsigned bits = semantics ? 0 : type.getIntOrFloatBitWidth();
  return llvm::TypeSwitch<Operation*, TypedAttr>(combine)
      .Case<arith::AddFOp>([&](Operation*) { return floating(APFloat::getZero(*semantics, /*Negative=*/true)); })
      .Case<arith::MulFOp>([&](Operation*) { return floating(APFloat::getOne(*semantics)); })
      .Case<arith::MaxNumFOp, arith::MinNumFOp>([&](Operation*) { return floating(APFloat::getNaN(*semantics)); })
      .Case<arith::MaximumFOp>([&](Operation*) { return floating(APFloat::getInf(*semantics, /*Negative=*/true)); })
      .Case<arith::MinimumFOp>([&](Operation*) { return floating(APFloat::getInf(*semantics)); })
      .Case<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>([&](Operation*) { return b.getIntegerAttr(type, 0); })
      .Case<arith::MulIOp>([&](Operation*) { return b.getIntegerAttr(type, 1); })
      .Case<arith::AndIOp, arith::MinUIOp>([&](Operation*) { return b.getIntegerAttr(type, APInt::getAllOnes(bits)); })
      .Case<arith::MaxSIOp>([&](Operation*) { return b.getIntegerAttr(type, APInt::getSignedMinValue(bits)); })
      .Case<arith::MinSIOp>([&](Operation*) { return b.getIntegerAttr(type, APInt::getSignedMaxValue(bits)); })
      .Default([](Operation*) { return TypedAttr(); });
}

/// Any other region: a further tile says which elements count, and the region is applied where both sides do.
void reduceWithFlags(tile::ReduceOp op, Value inside) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto flagType = RankedTensorType::get(cast<RankedTensorType>(inside.getType()).getShape(), b.getI32Type());
  SmallVector<Value> inputs(op.getInputs());
  size_t n = inputs.size();
  inputs.push_back(arith::ExtUIOp::create(b, loc, flagType, inside));
  auto flagged = tile::ReduceOp::create(b, loc, inputs, static_cast<int64_t>(op.getAxis()),
                                        [&](OpBuilder& inner, Location at, ValueRange left, ValueRange right) {
                                          Value zero = arith::ConstantIntOp::create(inner, at, 0, 32);
                                          Value isLeft = arith::CmpIOp::create(inner, at, arith::CmpIPredicate::ne, left[n], zero);
                                          Value isRight = arith::CmpIOp::create(inner, at, arith::CmpIPredicate::ne, right[n], zero);
                                          Block& body = op.getCombine().front();
                                          IRMapping mapping;
                                          for (size_t i = 0; i < n; ++i) {
                                            mapping.map(body.getArgument(static_cast<unsigned>(i)), left[i]);
                                            mapping.map(body.getArgument(static_cast<unsigned>(n + i)), right[i]);
                                          }
                                          for (Operation& one : body.without_terminator()) inner.clone(one, mapping);
                                          SmallVector<Value> results;
                                          for (auto [i, yielded] : llvm::enumerate(body.getTerminator()->getOperands())) {
                                            Value both = mapping.lookupOrDefault(yielded);
                                            Value withRight = arith::SelectOp::create(inner, at, isLeft, both, right[i]);
                                            results.push_back(arith::SelectOp::create(inner, at, isRight, withRight, left[i]));
                                          }
                                          results.push_back(arith::OrIOp::create(inner, at, left[n], right[n]));
                                          tile::YieldOp::create(inner, at, results);
                                        });
  op.replaceAllUsesWith(flagged.getResults().drop_back());
  op.erase();
}

void adapt(tile::ReduceOp op, const PaddedOp& padded) {
  auto axis = static_cast<int64_t>(op.getAxis());
  auto type = cast<RankedTensorType>(op.getInputs()[0].getType());
  int64_t extent = padded.operands[0][static_cast<size_t>(axis)];
  if (extent == type.getDimSize(axis)) return;
  OpBuilder b(op);
  Value inside = elementsBelow(b, op.getLoc(), type.getShape(), axis, padded.operands[0]);
  TypedAttr neutral = neutralOf(op, b);
  if (!neutral) return reduceWithFlags(op, inside);
  Value masked = arith::SelectOp::create(b, op.getLoc(), inside, op.getInputs()[0], splat(b, op.getLoc(), type, neutral));
  op->setOperand(0, masked);
}

void adapt(tile::CumsumOp op, const PaddedOp& padded) {
  auto axis = static_cast<int64_t>(op.getAxis());
  int64_t extent = padded.operands[0][static_cast<size_t>(axis)];
  if (!op.getReverse() || extent == op.getInput().getType().getDimSize(axis)) return;
  OpBuilder b(op);
  op->setOperand(0, zeroedBeyond(b, op.getInput(), axis, extent));
}

/// Padding along the depth must not multiply: zeros on both sides, as the other side may be infinite.
void adapt(tile::DotOp op, const PaddedOp& padded) {
  int64_t depth = padded.operands[0][1];
  OpBuilder b(op);
  op->setAttr(kUsedAttr, b.getDenseI64ArrayAttr({depth, padded.operands[1][1]}));
  if (depth == op.getA().getType().getDimSize(1)) return;
  for (unsigned i : {0u, 1u})
    if (!isZeroOutside(op->getOperand(i))) op->setOperand(i, zeroedBeyond(b, op->getOperand(i), i == 0 ? 1 : 0, depth));
}

void setExtents(Operation* op, ArrayRef<int64_t> extents) { op->setAttr(kExtentsAttr, DenseI64ArrayAttr::get(op->getContext(), extents)); }

void adapt(tile::LoadOp op, const PaddedOp& padded) {
  setExtents(op, padded.results[0]);
  if (op.getBoundaryCheck().empty()) op.removePaddingAttr();
}

void adapt(tile::DevicePrintOp op, const PaddedOp& padded) {
  SmallVector<int64_t> extents;
  for (const Extents& one : padded.operands) llvm::append_range(extents, one);
  setExtents(op, extents);
}

/// gather, scatter, atomic_add: the mask leaves out the padding.
template <typename Op>
void adaptMask(Op op, const PaddedOp& padded) {
  auto type = cast<RankedTensorType>(op.getPtr().getType());
  OpBuilder b(op);
  SmallVector<int64_t> dims = paddedDims(type.getShape(), padded.operands[0]);
  Value inside = elementsBelow(b, op.getLoc(), type.getShape(), dims, padded.operands[0]);
  if (Value mask = op.getMask()) inside = arith::AndIOp::create(b, op.getLoc(), mask, inside);
  op.getMaskMutable().assign(inside);
}

void adapt(tile::SelectLazyOp op, const PaddedOp& padded) {
  auto type = dyn_cast<RankedTensorType>(op.getCondition().getType());
  if (!type || type.getDimSize(0) == padded.operands[0][0]) return;
  OpBuilder b(op);
  Value inside = elementsBelow(b, op.getLoc(), type.getShape(), 0, padded.operands[0]);
  op.getConditionMutable().assign(arith::AndIOp::create(b, op.getLoc(), op.getCondition(), inside).getResult());
}

/// Integer division by zero has no meaning, not even where nobody looks at the result.
void adaptDivisor(Operation* op, const PaddedOp& padded) {
  Value divisor = op->getOperand(1);
  if (matchPattern(divisor, m_Constant())) return;
  auto type = cast<RankedTensorType>(divisor.getType());
  OpBuilder b(op);
  Value inside = elementsBelow(b, op->getLoc(), type.getShape(), paddedDims(type.getShape(), padded.operands[1]), padded.operands[1]);
  Value one = splat(b, op->getLoc(), type, b.getIntegerAttr(type.getElementType(), 1));
  op->setOperand(1, arith::SelectOp::create(b, op->getLoc(), inside, divisor, one).getResult());
}

SmallVector<int64_t> withoutOnes(ArrayRef<int64_t> shape) {
  return llvm::filter_to_vector(shape, [](int64_t size) { return size != 1; });
}

void adapt(tile::ReshapeOp op, const PaddedOp& padded) {
  if (withoutOnes(padded.operands[0]) == withoutOnes(padded.results[0])) return;  // the same dimensions, padded alike
  OpBuilder b(op);
  auto reshape =
      ReshapeOp::create(b, op.getLoc(), op.getResult().getType(), op.getInput(), ArrayRef(padded.operands[0]), ArrayRef(padded.results[0]));
  op.replaceAllUsesWith(reshape.getResult());
  op.erase();
}

void adapt(arith::ConstantOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  auto dense = cast<DenseElementsAttr>(op.getValue());
  if (dense.isSplat()) return op.setValueAttr(dense.resizeSplat(type));
  SmallVector<Attribute> values;
  SmallVector<int64_t> index(type.getRank(), 0);
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    int64_t from = 0, rest = i;
    for (int64_t d = type.getRank(); d-- > 0; rest /= type.getDimSize(d)) index[static_cast<size_t>(d)] = rest % type.getDimSize(d);
    bool inside = true;
    for (auto [d, size] : llvm::enumerate(dense.getType().getShape())) {
      inside = inside && index[d] < size;
      from = from * size + index[d];
    }
    values.push_back(dense.getValues<Attribute>()[inside ? from : 0]);
  }
  op.setValueAttr(DenseElementsAttr::get(type, values));
}

/// The last number may not fit a small element type any more.
void adapt(tile::ArangeOp op) {
  auto type = op.getResult().getType();
  if (type.getElementType().isIndex() || type.getElementType().getIntOrFloatBitWidth() >= 32) return;
  OpBuilder b(op);
  Value wide = tile::ArangeOp::create(b, op.getLoc(), RankedTensorType::get(type.getShape(), b.getI32Type()), op.getStart());
  op.replaceAllUsesWith(arith::TruncIOp::create(b, op.getLoc(), type, wide).getResult());
  op.erase();
}

}  // namespace

void adaptToPadding(const PaddedOp& padded) {
  llvm::TypeSwitch<Operation*>(padded.op)
      .Case<tile::ReduceOp, tile::CumsumOp, tile::DotOp, tile::LoadOp, tile::DevicePrintOp, tile::SelectLazyOp, tile::ReshapeOp>(
          [&](auto op) { adapt(op, padded); })
      .Case<arith::ConstantOp, tile::ArangeOp>([&](auto op) { adapt(op); })
      .Case<tile::GatherOp, tile::ScatterOp, tile::AtomicAddOp>([&](auto op) { adaptMask(op, padded); })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(
          [&](Operation* op) { adaptDivisor(op, padded); })
      .Case<tile::StoreOp, tile::AccumulateOp>([&](auto op) { setExtents(op, padded.operands[1]); });
}

}  // namespace fattn::tilegpu
