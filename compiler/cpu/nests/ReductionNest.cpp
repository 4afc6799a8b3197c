// SPDX-License-Identifier: Apache-2.0
// The loop nest of a group with reductions. Accumulators are carried along the reduced dimension; where that is the dimension of the lanes,
// each lane has its own, and they are combined behind the loop.
#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/nests/Evaluate.h"
#include "compiler/cpu/nests/Groups.h"
#include "compiler/cpu/nests/Nest.h"
#include "compiler/cpu/nests/Reduction.h"
#include "compiler/cpu/state/Emission.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// A point's index in the space that a reduction along `axis` leaves.
SmallVector<Value> without(ArrayRef<Value> index, int64_t axis) {
  SmallVector<Value> rest(index);
  rest.erase(rest.begin() + axis);
  return rest;
}

Value laneOf(HostBuilder& b, Value v, int64_t i) {
  return isa<VectorType>(v.getType()) ? vector::ExtractOp::create(b, v, i).getResult() : v;
}

/// All reductions of a group, in one nest.
class ReductionNest {
 public:
  ReductionNest(Emission& e, const Group& group, ArrayRef<tile::ReduceOp> reductions)
      : e(e),
        b(e.b),
        group(group),
        reductions(reductions),
        axis(group.reduced),
        space(Space::of(e.b.host, group.shape, group.lane)),
        across(group.lane == group.reduced) {
    space.carrying = axis;
  }

  void emit() {
    nest(e, space,
         {.init = [&](const Point& p) { return start(p); },
          .body = [&](const Point& p, ValueRange carried) { return step(p, carried); },
          .finish = [&](const Point& p, ValueRange accumulated) { store(p, accumulated); }});
  }

 private:
  SmallVector<Value> start(const Point& p);
  SmallVector<Value> step(const Point& p, ValueRange carried);
  void store(const Point& p, ValueRange accumulated);

  SmallVector<Value> inputsAt(tile::ReduceOp op, const Point& p);
  SmallVector<Value> accumulate(tile::ReduceOp op, const Point& p, ValueRange acc);
  Value accumulatorStays(tile::ReduceOp op, const Point& p);
  SmallVector<Value> combine(tile::ReduceOp op, ValueRange x, ValueRange y, int64_t width);
  SmallVector<Value> acrossLanes(tile::ReduceOp op, ValueRange accumulated, int64_t count);

  Emission& e;
  HostBuilder& b;
  const Group& group;
  ArrayRef<tile::ReduceOp> reductions;
  int axis;
  Space space;
  bool across;  ///< along the lanes
};

SmallVector<Value> ReductionNest::inputsAt(tile::ReduceOp op, const Point& p) {
  SmallVector<Value> in;
  for (Value v : op.getInputs()) in.push_back(evalVector(e, v, p));
  return in;
}

SmallVector<Value> ReductionNest::start(const Point& p) {
  SmallVector<Value> accs;
  for (tile::ReduceOp op : reductions) {
    if (ReductionKind kind = reductionKind(op); kind != ReductionKind::Custom) {
      TypedAttr identity = identityOf(kind, getElementTypeOrSelf(op.getInputs()[0].getType()));
      accs.push_back(b.splat(arith::ConstantOp::create(b, identity), p.elements()));
      continue;
    }
    // Without an identity the accumulator starts as the first element; accumulatorStays() avoids that it is folded in once more.
    Point first = p;
    first.index[axis] = b.i64(0);
    e.memo.clear();
    llvm::append_range(accs, inputsAt(op, first));
  }
  return accs;
}

/// The combine region, on vectors.
SmallVector<Value> ReductionNest::combine(tile::ReduceOp op, ValueRange x, ValueRange y, int64_t width) {
  Block& block = op.getCombine().front();
  IRMapping map;
  for (auto [i, arg] : llvm::enumerate(block.getArguments())) map.map(arg, i < x.size() ? x[i] : y[i - x.size()]);
  auto valueOf = [&](Value v) { return map.contains(v) ? map.lookup(v) : e.scalar(v); };
  for (Operation& inner : block.without_terminator()) {
    SmallVector<Value> operands = llvm::map_to_vector(inner.getOperands(), valueOf);
    map.map(inner.getResult(0), pointwise(b, &inner, operands, width));
  }
  return llvm::map_to_vector(block.getTerminator()->getOperands(), [&](Value v) { return b.splat(valueOf(v), width); });
}

/// Where the accumulator stays because there is no element: in the first trip if it has that element already, and in lanes beyond the end
/// of the reduced dimension. Null: nowhere.
Value ReductionNest::accumulatorStays(tile::ReduceOp op, const Point& p) {
  Value stays, index = p.index[axis];
  int64_t width = p.elements(), size = group.shape[axis];
  if (reductionKind(op) == ReductionKind::Custom)
    stays = b.splat(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, index, b.i64(0)), width);
  if (!across || size % space.width == 0 || width == 1) return stays;
  Value lanes = b.laneIndices(index, width);
  Value beyond = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, lanes, b.splat(b.i64(size), width));
  return stays ? arith::OrIOp::create(b, stays, beyond).getResult() : beyond;
}

SmallVector<Value> ReductionNest::accumulate(tile::ReduceOp op, const Point& p, ValueRange acc) {
  SmallVector<Value> in = inputsAt(op, p);
  SmallVector<Value> out = combine(op, acc, in, p.elements());
  if (Value stays = accumulatorStays(op, p))
    for (auto [o, a] : llvm::zip_equal(out, acc)) o = arith::SelectOp::create(b, stays, a, o);
  return out;
}

SmallVector<Value> ReductionNest::step(const Point& p, ValueRange carried) {
  SmallVector<Value> next;
  for (tile::ReduceOp op : reductions) {
    size_t n = op.getInputs().size();
    llvm::append_range(next, accumulate(op, p, carried.take_front(n)));
    carried = carried.drop_front(n);
  }
  for (const Root& root : group.roots)
    if (root.value) storeAt(b, e.tiles.at(root.value), p, evalVector(e, root.value, p));
  return next;
}

/// Combines the first `count` lanes into scalars.
SmallVector<Value> ReductionNest::acrossLanes(tile::ReduceOp op, ValueRange accumulated, int64_t count) {
  SmallVector<Value> acc(accumulated.begin(), accumulated.end());
  // Halve the vector while its lanes are an even number that all hold elements; then one by one.
  while (count > 2 && count % 2 == 0) {
    SmallVector<Value> lo, hi;
    for (Value v : acc) {
      lo.push_back(vector::ExtractStridedSliceOp::create(b, v, {0}, {count / 2}, {1}));
      hi.push_back(vector::ExtractStridedSliceOp::create(b, v, {count / 2}, {count / 2}, {1}));
    }
    count /= 2;
    acc = combine(op, lo, hi, count);
  }
  SmallVector<Value> out;
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> lane = llvm::map_to_vector(acc, [&](Value v) { return laneOf(b, v, i); });
    out = i == 0 ? lane : combine(op, out, lane, 1);
  }
  return out;
}

void ReductionNest::store(const Point& p, ValueRange accumulated) {
  for (tile::ReduceOp op : reductions) {
    SmallVector<Value> mine(accumulated.take_front(op.getInputs().size()));
    accumulated = accumulated.drop_front(mine.size());
    Point out{.index = without(p.index, axis), .lane = p.lane < 0 ? -1 : p.lane - (p.lane > axis), .width = p.width};
    if (across) {
      mine = acrossLanes(op, mine, std::min<int64_t>(p.width, group.shape[axis]));
      out.lane = -1;
      out.width = 1;
    }
    for (auto [v, result] : llvm::zip_equal(mine, op.getResults())) storeAt(b, e.tiles.at(result), out, v);
  }
}

}  // namespace

void emitReductionNest(Emission& e, const Group& group, ArrayRef<tile::ReduceOp> reductions) { ReductionNest(e, group, reductions).emit(); }

}  // namespace fattn::cpu
