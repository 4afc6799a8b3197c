// SPDX-License-Identifier: Apache-2.0
// Steps of a random program that have regions: loops up and down with bounds of several kinds, branches, lazy selections.
#include "tests/generator/Builder.h"

using namespace mlir;

namespace fattn::generator {

Tracked Builder::contract(Tracked carried, Tracked other) {
  if (!carried.isFloat()) return {arith::AddIOp::create(b_, loc_, carried.value, other.value)};
  carried.quantum = 0;
  Tracked half = times(carried, splat(0.5, carried.type())), sum = plus(half, other);
  sum.bound = 9;  // so that tamed() clamps whatever came in
  return tamed(sum);
}

/// After any number of iterations e -> e / 2 + c the error is at most the greater of the first one and 2 c.
static Tracked afterLoop(Value result, Tracked before, Tracked firstWithoutError) {
  if (!before.isFloat()) return {result};
  return {result, std::max(before.bound, 4.0), std::max(before.error, 2 * firstWithoutError.error)};
}

static const char* featureOf(int64_t trips) {
  static constexpr const char* kNames[] = {"loop.no-trips", "loop.one-trip", "loop.two-trips", "loop.many-trips"};
  return kNames[std::min<int64_t>(trips, 3)];
}

/// The same number as the greatest element of a tile, which all threads find out together.
Value Builder::throughTile(Value number) {
  constexpr int64_t kElements = 96;
  auto type = RankedTensorType::get({kElements}, b_.getI32Type());
  Value all = tile::SplatOp::create(b_, loc_, type, number), places = tile::ArangeOp::create(b_, loc_, type, 0);
  Value lower = arith::SubIOp::create(b_, loc_, all, places);
  auto greatest = tile::ReduceOp::create(b_, loc_, lower, 0, [&](OpBuilder& b, Location loc, ValueRange l, ValueRange r) {
    Value greater = arith::MaxSIOp::create(b, loc, l[0], r[0]);
    tile::YieldOp::create(b, loc, greater);
  });
  note("loop.bound-from-tile");
  return tile::UnsplatOp::create(b_, loc_, b_.getI32Type(), greatest.getResult(0));
}

/// Where a loop that takes `step` a trip ends: a constant, an argument, a number from memory, or one that the program's place decides.
Value Builder::highBound(Trips trips, unsigned bits, int64_t step) {
  Type type = b_.getIntegerType(bits);
  switch (random_.weighted(std::array{25, 40, 20, 15})) {
    case 0:
      return constant(trips.most * step, bits);
    case 1: {
      int64_t last = trips.most > 0 ? random_.between(0, step - 1) : 0;
      return addInteger(trips.most * step - last, 1, bits);
    }
    case 2: {
      Value count = scalar(b_.getI32Type(), 0, trips.most);
      if (bits == 32) count = throughTile(count);
      if (bits == 64) count = arith::ExtSIOp::create(b_, loc_, type, count);
      note("loop.bound-from-memory");
      return arith::MulIOp::create(b_, loc_, count, constant(step, bits));
    }
    default: {
      Value id = bits == 64 ? id_[0] : arith::TruncIOp::create(b_, loc_, type, id_[0]).getResult();
      Value count = arith::AddIOp::create(b_, loc_, id, constant(random_.between(0, 2), bits));
      count = arith::MinSIOp::create(b_, loc_, count, constant(trips.most, bits));
      note("loop.bound-from-program");
      return arith::MulIOp::create(b_, loc_, count, constant(step, bits));
    }
  }
}

SmallVector<Value> Builder::counted(Trips trips, ValueRange inits, Body body) {
  unsigned bits = random_.chance(40) ? 32 : 64;
  bool inElements = random_.chance(50), downward = random_.chance(25);
  int64_t step = inElements ? trips.block : 1;
  Value high = highBound(trips, bits, step), low = constant(0, bits), by = constant(step, bits);
  auto loop = scf::ForOp::create(b_, loc_, low, high, by, inits);
  {
    Scope scope(*this, trips.most);
    b_.setInsertionPointToStart(loop.getBody());
    Value at = loop.getInductionVar();
    if (downward) at = arith::SubIOp::create(b_, loc_, constant((trips.most - 1) * step, bits), at);
    if (!inElements && trips.block != 1) at = arith::MulIOp::create(b_, loc_, at, constant(trips.block, bits));
    if (bits == 32) at = arith::ExtSIOp::create(b_, loc_, b_.getI64Type(), at);
    if (downward) note("loop.downward");
    SmallVector<Value> results = body(at, loop.getRegionIterArgs());
    if (loop.getBody()->mightHaveTerminator()) loop.getBody()->getTerminator()->erase();
    b_.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(b_, loc_, results);
  }
  note(featureOf(trips.most));
  if (loops_ > 0) note("loop.nested");
  return {loop.getResults().begin(), loop.getResults().end()};
}

/// Carries a tile, and perhaps a vector and a block pointer that moves along the columns; what it adds is loaded and computed in the loop.
void Builder::loop() {
  Tracked carried = tamed(any(random_.chance(80)));
  TensorType type = carried.type();
  int64_t m = carried.dim(0), n = carried.dim(1), trips = randomTrips(m * n * 4);
  View input = view(carried.element(), {m * program_.grid[0], std::max<int64_t>(1, n * trips)}, true, Whose::Shared);
  SmallVector<Value> start = {arith::MulIOp::create(b_, loc_, id_[0], constant(m)), constant(0)}, inits = {carried.value};
  bool moves = random_.chance(30), sums = random_.chance(30) && carried.isFloat(), writes = random_.chance(25) && !quiet_;
  if (moves) inits.push_back(blockPointer(input, type.getShape(), start));
  Tracked vector, next, nextVector;
  if (sums) {
    vector = tamed(castTo(anyVector(m, true), carried.element()));
    inits.push_back(vector.value);
  }
  View output = writes ? view(carried.element(), {m, std::max<int64_t>(1, n * trips)}, false, Whose::Own) : View();
  auto body = [&](Value at, ValueRange arguments) -> SmallVector<Value> {
    Value from = moves ? arguments[1] : Value();
    if (from && random_.chance(50)) from = tile::AdvanceOp::create(b_, loc_, from, ValueRange{constant(0), at});
    Tracked x = from ? loadThrough(from, input.coarse, false) : loadFrom(input, type.getShape(), {start[0], at}, true);
    keep(x);
    steps(2);
    Tracked other = random_.chance(50) ? newestAs(type) : tamed(anyLike(type));
    next = contract({arguments[0], std::max(carried.bound, 4.0), 0}, other);
    SmallVector<Value> results = {next.value};
    if (moves) results.push_back(tile::AdvanceOp::create(b_, loc_, arguments[1], ValueRange{constant(1), constant(2)}));
    if (sums) {
      nextVector = contract({arguments.back(), std::max(vector.bound, 4.0), 0}, normalized(reduce(other, 1)));
      results.push_back(nextVector.value);
      note("loop.vector");
    }
    if (writes) {
      storeTo(output, other, {constant(0), at}, true);
      note("loop.store");
    }
    return results;
  };
  auto results = counted({trips, n}, inits, body);
  keep(afterLoop(results[0], carried, next));
  if (sums) vectors_.push_back(afterLoop(results.back(), vector, nextVector));
}

/// Counts down while it carries a tile.
void Builder::whileLoop() {
  Tracked carried = tamed(any(random_.chance(80)));
  int64_t trips = randomTrips(carried.type().getNumElements() * 4);
  Value count = addInteger(trips), zero = constant(0), one = constant(1);
  SmallVector<Type> types = {b_.getI64Type(), carried.value.getType()};
  Tracked next;
  auto loop = scf::WhileOp::create(
      b_, loc_, types, ValueRange{count, carried.value},
      [&](OpBuilder& b, Location loc, ValueRange values) {
        Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, values[0], zero);
        scf::ConditionOp::create(b, loc, more, values);
      },
      [&](OpBuilder& b, Location loc, ValueRange values) {
        Scope scope(*this, trips);
        b_.setInsertionPoint(b.getInsertionBlock(), b.getInsertionPoint());
        steps(1);
        Tracked other = random_.chance(50) ? newestAs(carried.type()) : tamed(anyLike(carried.type()));
        next = contract({values[1], std::max(carried.bound, 4.0), 0}, other);
        Value left = arith::SubIOp::create(b_, loc, values[0], one);
        scf::YieldOp::create(b_, loc, ValueRange{left, next.value});
      });
  keep(afterLoop(loop.getResult(1), carried, next));
  note("loop.while");
}

void Builder::branch() {
  Tracked x = any(random_.chance(80));
  Value id = id_[random_.between(0, 1)], limit = constant(random_.between(0, 2));
  Value condition = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, id, limit);
  if (random_.chance(30)) {  // data decides
    Value number = scalar(b_.getI32Type());
    condition = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::sgt, number, constant(random_.between(-4, 4), 32));
    note("branch.data");
  }
  auto branch = scf::IfOp::create(b_, loc_, TypeRange{x.value.getType()}, condition, /*withElseRegion=*/true);
  Tracked sides[2];
  for (int side = 0; side < 2; ++side) {
    Scope scope(*this);
    b_.setInsertionPointToStart(side == 0 ? branch.thenBlock() : branch.elseBlock());
    pool_.push_back(x);
    steps(1);
    sides[side] = changed(random_.chance(40) ? newestAs(x.type()) : x);
    scf::YieldOp::create(b_, loc_, sides[side].value);
  }
  keep({branch.getResult(0), std::max(sides[0].bound, sides[1].bound), std::max(sides[0].error, sides[1].error)});
  note("branch");
}

/// The exact side is something else in the rows where the condition holds, and the usual value in the others: the promise is kept.
Tracked Builder::lazily(Tracked usual, int depth) {
  TensorType type = usual.type();
  Value condition = rowCondition(type.getDimSize(0));
  auto select = tile::SelectLazyOp::create(b_, loc_, TypeRange{type}, condition, ValueRange{usual.value});
  Tracked exact;
  {
    Scope scope(*this);
    b_.createBlock(&select.getExact());
    bool before = std::exchange(quiet_, true);
    pool_.push_back(usual);
    steps(1);
    int64_t rows = usual.dim(0), columns = usual.dim(1);
    if (usual.isFloat() && affords(rows * columns * columns) && random_.chance(25)) {
      Tracked left = tamed(usual), right = load({columns, columns}, usual.element());
      exact = castTo(normalized(product(left, right)), usual.element());
      note("dot.in-lazy");
    } else {
      exact = changed(random_.chance(40) ? newestAs(type) : usual);
    }
    if (depth < 2 && depth_ < 4 && random_.chance(35)) {
      exact = lazily(exact, depth + 1);
      note("lazy.nested");
    }
    auto mask = RankedTensorType::get(type.getShape(), b_.getI1Type());
    Value holds = isa<TensorType>(condition.getType()) ? restored({condition}, 1, mask).value
                                                       : tile::SplatOp::create(b_, loc_, mask, condition).getResult();
    exact = either(holds, exact, usual);
    tile::YieldOp::create(b_, loc_, exact.value);
    quiet_ = before;
  }
  note(loops_ > 0 ? "lazy.in-loop" : "lazy");
  exact.value = select.getResult(0);
  return exact;
}

void Builder::lazy() { keep(lazily(any(random_.chance(80)), 0)); }

}  // namespace fattn::generator
