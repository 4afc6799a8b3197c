// SPDX-License-Identifier: Apache-2.0
// Steps that combine elements along a dimension or move them, and vectors beside tiles.
#include "tests/generator/Builder.h"

using namespace mlir;

namespace fattn::generator {

Tracked Builder::reduce(Tracked x, int64_t axis) {
  if (x.isFloat()) x = tamed(x);
  auto n = static_cast<double>(x.dim(axis));
  int64_t kind = random_.between(0, 2);
  spend(x.type().getNumElements());
  Value result = tile::ReduceOp::create(b_, loc_, x.value, axis, [&](OpBuilder& b, Location loc, ValueRange l, ValueRange r) {
                   Value v;
                   if (x.isFloat())
                     v = kind == 0   ? arith::AddFOp::create(b, loc, l[0], r[0]).getResult()
                         : kind == 1 ? arith::MaxNumFOp::create(b, loc, l[0], r[0]).getResult()
                                     : arith::MinNumFOp::create(b, loc, l[0], r[0]).getResult();
                   else
                     v = kind == 0   ? arith::AddIOp::create(b, loc, l[0], r[0]).getResult()
                         : kind == 1 ? arith::MaxSIOp::create(b, loc, l[0], r[0]).getResult()
                                     : arith::XOrIOp::create(b, loc, l[0], r[0]).getResult();
                   tile::YieldOp::create(b, loc, v);
                 }).getResult(0);
  if (!x.isFloat()) return {result};
  if (kind != 0) return {result, x.bound, x.error, x.quantum};
  Tracked sum = rounded(result, n * x.bound, n * x.error, x.quantum);
  if (sum.quantum == 0) sum.error += 2 * n * unit(x.element()) * n * x.bound;
  return sum;
}

/// Or the greatest, or another combination.
Tracked Builder::sumOfAll(Tracked x) {
  int64_t first = random_.between(0, 1);
  Tracked line = reduce(x, first);
  return reduce(line.isFloat() ? normalized(line) : line, 0);
}

/// Where along the axis the greatest element is, the first of equals: a reduction of two tiles at once.
Value Builder::argmax(Tracked x, int64_t axis) {
  Value at = numbers(x.type().getShape(), axis, {}, b_.getI32Type());
  return tile::ReduceOp::create(b_, loc_, ValueRange{x.value, at}, axis,
                                [&](OpBuilder& b, Location loc, ValueRange l, ValueRange r) {
                                  Value greater = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, l[0], r[0]);
                                  Value equal = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, l[0], r[0]);
                                  Value first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, l[1], r[1]);
                                  Value left = arith::OrIOp::create(b, loc, greater, arith::AndIOp::create(b, loc, equal, first));
                                  Value value = arith::SelectOp::create(b, loc, left, l[0], r[0]);
                                  Value index = arith::SelectOp::create(b, loc, left, l[1], r[1]);
                                  tile::YieldOp::create(b, loc, ValueRange{value, index});
                                })
      .getResult(1);
}

Tracked Builder::restored(Tracked line, int64_t axis, TensorType type) {
  line.value = tile::ExpandDimsOp::create(b_, loc_, line.value, axis);
  if (line.value.getType() != type) line.value = tile::BroadcastOp::create(b_, loc_, type, line.value);
  return line;
}

/// The reduced line, in the shape it came from. It also joins the vectors.
Tracked Builder::reduced(Tracked x) {
  int64_t axis = random_.between(0, 1);
  bool largest = !x.isFloat() && random_.chance(50);
  Tracked line = largest ? Tracked{argmax(x, axis)} : reduce(x, axis);
  vectors_.push_back(line);
  return restored(line, axis, RankedTensorType::get(x.type().getShape(), line.element()));
}

Tracked Builder::cumsum(Tracked x) {
  if (x.isFloat()) x = tamed(x);
  int64_t axis = random_.between(0, 1);
  bool reverse = random_.chance(50);
  Value result = tile::CumsumOp::create(b_, loc_, x.value, axis, reverse);
  if (!x.isFloat()) return {result};
  auto n = static_cast<double>(x.dim(axis));
  Tracked sum = rounded(result, n * x.bound, n * x.error, x.quantum);
  if (sum.quantum == 0) sum.error += 2 * n * unit(x.element()) * n * x.bound;
  return sum;
}

Tracked Builder::transposed(Tracked x) {
  x.value = tile::TransOp::create(b_, loc_, x.value, ArrayRef<int64_t>{1, 0});
  return x;
}

Tracked Builder::rearranged(Tracked x) {
  int64_t m = x.dim(0), n = x.dim(1);
  auto shaped = [&](Shape shape) { return RankedTensorType::get(shape, x.element()); };
  spend(x.type().getNumElements());
  switch (random_.between(0, 3)) {
    case 0:
      x.value = tile::ReshapeOp::create(b_, loc_, shaped({n, m}), x.value);
      return x;
    case 1: {
      Value expanded = tile::ExpandDimsOp::create(b_, loc_, x.value, random_.between(0, 2));
      Value moved = tile::TransOp::create(b_, loc_, expanded, ArrayRef<int64_t>{2, 0, 1});
      x.value = tile::ReshapeOp::create(b_, loc_, shaped({m, n}), moved);
      return x;
    }
    case 2: {  // some rows beside each other
      int64_t divisor = random_.pick({2, 4, 3});
      if (m % divisor == 0)
        x.value = tile::ReshapeOp::create(b_, loc_, shaped({m / divisor, n * divisor}), x.value);
      else if (n % divisor == 0)
        x.value = tile::ReshapeOp::create(b_, loc_, shaped({m * divisor, n / divisor}), x.value);
      return x;
    }
    default: {
      if (m * n > 1024 || !affords(8 * m * n)) return x;
      Tracked y = anyLike(x.type());
      auto halves = tile::SplitOp::create(b_, loc_, tile::JoinOp::create(b_, loc_, x.value, y.value));
      Value swapped = tile::JoinOp::create(b_, loc_, halves.getRhs(), halves.getLhs());
      return {tile::ReshapeOp::create(b_, loc_, shaped({m, 2 * n}), swapped), std::max(x.bound, y.bound), std::max(x.error, y.error),
              std::min(x.quantum, y.quantum)};
    }
  }
}

Tracked Builder::anyVector(int64_t size, bool isFloat) {
  for (const Tracked& vector : llvm::reverse(vectors_))
    if (vector.dim(0) == size && vector.isFloat() == isFloat && !random_.chance(25)) return vector;
  Type element = isFloat ? randomFloat() : b_.getI32Type();
  Tracked fresh = load({size}, element);
  vectors_.push_back(fresh);
  return fresh;
}

/// A vector meets a tile along one of its dimensions, or is computed with and stored.
void Builder::vectorStep() {
  Tracked x = any(random_.chance(85));
  int64_t axis = random_.between(0, 1);
  Tracked vector = anyVector(x.dim(1 - axis), x.isFloat());
  if (random_.chance(40)) {
    vector = changed(vector);
    if (!vector.isFloat() || vector.error <= 0.05 * vector.bound) vectors_.push_back(vector);
  }
  if (random_.chance(15) && !quiet_) store(vector);
  if (vector.isFloat()) vector = castTo(vector, x.element());
  if (vector.element() != x.element()) return;
  Tracked all = restored(vector, axis, x.type());
  keep(x.isFloat() ? binary(x, all) : integerBinary(x, all));
  note("vector.beside-tile");
}

}  // namespace fattn::generator
