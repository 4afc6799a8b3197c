// SPDX-License-Identifier: Apache-2.0
// Running sums along a dimension: a sum that its loop carries, with the lanes along another dimension or none.
#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/Convert.h"
#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/nests/Evaluate.h"
#include "compiler/cpu/nests/Nest.h"
#include "compiler/cpu/operations/Operations.h"
#include "compiler/cpu/state/Emission.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// Small floats are added in f32.
Type sumType(HostBuilder& b, Type element) { return isa<FloatType>(element) && !element.isF64() ? Type(b.getF32Type()) : element; }

Value sumOf(HostBuilder& b, Value x, Value y) {
  if (isa<FloatType>(getElementTypeOrSelf(x.getType()))) return arith::AddFOp::create(b, x, y);
  return arith::AddIOp::create(b, x, y);
}

}  // namespace

void emitCumsum(Emission& e, tile::CumsumOp op) {
  HostBuilder& b = e.b;
  RankedTensorType type = tileType(op.getResult());
  int axis = op.getAxis(), natural = e.lanes.lane(op.getInput());
  View view = e.buffers.allocate(type, e.lanes.lane(op.getResult()));
  Space space = Space::of(b.host, type.getShape(), natural == axis ? -1 : natural);
  space.carrying = axis;
  Type element = type.getElementType(), sum = sumType(b, element);
  auto zero = [&](const Point& p) {
    return SmallVector<Value>{b.splat(arith::ConstantOp::create(b, b.getZeroAttr(element)), p.elements())};
  };
  auto step = [&](const Point& at, ValueRange carried) {
    Point p = at;
    if (op.getReverse()) p.index[axis] = arith::SubIOp::create(b, b.i64(type.getDimSize(axis) - 1), at.index[axis]);
    Value x = convert(b, evalVector(e, op.getInput(), p), sum), before = convert(b, carried[0], sum);
    Value next = convert(b, sumOf(b, before, x), element);
    storeAt(b, view, p, next);
    return SmallVector<Value>{next};
  };
  nest(e, space, {.init = zero, .body = step, .finish = [](const Point&, ValueRange) {}});
  e.tiles.placeOwned(op.getResult(), view);
}

}  // namespace fattn::cpu
