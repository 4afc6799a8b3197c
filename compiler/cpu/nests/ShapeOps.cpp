// SPDX-License-Identifier: Apache-2.0
// Shape operations at a point of a loop nest: no element moves, each is looked up where it comes from.
#include "compiler/cpu/builder/Convert.h"
#include "compiler/cpu/nests/Evaluate.h"
#include "compiler/cpu/state/Emission.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

Value evalSplat(Emission& e, tile::SplatOp op) {
  Value s = e.scalar(op.getInput());
  if (!s) s = eval(e, op.getInput(), Point());  // a tile without dimensions
  return isa<LLVM::LLVMPointerType>(s.getType()) ? LLVM::PtrToIntOp::create(e.b, e.b.getI64Type(), s).getResult() : s;
}

Value evalArange(HostBuilder& b, tile::ArangeOp op, const Point& p) {
  Value i = p.lane == 0 ? b.laneIndices(p.index[0], p.width) : p.index[0];
  Value start = b.splat(b.i64(op.getStart()), p.lane == 0 ? p.width : 1);
  return convert(b, arith::AddIOp::create(b, i, start), getElementTypeOrSelf(op.getType()));
}

Value evalBroadcast(Emission& e, tile::BroadcastOp op, Point p) {
  for (auto [d, size] : llvm::enumerate(op.getInput().getType().getShape())) {
    if (size != 1) continue;
    p.index[d] = e.b.i64(0);
    if (p.lane == static_cast<int>(d)) p.lane = -1;
  }
  return eval(e, op.getInput(), p);
}

Value evalExpandDims(Emission& e, tile::ExpandDimsOp op, Point p) {
  int axis = op.getAxis();
  p.index.erase(p.index.begin() + axis);
  p.lane = p.lane == axis ? -1 : p.lane - (p.lane > axis);
  return eval(e, op.getInput(), p);
}

Value evalTrans(Emission& e, tile::TransOp op, const Point& p) {
  Point in = p;
  for (auto [i, from] : llvm::enumerate(op.getPermutation())) {
    in.index[from] = p.index[i];
    if (p.lane == static_cast<int>(i)) in.lane = from;
  }
  return eval(e, op.getInput(), in);
}

Value evalJoin(Emission& e, tile::JoinOp op, const Point& p) {
  Point in = p;
  in.index.pop_back();
  Value first = arith::CmpIOp::create(e.b, arith::CmpIPredicate::eq, p.index.back(), e.b.i64(0));
  return arith::SelectOp::create(e.b, first, evalVector(e, op.getLhs(), in), evalVector(e, op.getRhs(), in));
}

Value evalSplit(Emission& e, tile::SplitOp op, bool second, Point p) {
  p.index.push_back(e.b.i64(second));
  return eval(e, op.getInput(), p);
}

/// Element `p` of a reshape, found through its row-major number. Only ever asked for single elements.
Value evalReshape(Emission& e, tile::ReshapeOp op, const Point& p) {
  HostBuilder& b = e.b;
  Value flat = b.i64(0);
  for (auto [i, size] : llvm::zip_equal(p.index, op.getResult().getType().getShape()))
    flat = arith::AddIOp::create(b, arith::MulIOp::create(b, flat, b.i64(size)), i);
  auto shape = op.getInput().getType().getShape();
  Point in{.index = SmallVector<Value>(shape.size()), .lane = -1, .width = 1};
  for (int d = shape.size() - 1; d >= 0; --d) {
    in.index[d] = arith::RemSIOp::create(b, flat, b.i64(shape[d]));
    flat = arith::DivSIOp::create(b, flat, b.i64(shape[d]));
  }
  return eval(e, op.getInput(), in);
}

}  // namespace

Value evalShapeOp(Emission& e, Operation* op, Value value, const Point& p) {
  return TypeSwitch<Operation*, Value>(op)
      .Case<tile::SplatOp>([&](auto splat) { return evalSplat(e, splat); })
      .Case<tile::ArangeOp>([&](auto arange) { return evalArange(e.b, arange, p); })
      .Case<tile::BroadcastOp>([&](auto broadcast) { return evalBroadcast(e, broadcast, p); })
      .Case<tile::ExpandDimsOp>([&](auto expand) { return evalExpandDims(e, expand, p); })
      .Case<tile::TransOp>([&](auto trans) { return evalTrans(e, trans, p); })
      .Case<tile::JoinOp>([&](auto join) { return evalJoin(e, join, p); })
      .Case<tile::SplitOp>([&](auto split) { return evalSplit(e, split, value == split.getRhs(), p); })
      .Case<tile::ReshapeOp>([&](auto reshape) { return evalReshape(e, reshape, p); });
}

}  // namespace fattn::cpu
