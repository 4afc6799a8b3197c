// SPDX-License-Identifier: Apache-2.0
// Loop nests over tiles: elementwise groups, reductions along and across the lanes.
#include "compiler/cpu/Emitter.h"
#include "compiler/cpu/Reduction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {

Value Emitter::loop(Value lo, Value hi, int64_t step, ValueRange init, SmallVectorImpl<Value>* results,
                    const std::function<SmallVector<Value>(Value, ValueRange)>& body) {
  auto op = scf::ForOp::create(b, loc, lo, hi, i64(step), init);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    SmallVector<Value> yielded = body(op.getInductionVar(), op.getRegionIterArgs());
    if (!init.empty()) scf::YieldOp::create(b, loc, yielded);  // a loop that carries nothing is made with its end
  }
  if (results) results->assign(op.getResults().begin(), op.getResults().end());
  return op.getInductionVar();
}

int64_t Emitter::widthFor(ArrayRef<int64_t> shape, int lane) const {
  if (lane < 0) return 1;
  // Two vectors at a time hide the latency of sums and polynomials.
  return shape[lane] % (2 * target.lanes) == 0 ? 2 * target.lanes : target.lanes;
}

void Emitter::nest(ArrayRef<int64_t> shape, int lane, int64_t width, int inner, const Init& init, const Body& body, const Finish& finish) {
  SmallVector<int> order;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d)
    if (d != lane && d != inner) order.push_back(d);
  if (lane >= 0 && lane != inner) order.push_back(lane);
  Point p;
  p.index.resize(shape.size());
  p.lane = lane;
  p.width = lane < 0 ? 1 : width;
  auto forgetMemo = [&](auto&& fn) {
    auto saved = std::exchange(memo, {});
    fn();
    memo = std::move(saved);
  };
  auto step = [&](int d) { return d == lane ? p.width : 1; };
  auto innermost = [&] {
    if (inner < 0) return forgetMemo([&] { body(p, {}); });
    SmallVector<Value> accs = init(p), results;
    auto trip = [&](Value i, ValueRange carried) {
      p.index[inner] = i;
      SmallVector<Value> next;
      forgetMemo([&] { next = body(p, carried); });
      return next;
    };
    if (shape[inner] <= step(inner)) {
      results = trip(i64(0), accs);
    } else {
      loop(i64(0), i64(shape[inner]), step(inner), accs, &results, trip);
    }
    forgetMemo([&] { finish(p, results); });
  };
  std::function<void(size_t)> level = [&](size_t n) {
    if (n == order.size()) return innermost();
    int d = order[n];
    if (shape[d] <= step(d)) {
      p.index[d] = i64(0);
      return level(n + 1);
    }
    loop(i64(0), i64(shape[d]), step(d), {}, nullptr, [&](Value i, ValueRange) {
      p.index[d] = i;
      level(n + 1);
      return SmallVector<Value>{};
    });
  };
  level(0);
}

void Emitter::nestOver(ArrayRef<int64_t> shape, int lane, const std::function<void(const Point&)>& body) {
  nest(shape, lane, widthFor(shape, lane), -1, {},
       [&](const Point& p, ValueRange) {
         body(p);
         return SmallVector<Value>{};
       },
       {});
}

Value Emitter::identity(tile::ReduceOp op, int64_t width) {
  return splat(arith::ConstantOp::create(b, loc, identityOf(reductionKind(op), getElementTypeOrSelf(op.getInputs()[0].getType()))), width);
}

SmallVector<Value> Emitter::combine(tile::ReduceOp op, ValueRange a, ValueRange bs, int64_t width) {
  Block& block = op.getCombine().front();
  IRMapping map;
  for (auto [i, arg] : llvm::enumerate(block.getArguments())) map.map(arg, i < a.size() ? a[i] : bs[i - a.size()]);
  for (Operation& inner : block.without_terminator()) {
    SmallVector<Value> operands;
    for (Value v : inner.getOperands()) operands.push_back(map.contains(v) ? map.lookup(v) : scalar(v));
    map.map(inner.getResult(0), pointwise(&inner, operands, width));
  }
  SmallVector<Value> out;
  for (Value v : block.getTerminator()->getOperands()) out.push_back(splat(map.contains(v) ? map.lookup(v) : scalar(v), width));
  return out;
}

/// A point's index in the space that a reduction along `axis` leaves.
static SmallVector<Value> without(ArrayRef<Value> index, int64_t axis) {
  SmallVector<Value> rest(index);
  rest.erase(rest.begin() + axis);
  return rest;
}

/// Combines the lanes of `accumulated` (those of them that exist) and stores the scalars.
void Emitter::emitCrossLane(tile::ReduceOp op, const Point& p, ValueRange accumulated) {
  int64_t axis = op.getAxis();
  int64_t size = cast<RankedTensorType>(op.getInputs()[0].getType()).getDimSize(axis);
  int64_t count = std::min<int64_t>(p.width, size);
  SmallVector<Value> acc(accumulated.begin(), accumulated.end());
  // Halve the vector while its lanes are an even number that all hold elements; then one by one.
  while (count > 2 && count % 2 == 0) {
    SmallVector<Value> lo, hi;
    for (Value v : acc) {
      lo.push_back(vector::ExtractStridedSliceOp::create(b, loc, v, {0}, {count / 2}, {1}));
      hi.push_back(vector::ExtractStridedSliceOp::create(b, loc, v, {count / 2}, {count / 2}, {1}));
    }
    count /= 2;
    acc = combine(op, lo, hi, count);
  }
  SmallVector<Value> out;
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> lane;
    for (Value v : acc) lane.push_back(isa<VectorType>(v.getType()) ? vector::ExtractOp::create(b, loc, v, i).getResult() : v);
    out = i == 0 ? lane : combine(op, out, lane, 1);
  }
  Point at{.index = without(p.index, axis), .lane = -1, .width = 1};
  for (auto [v, result] : llvm::zip_equal(out, op.getResults())) storeAt(views[result], at, v);
}

Value Emitter::accumulatorStays(Value index, int64_t width, bool notFirst, int64_t size) {
  Value stays;
  if (notFirst) stays = splat(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, index, i64(0)), width);
  if (!ShapedType::isDynamic(size) && width > 1) {
    Value lanes = laneIndices(b, loc, index, width);
    Value beyond = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, lanes, splat(i64(size), width));
    stays = stays ? arith::OrIOp::create(b, loc, stays, beyond).getResult() : beyond;
  }
  return stays;
}

void Emitter::emitReductionNest(Group& group, ArrayRef<tile::ReduceOp> reductions) {
  int axis = group.reduced;
  int64_t size = group.shape[axis];
  int64_t width = widthFor(group.shape, group.lane);
  bool across = group.lane == axis;
  auto inputsAt = [&](tile::ReduceOp op, const Point& p) {
    SmallVector<Value> in;
    for (Value v : op.getInputs()) in.push_back(evalVector(v, p));
    return in;
  };
  auto init = [&](const Point& p) {
    SmallVector<Value> accs;
    for (tile::ReduceOp op : reductions) {
      if (reductionKind(op) != ReductionKind::Custom) {
        accs.push_back(identity(op, p.lane < 0 ? 1 : width));
        continue;
      }
      // Without an identity the accumulator starts as the first element; folding that in once more is avoided by a flag below.
      Point first = p;
      first.index[axis] = i64(0);
      memo.clear();
      llvm::append_range(accs, inputsAt(op, first));
    }
    return accs;
  };
  auto body = [&](const Point& p, ValueRange carried) {
    SmallVector<Value> next;
    size_t at = 0;
    for (tile::ReduceOp op : reductions) {
      size_t n = op.getInputs().size();
      ValueRange acc = carried.slice(at, n);
      SmallVector<Value> in = inputsAt(op, p);
      int64_t w = p.lane < 0 ? 1 : width;
      SmallVector<Value> out = combine(op, acc, in, w);
      bool custom = reductionKind(op) == ReductionKind::Custom;
      bool partial = across && size % width != 0;
      if (Value keep = accumulatorStays(p.index[axis], w, custom, partial ? size : ShapedType::kDynamic))
        for (auto [o, a] : llvm::zip_equal(out, acc)) o = arith::SelectOp::create(b, loc, keep, a, o);
      llvm::append_range(next, out);
      at += n;
    }
    for (const Root& root : group.roots)
      if (root.value) storeAt(views[root.value], p, evalVector(root.value, p));
    return next;
  };
  auto finish = [&](const Point& p, ValueRange accs) {
    size_t at = 0;
    for (tile::ReduceOp op : reductions) {
      ValueRange mine = accs.slice(at, op.getInputs().size());
      at += op.getInputs().size();
      if (across) {
        emitCrossLane(op, p, mine);
        continue;
      }
      Point out{.index = without(p.index, axis), .lane = p.lane < 0 ? -1 : p.lane - (p.lane > axis), .width = p.width};
      for (auto [v, result] : llvm::zip_equal(mine, op.getResults())) storeAt(views[result], out, v);
    }
  };
  nest(group.shape, group.lane, width, axis, init, body, finish);
}

}  // namespace fattn::cpu
