// SPDX-License-Identifier: Apache-2.0
// Elementwise operations on scalars or vectors.
#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/Convert.h"
#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/nests/Evaluate.h"
#include "compiler/dialect/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

bool isSmallFloat(Type t) { return isa<FloatType>(t) && t.getIntOrFloatBitWidth() < 32; }

bool isDivision(Operation* op) { return isa<arith::DivSIOp, arith::RemSIOp, arith::DivUIOp, arith::RemUIOp>(op); }

Value addressPlus(HostBuilder& b, tile::AddPtrOp op, Value address, Value offset, int64_t width) {
  Type pointee = cast<tile::PtrType>(getElementTypeOrSelf(op.getType())).getPointee();
  Value wide = convert(b, offset, b.getI64Type());
  return arith::AddIOp::create(b, address, arith::MulIOp::create(b, wide, b.splat(b.i64(bytesOf(pointee)), width)));
}

/// Lanes beyond the tile hold anything; a zero divisor there must not trap.
Value withoutZeros(HostBuilder& b, Value divisors, int64_t width) {
  Type element = getElementTypeOrSelf(divisors.getType());
  Value zero = b.splat(arith::ConstantOp::create(b, b.getIntegerAttr(element, 0)), width);
  Value one = b.splat(arith::ConstantOp::create(b, b.getIntegerAttr(element, 1)), width);
  return arith::SelectOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, divisors, zero), one, divisors);
}

Value sameOp(HostBuilder& b, Operation* op, ValueRange operands, Type result) {
  OperationState state(b.getLoc(), op->getName().getStringRef());
  state.addOperands(operands);
  state.addTypes(result);
  state.addAttributes(op->getAttrDictionary().getValue());
  return b.create(state)->getResult(0);
}

/// Arithmetic on 8 and 16-bit floats is done in f32 and rounded once.
Value inWiderFloats(HostBuilder& b, Operation* op, SmallVector<Value>& in, Type element, int64_t width) {
  bool small = isSmallFloat(element);
  for (Value& v : in) {
    if (!isSmallFloat(getElementTypeOrSelf(v.getType()))) continue;
    v = floatToF32(b, v);
    small = true;
  }
  Type computed = small && isa<FloatType>(element) ? b.getF32Type() : element;
  Value out = sameOp(b, op, in, vectorOr(computed, width));
  return computed == element ? out : convert(b, out, element);
}

}  // namespace

Value pointwise(HostBuilder& b, Operation* op, ValueRange operands, int64_t width) {
  if (isa<arith::ConstantOp>(op)) return b.clone(*op)->getResult(0);
  AtLocation here(b, op->getLoc());
  SmallVector<Value> in = llvm::map_to_vector(operands, [&](Value v) { return b.splat(v, width); });
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) return convert(b, in[0], element);
  if (auto addptr = dyn_cast<tile::AddPtrOp>(op)) return addressPlus(b, addptr, in[0], in[1], width);
  if (isDivision(op) && width > 1) in[1] = withoutZeros(b, in[1], width);
  if (isa<arith::SelectOp>(op)) return sameOp(b, op, in, vectorOr(element, width));
  return inWiderFloats(b, op, in, element, width);
}

}  // namespace fattn::cpu
