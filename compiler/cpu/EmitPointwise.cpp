// SPDX-License-Identifier: Apache-2.0
// Values of elementwise and shape operations at a point of a loop nest.
#include "compiler/cpu/Emitter.h"
#include "compiler/cpu/Reduction.h"
#include "llvm/Support/SaveAndRestore.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

bool isSmallFloat(Type t) { return isa<FloatType>(t) && t.getIntOrFloatBitWidth() < 32; }

Type withWidth(Type element, int64_t width) { return width == 1 ? element : VectorType::get({width}, element); }

}  // namespace

Value Emitter::splat(Value scalar, int64_t width) {
  if (width == 1 || isa<VectorType>(scalar.getType())) return scalar;
  return vector::BroadcastOp::create(b, loc, VectorType::get({width}, scalar.getType()), scalar);
}

/// The value at `p`: a vector if it varies along the lanes, else a scalar.
Value Emitter::eval(Value value, const Point& p) {
  if (!isa<RankedTensorType>(value.getType())) return scalar(value);
  std::vector<void*> key;
  for (Value i : p.index) key.push_back(i.getAsOpaquePointer());
  key.push_back(reinterpret_cast<void*>(static_cast<intptr_t>(p.lane)));
  key.push_back(reinterpret_cast<void*>(static_cast<intptr_t>(p.width)));
  auto [it, fresh] = memo.try_emplace({value.getAsOpaquePointer(), key}, Value());
  if (!fresh && it->second) return it->second;
  Value v = evalUncached(value, p);
  memo[{value.getAsOpaquePointer(), key}] = v;
  return v;
}

Value Emitter::evalVector(Value value, const Point& p) { return splat(eval(value, p), p.lane < 0 ? 1 : p.width); }

Value Emitter::evalUncached(Value value, const Point& p) {
  if (auto it = views.find(value); it != views.end() && !computing.contains(value)) return loadAt(it->second, p);
  Operation* op = value.getDefiningOp();
  llvm::SaveAndRestore<Location> here(loc, op->getLoc());  // what is computed in the nest of another keeps its own line
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = cast<DenseElementsAttr>(constant.getValue());
    return arith::ConstantOp::create(b, loc, cast<TypedAttr>(dense.getSplatValue<Attribute>()));
  }
  if (op->getDialect()->getNamespace() == "tile" && !isa<tile::AddPtrOp>(op)) return evalShapeOp(op, value, p);
  SmallVector<Value> operands;
  int64_t width = 1;
  for (Value v : op->getOperands()) {
    operands.push_back(eval(v, p));
    if (auto vec = dyn_cast<VectorType>(operands.back().getType())) width = vec.getNumElements();
  }
  return pointwise(op, operands, width);
}

Value Emitter::evalShapeOp(Operation* op, Value value, const Point& p) {
  if (auto splatOp = dyn_cast<tile::SplatOp>(op)) {
    Value s = scalar(splatOp.getInput());
    if (!s) s = eval(splatOp.getInput(), Point());  // a tile without dimensions
    return isa<LLVM::LLVMPointerType>(s.getType()) ? LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), s).getResult() : s;
  }
  if (auto arange = dyn_cast<tile::ArangeOp>(op)) {
    Value i = p.lane == 0 ? laneIndices(b, loc, p.index[0], p.width) : p.index[0];
    Value start = splat(i64(arange.getStart()), p.lane == 0 ? p.width : 1);
    return convert(arith::AddIOp::create(b, loc, i, start), getElementTypeOrSelf(value.getType()));
  }
  Point in = p;
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
    auto shape = broadcast.getInput().getType().getShape();
    for (auto [d, size] : llvm::enumerate(shape)) {
      if (size != 1) continue;
      in.index[d] = i64(0);
      if (in.lane == static_cast<int>(d)) in.lane = -1;
    }
    return eval(broadcast.getInput(), in);
  }
  if (auto expand = dyn_cast<tile::ExpandDimsOp>(op)) {
    int axis = expand.getAxis();
    in.index.erase(in.index.begin() + axis);
    in.lane = p.lane == axis ? -1 : p.lane - (p.lane > axis);
    return eval(expand.getInput(), in);
  }
  if (auto trans = dyn_cast<tile::TransOp>(op)) {
    for (auto [i, from] : llvm::enumerate(trans.getPermutation())) {
      in.index[from] = p.index[i];
      if (p.lane == static_cast<int>(i)) in.lane = from;
    }
    return eval(trans.getInput(), in);
  }
  if (auto join = dyn_cast<tile::JoinOp>(op)) {
    in.index.pop_back();
    Value first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, p.index.back(), i64(0));
    return arith::SelectOp::create(b, loc, first, evalVector(join.getLhs(), in), evalVector(join.getRhs(), in));
  }
  if (auto split = dyn_cast<tile::SplitOp>(op)) {
    in.index.push_back(i64(value == split.getRhs()));
    return eval(split.getInput(), in);
  }
  return reshapedAt(cast<tile::ReshapeOp>(op), p);
}

/// Element `p` of a reshape, found through its row-major number. Only ever asked for single elements.
Value Emitter::reshapedAt(tile::ReshapeOp op, const Point& p) {
  Value flat = i64(0);
  for (auto [i, size] : llvm::zip_equal(p.index, op.getResult().getType().getShape()))
    flat = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, flat, i64(size)), i);
  auto shape = op.getInput().getType().getShape();
  Point in{.index = SmallVector<Value>(shape.size()), .lane = -1, .width = 1};
  for (int d = shape.size() - 1; d >= 0; --d) {
    in.index[d] = arith::RemSIOp::create(b, loc, flat, i64(shape[d]));
    flat = arith::DivSIOp::create(b, loc, flat, i64(shape[d]));
  }
  return eval(op.getInput(), in);
}

Value Emitter::pointwise(Operation* op, ValueRange operands, int64_t width) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) return b.clone(*constant.getOperation())->getResult(0);
  llvm::SaveAndRestore<Location> here(loc, op->getLoc());
  SmallVector<Value> in;
  for (Value v : operands) in.push_back(splat(v, width));
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) return convert(in[0], element);
  if (auto addptr = dyn_cast<tile::AddPtrOp>(op)) {
    Type pointee = cast<tile::PtrType>(getElementTypeOrSelf(addptr.getType())).getPointee();
    Value offset = convert(in[1], b.getI64Type());
    return arith::AddIOp::create(b, loc, in[0], arith::MulIOp::create(b, loc, offset, splat(i64(bytesOf(pointee)), width)));
  }
  if (isa<arith::DivSIOp, arith::RemSIOp, arith::DivUIOp, arith::RemUIOp>(op) && width > 1) {
    // Lanes beyond the tile hold anything; a zero divisor there must not trap.
    Value zero = splat(arith::ConstantOp::create(b, loc, b.getIntegerAttr(element, 0)), width);
    Value one = splat(arith::ConstantOp::create(b, loc, b.getIntegerAttr(element, 1)), width);
    in[1] = arith::SelectOp::create(b, loc, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, in[1], zero), one, in[1]);
  }
  // Arithmetic on 8 and 16-bit floats is done in f32 and rounded once.
  bool small = false;
  for (Value& v : in)
    if (isSmallFloat(getElementTypeOrSelf(v.getType())) && !isa<arith::SelectOp>(op)) {
      v = floatToF32(v);
      small = true;
    }
  Type computed = small && isa<FloatType>(element) ? b.getF32Type() : element;
  if (isSmallFloat(element) && !isa<arith::SelectOp>(op)) computed = b.getF32Type();
  OperationState state(loc, op->getName().getStringRef());
  state.addOperands(in);
  state.addTypes(withWidth(computed, width));
  state.addAttributes(op->getAttrDictionary().getValue());
  Operation* made = b.create(state);
  Value out = made->getResult(0);
  return computed == element ? out : convert(out, element);
}

}  // namespace fattn::cpu
