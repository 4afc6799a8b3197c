// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/nests/Nest.h"

#include "compiler/cpu/nests/Evaluate.h"
#include "compiler/cpu/state/Emission.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// One nest while its loops are made.
class NestBuilder {
 public:
  NestBuilder(Emission& e, const Space& space) : e(e), space(space) {
    int rank = space.shape.size();
    p.index.resize(rank);
    p.lane = space.lane;
    p.width = space.lane < 0 ? 1 : space.width;
    for (int d = 0; d < rank; ++d)
      if (d != space.lane && d != space.carrying) order.push_back(d);
    if (space.lane >= 0 && space.lane != space.carrying) order.push_back(space.lane);
  }

  /// Makes the loops from `level` on; `innermost` makes what is inside all of them.
  void make(function_ref<void()> innermost, size_t level = 0) {
    if (level == order.size()) return innermost();
    int d = order[level];
    if (oneTrip(d)) {
      p.index[d] = e.b.i64(0);
      return make(innermost, level + 1);
    }
    e.b.loop(e.b.i64(0), e.b.i64(space.shape[d]), step(d), [&](Value i) {
      p.index[d] = i;
      make(innermost, level + 1);
    });
  }

  void makeBody(PointBody body) {
    forgetting([&] { body(p); });
  }

  void makeCarrying(const Carrying& carrying) {
    int d = space.carrying;
    SmallVector<Value> carried = carrying.init(p);
    auto trip = [&](Value i, ValueRange now) {
      p.index[d] = i;
      SmallVector<Value> next;
      forgetting([&] { next = carrying.body(p, now); });
      return next;
    };
    if (oneTrip(d))
      carried = trip(e.b.i64(0), carried);
    else
      carried = e.b.loop(e.b.i64(0), e.b.i64(space.shape[d]), step(d), carried, trip);
    forgetting([&] { carrying.finish(p, carried); });
  }

 private:
  int64_t step(int d) const { return d == space.lane ? p.width : 1; }
  bool oneTrip(int d) const { return space.shape[d] <= step(d); }
  /// Runs `make` with an empty memo: what it computes is known in its loop body only.
  void forgetting(function_ref<void()> make) {
    Memo outside = std::exchange(e.memo, {});
    make();
    e.memo = std::move(outside);
  }

  Emission& e;
  const Space& space;
  SmallVector<int> order;  ///< the dimensions of the loops, from the outermost
  Point p;
};

}  // namespace

Space Space::of(const HostTarget& host, ArrayRef<int64_t> shape, int lane) {
  if (lane < 0) return {shape, lane, 1};
  // Two vectors at a time hide the latency of sums and polynomials.
  return {shape, lane, shape[lane] % (2 * host.lanes) == 0 ? 2 * host.lanes : host.lanes};
}

void nest(Emission& e, const Space& space, const Carrying& carrying) {
  NestBuilder builder(e, space);
  builder.make([&] { builder.makeCarrying(carrying); });
}

void nest(Emission& e, const Space& space, PointBody body) {
  NestBuilder builder(e, space);
  builder.make([&] { builder.makeBody(body); });
}

void nestOver(Emission& e, ArrayRef<int64_t> shape, int lane, PointBody body) { nest(e, Space::of(e.b.host, shape, lane), body); }

void forEachElement(Emission& e, ArrayRef<int64_t> shape, Value mask, PointBody body) {
  nestOver(e, shape, -1, [&](const Point& p) {
    if (!mask) return body(p);
    e.b.onlyIf(eval(e, mask, p), [&] {
      Memo outside = e.memo;  // what is computed under the mask is not known outside
      body(p);
      e.memo = outside;
    });
  });
}

}  // namespace fattn::cpu
