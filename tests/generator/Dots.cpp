// SPDX-License-Identifier: Apache-2.0
// Matrix products: alone, over blocks of the inner dimension, two that share a tile, and five that need each other transposed.
//
// In loops an accumulator's error grows by the same amount in each trip, so its bound is that of the last trip from the start.
#include "tests/generator/Builder.h"

using namespace mlir;

namespace fattn::generator {

/// Hardware may keep fewer bits of a sum of products of 8-bit floats.
static double bitsOfSums(Type operand, Type sum) {
  if (sum.isF16()) return 10;
  return operand.getIntOrFloatBitWidth() == 8 ? 11 : 22;
}

Tracked Builder::product(Tracked a, Tracked b, Tracked acc) {
  int64_t k = a.dim(1);
  spend(acc.type().getNumElements() * k);
  if (!a.isFloat()) return {tile::DotOp::create(b_, loc_, a.value, b.value, acc.value)};
  bool coarsely = a.element().isF32() && random_.chance(15);
  auto precision = coarsely ? tile::Precision::tf32 : tile::Precision::ieee;
  Value result = tile::DotOp::create(b_, loc_, a.value, b.value, acc.value, precision);
  if (coarsely) note("dot.tf32");
  auto terms = static_cast<double>(k);
  double bound = terms * a.bound * b.bound + acc.bound, quantum = std::min(a.quantum * b.quantum, acc.quantum);
  if (quantum >= 0x1p-14 && bound <= std::exp2(bitsOfSums(a.element(), acc.element())) * quantum &&
      (!coarsely || std::max(a.bound, b.bound) <= 0x1p10 * std::min(a.quantum, b.quantum)))
    return {result, bound, 0, quantum};
  double error = terms * (a.bound * b.error + b.bound * a.error) + acc.error + 2 * terms * unit(acc.element()) * bound;
  if (coarsely) error += terms * a.bound * b.bound * 0x1p-9;
  if (a.element().getIntOrFloatBitWidth() == 8) error += bound * 0x1p-12;
  return rounded(result, bound, error);
}

Tracked Builder::product(Tracked a, Tracked b) {
  Type sum = a.isFloat() ? Type(b_.getF32Type()) : Type(b_.getI32Type());
  return product(a, b, splat(0, RankedTensorType::get({a.dim(0), b.dim(1)}, sum)));
}

void Builder::dot() {
  Tracked a = any(true);
  if (random_.chance(20)) {
    Type kinds[] = {b_.getI8Type(), Float8E4M3FNType::get(b_.getContext()), Float8E5M2Type::get(b_.getContext())};
    Type kind = random_.pick(kinds);
    a = load(a.type().getShape(), kind);
  }
  a = tamed(a);
  int64_t m = a.dim(0), k = a.dim(1), n = random_.chance(40) ? random_.between(1, 33) : randomSize();
  while (n > 1 && !affords(m * n * k)) n = (n + 1) / 2;
  Tracked b = a;
  std::vector<Tracked> fitting;  // a tile that already is there, so that tiles have several users
  for (const Tracked& tile : pool_)
    if (tile.dim(1) == k && tile.element() == a.element() && affords(m * tile.dim(0) * k)) fitting.push_back(tile);
  if (!fitting.empty() && random_.chance(40))
    b = transposed(tamed(random_.pick(fitting)));
  else if (!random_.chance(50))
    b = load({k, n}, a.element());
  else
    b = transposed(load({n, k}, a.element()));
  n = b.dim(1);
  Type result = a.isFloat() ? Type(b_.getF32Type()) : Type(b_.getI32Type());
  if (a.element().isF16() && random_.chance(20)) result = a.element();
  Tracked acc = random_.chance(40) ? load({m, n}, result) : splat(0, RankedTensorType::get({m, n}, result));
  keep(product(a, b, acc));
  if (m % 16 != 0 || n % 8 != 0 || k % 16 != 0) note("dot.odd-sizes");
}

/// Over blocks of the inner dimension, as a matrix product is written; what the loop loads may be changed before it is multiplied.
void Builder::dotLoop() {
  int64_t block = randomSize();
  auto [m, n] = randomShape(block);
  int64_t trips = randomTrips(m * n * block), inner = trips * block;
  bool ragged = random_.chance(40), computed = random_.chance(30);
  if (ragged && inner > 0) inner -= random_.between(0, block - 1);
  Type element = randomFloat();
  View left = view(element, {m * program_.grid[0], std::max<int64_t>(1, inner)}, true, Whose::Shared);
  View right = view(element, {std::max<int64_t>(1, inner), n}, true, Whose::Shared);
  auto type = RankedTensorType::get({m, n}, b_.getF32Type());
  Value row = arith::MulIOp::create(b_, loc_, id_[0], constant(m));
  auto runs = static_cast<double>(std::max<int64_t>(1, trips));
  Tracked per;
  auto body = [&, m = m, n = n](Value at, ValueRange carried) -> SmallVector<Value> {
    Tracked x = loadFrom(left, {m, block}, {row, at}, !ragged);
    Tracked y = loadFrom(right, {block, n}, {at, constant(0)}, !ragged);
    if (computed) {
      Value mask = condition({m, block}, row, at);
      x = either(mask, x, splat(0, x.type()));
      note("dot.computed-operand");
    }
    Tracked inside{carried[0], runs * block * x.bound * y.bound, 0, x.quantum * y.quantum};
    per = product(x, y, inside);
    return {per.value};
  };
  Value result = counted({trips, block}, splat(0, type).value, body)[0];
  keep({result, per.bound, runs * per.error, per.quantum});
  note("loop.dot");
}

/// dot(q, trans(x)), at most 1, perhaps masked.
Tracked Builder::scores(Tracked q, Tracked x, Value column) {
  Tracked turned = transposed(x), s = normalized(product(q, turned));
  if (random_.chance(50)) {
    Value mask = condition(s.type().getShape(), {}, column);
    s = either(mask, s, splat(random_.pick({0.0, -1.0}), s.type()));
    note("loop.mask");
  }
  if (random_.chance(25)) s = lazily(s, 1);
  return s;
}

/// s = dot(q, trans(x)); o = dot(f(s), x, o) over blocks of x: a tile that two dots use, in two orientations.
void Builder::chain() {
  int64_t block = randomSize();
  auto [m, depth] = randomShape(2 * block);
  int64_t trips = randomTrips(2 * m * depth * block);
  auto runs = static_cast<double>(std::max<int64_t>(1, trips));
  Type element = randomFloat();
  View blocks = view(element, {std::max<int64_t>(1, trips * block), depth}, true, Whose::Shared);
  Tracked q = load({m, depth}, element), next;
  bool masked = random_.chance(25), scaled = random_.chance(35), biased = random_.chance(25), kept = random_.chance(20) && !quiet_;
  View copy = kept ? view(element, {std::max<int64_t>(1, trips * block), depth}, false, Whose::Own) : View();
  View bias = biased ? view(b_.getF32Type(), {std::max<int64_t>(1, trips * block)}, true, Whose::Shared) : View();
  int64_t shape = random_.between(0, 2);
  auto body = [&, depth = depth](Value at, ValueRange carried) -> SmallVector<Value> {
    Value zero = constant(0);
    Tracked x = loadFrom(blocks, {block, depth}, {at, zero}, true);
    if (masked) {  // a computed operand
      Value mask = condition({block, depth}, at, {});
      x = either(mask, x, splat(0, x.type()));
      note("dot.computed-operand");
    }
    if (kept) storeTo(copy, x, {at, zero}, true);
    Tracked s = scores(q, x, at);
    if (biased) s = plus(s, restored(loadFrom(bias, {block}, {at}, true), 0, s.type()));
    if (biased) note("loop.vector");
    Tracked f = shape == 0 ? larger(s, splat(0, s.type())) : shape == 1 ? exp2(s) : minus(s, splat(0.5, s.type()));
    Tracked p = castTo(f, element);
    Tracked inside{carried[0], runs * block * p.bound * x.bound, 0, p.quantum * x.quantum};
    if (scaled) {  // an accumulator that is scaled down in each trip by a number for each row
      Tracked row = normalized(reduce(s, 1)), one = splat(1, row.type());
      Tracked factor = exp2(minus(larger(row, splat(0, row.type())), one));
      factor.bound = 1;
      inside = times(inside, restored(factor, 1, cast<TensorType>(carried[0].getType())));
      note("loop.scaled-accumulator");
    }
    next = product(p, x, inside);
    return {next.value};
  };
  Value start = splat(0, RankedTensorType::get({m, depth}, b_.getF32Type())).value;
  Value result = counted({trips, block}, start, body)[0];
  keep({result, next.bound, runs * next.error, next.quantum});
  note("loop.shared-operand");
}

/// Two dots, a product of what they give, and its products with what the loop loads, also transposed: three sums, of which one belongs to
/// the rows of the trip and is stored or atomically added.
void Builder::fiveDots() {
  int64_t block = randomSize();
  auto [n, depth] = randomShape(5 * block);
  int64_t trips = randomTrips(5 * n * depth * block);
  auto runs = static_cast<double>(std::max<int64_t>(1, trips));
  Type element = randomFloat();
  SmallVector<int64_t> extents = {std::max<int64_t>(1, trips * block), depth};
  View qs = view(element, extents, true, Whose::Shared), os = view(element, extents, true, Whose::Shared);
  View deltas = view(b_.getF32Type(), {extents[0]}, true, Whose::Shared), rows = view(b_.getF32Type(), extents, false, Whose::Own);
  Tracked k = load({n, depth}, element), v = load({n, depth}, element), dv, dk;
  bool atomically = random_.chance(50);
  auto body = [&, depth = depth](Value at, ValueRange carried) -> SmallVector<Value> {
    Value zero = constant(0);
    Tracked q = loadFrom(qs, {block, depth}, {at, zero}, true), o = loadFrom(os, {block, depth}, {at, zero}, true);
    Tracked delta = loadFrom(deltas, {block}, {at}, true);
    Tracked s = scores(q, k, {});
    Tracked p = random_.chance(50) ? exp2(s) : larger(s, splat(0, s.type()));
    Tracked turned = transposed(v);
    Tracked ov = normalized(product(o, turned)), dp = minus(ov, restored(delta, 1, s.type()));
    Tracked ds = castTo(normalized(times(p, dp)), element);
    p = castTo(p, element);
    Tracked pt = transposed(p), dst = transposed(ds);
    dv = product(pt, o, {carried[0], runs * block * p.bound * o.bound, 0, p.quantum * o.quantum});
    dk = product(dst, q, {carried[1], runs * block * ds.bound * q.bound, 0, ds.quantum * q.quantum});
    Tracked dq = normalized(product(ds, k));
    if (atomically && random_.chance(50)) {
      Value to = blockPointer(rows, {block, depth}, {at, zero});
      SmallVector<int64_t> checked = checkedDims(2, true);
      tile::AccumulateOp::create(b_, loc_, to, dq.value, b_.getDenseI64ArrayAttr(checked));
      tolerate(rows.argument, dq.error * 2);
      note("atomic.window");
    } else if (atomically) {
      Value to = pointers(rows, {block, depth}, {at, zero});
      tile::AtomicAddOp::create(b_, loc_, dq.value.getType(), to, dq.value, Value());
      tolerate(rows.argument, dq.error * 2);
      note("atomic.float");
    } else {
      storeTo(rows, dq, {at, zero}, true);
    }
    return {dv.value, dk.value};
  };
  Value start = splat(0, RankedTensorType::get({n, depth}, b_.getF32Type())).value;
  auto results = counted({trips, block}, {start, start}, body);
  keep({results[0], dv.bound, runs * dv.error, dv.quantum});
  keep({results[1], dk.bound, runs * dk.error, dk.quantum});
  note("loop.five-dots");
}

}  // namespace fattn::generator
