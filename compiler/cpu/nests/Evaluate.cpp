// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/nests/Evaluate.h"

#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/state/Emission.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

Value evalUncached(Emission& e, Value value, const Point& p) {
  if (View* view = e.tiles.find(value); view && !e.computing.contains(value)) return loadAt(e.b, *view, p);
  Operation* op = value.getDefiningOp();
  AtLocation here(e.b, op->getLoc());  // what is computed in the nest of another keeps its own line
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = cast<DenseElementsAttr>(constant.getValue());
    return arith::ConstantOp::create(e.b, cast<TypedAttr>(dense.getSplatValue<Attribute>()));
  }
  if (op->getDialect()->getNamespace() == "tile" && !isa<tile::AddPtrOp>(op)) return evalShapeOp(e, op, value, p);
  SmallVector<Value> operands;
  int64_t width = 1;
  for (Value v : op->getOperands()) {
    operands.push_back(eval(e, v, p));
    if (auto vec = dyn_cast<VectorType>(operands.back().getType())) width = vec.getNumElements();
  }
  return pointwise(e.b, op, operands, width);
}

}  // namespace

Value eval(Emission& e, Value value, const Point& p) {
  if (!isTile(value)) return e.scalar(value);
  if (Value known = e.memo.find(value, p)) return known;
  Value v = evalUncached(e, value, p);
  e.memo.remember(value, p, v);
  return v;
}

Value evalVector(Emission& e, Value value, const Point& p) { return e.b.splat(eval(e, value, p), p.elements()); }

}  // namespace fattn::cpu
