// SPDX-License-Identifier: Apache-2.0
// Steps that read and write memory: gathers and scatters, atomic additions, arrays changed in place, stores followed by loads of other
// shapes, loops that read what an earlier trip wrote, and tables whose next index comes from what was written last.
//
// Two arguments may be the same memory (docs/language.md): some of the accesses go through an argument of their own.
#include "tests/generator/Builder.h"

using namespace mlir;

namespace fattn::generator {

Builder::View Builder::flatView(Value base, Type element) {
  View result;
  result.base = base;
  result.element = element;
  return result;
}

/// The same memory, perhaps through another argument.
Builder::View Builder::perhapsThroughAnother(const View& view) {
  if (!random_.chance(35)) return view;
  auto original = cast<BlockArgument>(function_.getArgument(view.argument));
  Array array{.type = view.element, .bytes = {}, .misalignment = std::get<Array>(program_.arguments[view.argument]).misalignment};
  View result = view;
  auto another = cast<BlockArgument>(addArgument(original.getType(), std::move(array), "same"));
  function_.setArgAttr(another.getArgNumber(), kSameAttr, b_.getI64IntegerAttr(original.getArgNumber()));
  if (Attribute promised = function_.getArgAttr(original.getArgNumber(), "tile.divisibility"))
    function_.setArgAttr(another.getArgNumber(), "tile.divisibility", promised);
  result.base = view.start ? tile::AddPtrOp::create(b_, loc_, another, view.start).getResult() : another;
  note("memory.same-through-another");
  return result;
}

/// Through pointers of any order, also ones that come from memory.
void Builder::gathered() {
  auto [m, n] = randomShape();
  Type element = randomFloat();
  if (random_.chance(30)) {
    auto type = RankedTensorType::get({m, n}, element);
    keep({tile::SplatOp::create(b_, loc_, type, scalar(element)), 2, 0});
    return note("load.scalar");
  }
  int64_t count = random_.between(1, m * n + 3);
  View from = view(element, {count}, true, Whose::Shared);
  auto type = RankedTensorType::get({m, n}, element), integers = RankedTensorType::get({m, n}, b_.getI32Type());
  Value index, mask;
  if (random_.chance(40)) {
    Fill fill{.seed = random_.between(0, 255), .low = 0, .high = count - 1};
    Placement placement = place(b_.getI32Type());
    View indices = reshaped(flatView(addArray(b_.getI32Type(), m * n, fill, placement), b_.getI32Type()), {m, n}, false);
    SmallVector<Value> zeros(2, constant(0));
    index = loadFrom(indices, {m, n}, zeros, true).value;
    if (random_.chance(50)) mask = condition({m, n});
    note("load.indirect");
  } else {
    Value row = numbers({m, n}, 0, {}, b_.getI32Type()), column = numbers({m, n}, 1, {}, b_.getI32Type());
    index = arith::MulIOp::create(b_, loc_, row, splat(static_cast<double>(n), integers).value);
    index = arith::AddIOp::create(b_, loc_, index, column);
    mask = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, index, splat(static_cast<double>(count), integers).value);
  }
  Value base = tile::SplatOp::create(b_, loc_, RankedTensorType::get({m, n}, from.base.getType()), from.base);
  Value at = tile::AddPtrOp::create(b_, loc_, base, index);
  Value other = mask && random_.chance(50) ? splat(-0.5, type).value : Value();
  keep(loaded(tile::GatherOp::create(b_, loc_, type, at, mask, other), from.coarse));
}

/// Each program scatters a part of a tile to its own places.
void Builder::scattered() {
  Tracked x = any(random_.chance(80));
  int64_t size = x.type().getNumElements();
  View to = view(x.element(), {size}, false, Whose::Own);
  tolerate(to.argument, x.error);
  Value flat = tile::ReshapeOp::create(b_, loc_, RankedTensorType::get({size}, x.element()), x.value);
  Value at = pointers(to, {size}, {constant(0)}), index = numbers({size}, 0, {}, b_.getI32Type());
  Value limit = splat(static_cast<double>(random_.between(0, size)), cast<TensorType>(index.getType())).value;
  Value mask = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, index, limit);
  tile::ScatterOp::create(b_, loc_, at, flat, mask);
  note("store.pointers");
}

/// Numbers of at most 1 that are added in 16 bits.
static constexpr double kMostHalfAdds = 64;

/// All programs add in the same few places; or each in its own, and goes on with what was there before.
void Builder::atomics() {
  Type kinds[] = {b_.getI32Type(), b_.getF32Type(), b_.getI64Type(), b_.getF16Type(), b_.getBF16Type()};
  Type element = kinds[random_.weighted(std::array{34, 34, 12, 10, 10})];
  auto [m, n] = randomShape(4);
  Tracked x = anyLike(RankedTensorType::get({m, n}, element));
  bool apart = loops_ == 0 && random_.chance(30), half = element.isF16() || element.isBF16();
  if (half) x = normalized(x);
  if (half && static_cast<double>(m * n * repeated_) > kMostHalfAdds) {  // a sum of many would be rounded to anything
    if (loops_ > 0) return;
    apart = true;
  }
  View to = view(element, {apart ? m * n : 4}, apart, Whose::Shared);
  if (apart) to = reshaped(view(element, {m * n}, true, Whose::Own), {m, n}, random_.chance(50));
  Value zero = constant(0), mask = random_.chance(50) ? condition({m, n}) : Value();
  Value at;
  if (apart) {
    at = pointers(to, {m, n}, {zero, zero});
  } else {
    Value column = numbers({m, n}, 1, {}, b_.getI32Type());
    Value which = arith::AndIOp::create(b_, loc_, column, splat(3, cast<TensorType>(column.getType())).value);
    Value base = tile::SplatOp::create(b_, loc_, RankedTensorType::get({m, n}, to.base.getType()), to.base);
    at = tile::AddPtrOp::create(b_, loc_, base, which);
  }
  Value before = tile::AtomicAddOp::create(b_, loc_, x.value.getType(), at, x.value, mask);
  note(half ? "atomic.half" : isa<FloatType>(element) ? "atomic.float" : "atomic.integer");
  if (!isa<FloatType>(element)) {
    if (apart) keep({before});
    return;
  }
  auto adds = static_cast<double>(apart ? 1 : m * n * repeated_);
  Tracked sum = rounded(before, adds * x.bound + 2, adds * x.error, std::min(x.quantum, to.coarse ? 0.25 : 0));
  tolerate(to.argument, sum.quantum > 0 ? 0 : sum.error + adds * adds * x.bound * unit(element));
  if (apart) keep(loaded(before, to.coarse));
}

/// A window is read, changed and written back.
void Builder::inPlace() {
  std::array<int64_t, 2> shape = randomShape();
  Type element = random_.chance(75) ? randomFloat() : b_.getI32Type();
  SmallVector<int64_t> extents;
  for (int dim = 0; dim < 2; ++dim) extents.push_back(shape[dim] * program_.grid[dim] - (random_.chance(30) ? 1 : 0));
  if (extents[0] * extents[1] == 0) return;
  View both = view(element, extents, true, Whose::Shared);
  SmallVector<Value> offsets = windowOffsets(shape);
  View into = perhapsThroughAnother(both);
  Tracked x = loadFrom(both, shape, offsets, false), y = castTo(changed(x), element);
  storeTo(into, y, offsets, false);
  note("memory.in-place");
  keep(random_.chance(50) ? y : x);
}

/// Reads an own array of as many elements as a tile has in another shape, order or way.
Tracked Builder::loadOtherwise(const View& flat, TensorType written, Tracked holds) {
  int64_t m = written.getDimSize(0), n = written.getDimSize(1);
  Value zero = constant(0);
  Tracked x;
  switch (random_.between(0, 6)) {
    case 0:
      x = loadFrom(reshaped(flat, {n, m}, false), {n, m}, {zero, zero}, true);
      x.value = tile::ReshapeOp::create(b_, loc_, written, x.value);
      break;
    case 1: {  // a row, for all rows
      Value row = constant(random_.between(0, m - 1));
      x = loadFrom(reshaped(flat, {m, n}, false), {1, n}, {row, zero}, true);
      if (m > 1) x.value = tile::BroadcastOp::create(b_, loc_, written, x.value);
      break;
    }
    case 2: {  // a column, for all columns
      Value column = constant(random_.between(0, n - 1));
      x = loadFrom(reshaped(flat, {m, n}, false), {m, 1}, {zero, column}, true);
      if (n > 1) x.value = tile::BroadcastOp::create(b_, loc_, written, x.value);
      break;
    }
    case 3:  // the other order
      x = loadFrom(reshaped(flat, {m, n}, true), {m, n}, {zero, zero}, true);
      break;
    case 4:  // a vector of all
      x = loadFrom(flat, {m * n}, {zero}, true);
      x.value = tile::ReshapeOp::create(b_, loc_, written, x.value);
      break;
    case 5: {  // backwards
      Value forwards = numbers({m * n}, 0, {}, b_.getI32Type());
      Value last = splat(static_cast<double>(m * n - 1), cast<TensorType>(forwards.getType())).value;
      Value index = arith::SubIOp::create(b_, loc_, last, forwards);
      Value base = tile::SplatOp::create(b_, loc_, RankedTensorType::get({m * n}, flat.base.getType()), flat.base);
      Value at = tile::AddPtrOp::create(b_, loc_, base, index);
      auto type = RankedTensorType::get({m * n}, flat.element);
      x.value = tile::GatherOp::create(b_, loc_, type, at, Value(), Value());
      x.value = tile::ReshapeOp::create(b_, loc_, written, x.value);
      break;
    }
    default: {  // one element, for all
      Value at = tile::AddPtrOp::create(b_, loc_, flat.base, constant(random_.between(0, m * n - 1)));
      Value one = tile::GatherOp::create(b_, loc_, flat.element, at, Value(), Value());
      x.value = tile::SplatOp::create(b_, loc_, written, one);
    }
  }
  holds.value = x.value;
  return holds;
}

/// What is loaded was stored by other threads, perhaps of other warps.
void Builder::storeThenLoad() {
  Tracked x = tamed(any(random_.chance(80)));
  int64_t m = x.dim(0), n = x.dim(1);
  View flat = view(x.element(), {m * n}, true, Whose::Own), whole = reshaped(flat, {m, n}, random_.chance(30));
  flat = perhapsThroughAnother(flat);
  Tracked holds = x;
  if (random_.chance(25)) {  // the last row keeps what it has
    whole.extents[0] = std::max<int64_t>(1, m - 1);
    whole.sizeValues[0] = constant(whole.extents[0]);
    holds.bound = std::max(x.bound, 2.0);
    holds.quantum = std::min(x.quantum, flat.coarse ? 0.25 : 0);
  }
  Value zero = constant(0);
  storeTo(whole, x, {zero, zero}, false);
  keep(loadOtherwise(flat, x.type(), holds));
  note("memory.store-then-load");
  if (!random_.chance(30)) return;
  Tracked y = castTo(tamed(changed(x)), x.element());  // and once more into the same memory
  storeTo(whole, y, {zero, zero}, false);
  if (holds.bound < y.bound) holds.bound = y.bound;
  holds.error = std::max(holds.error, y.error), holds.quantum = std::min(holds.quantum, y.quantum);
  keep(loadOtherwise(flat, x.type(), holds));
  note("memory.store-then-load");
}

/// What is loaded is overwritten by other threads afterwards.
void Builder::loadThenStore() {
  auto [m, n] = randomShape();
  Type element = random_.chance(75) ? randomFloat() : b_.getI32Type();
  View flat = view(element, {m * n}, true, Whose::Own), into = perhapsThroughAnother(flat);
  auto type = RankedTensorType::get({m, n}, element);
  Tracked x = loadOtherwise(flat, type, fresh(element, flat.coarse));
  Tracked y = castTo(changed(x), element);
  bool turned = random_.chance(50);
  Value zero = constant(0);
  storeTo(reshaped(into, y.type().getShape(), turned), y, {zero, zero}, true);
  note("memory.load-then-store");
  keep(x);
  y.bound = std::max(y.bound, 2.0);
  if (random_.chance(40)) keep(loadOtherwise(flat, y.type(), y));
}

/// A function that halves errors at least, of a tile whose elements are at most 2, as its result's are.
Tracked Builder::towards(Tracked x, Tracked weight) {
  if (!x.isFloat()) return integerBinary(x, weight);
  if (weight.dim(0) != x.dim(1) || weight.dim(1) != x.dim(1)) {
    Tracked half = times(x, splat(0.5, x.type()));
    return plus(half, times(weight, splat(0.5, x.type())));
  }
  bool turned = x.dim(0) == x.dim(1) && random_.chance(40);
  Tracked y = product(turned ? transposed(x) : x, weight);
  y = times(y, splat(std::exp2(-std::ceil(std::log2(2 * y.bound))), y.type()));
  return castTo(plus(y, splat(0.5, y.type())), x.element());
}

/// x = load(A, block i); store(A, block i + distance, f(x)); with a distance of -1 what the trip before has read is overwritten.
void Builder::carriedThroughMemory() {
  int64_t distance = random_.pick({1, 2, -1}), n = randomSize();
  bool dots = random_.chance(60);
  int64_t m = randomShape(dots ? n : 1)[0];
  while (n > 1 && !affords(m * n * (dots ? n : 1))) n = (n + 1) / 2;
  int64_t trips = randomTrips(m * n * (dots ? n : 4));
  Type element = dots || random_.chance(75) ? randomFloat() : b_.getI32Type();
  View both = view(element, {(std::max<int64_t>(1, trips) + std::abs(distance)) * m, n}, true, Whose::Own);
  View into = perhapsThroughAnother(both);
  Tracked weight = dots ? load({n, n}, element) : load({m, n}, element), y;
  Tracked start = anyLike(RankedTensorType::get({m, n}, element)), next;
  start = tamed(start);
  auto body = [&](Value at, ValueRange carried) -> SmallVector<Value> {
    Value zero = constant(0);
    Value ahead = arith::AddIOp::create(b_, loc_, at, constant(std::abs(distance) * m));
    Tracked x = loadFrom(both, {m, n}, {distance < 0 ? ahead : at, zero}, true);
    x.quantum = 0;
    y = towards(x, weight);
    storeTo(into, y, {distance < 0 ? at : ahead, zero}, true);
    next = contract({carried[0], std::max(start.bound, 4.0), 0}, y);
    return {next.value};
  };
  Value result = counted({trips, m}, start.value, body)[0];
  note(distance == 1 ? "memory.carried-by-1" : distance == 2 ? "memory.carried-by-2" : "memory.carried-back");
  if (dots) note("memory.carried-dot");
  tolerate(both.argument, 2 * y.error);
  // What the sum adds has up to twice the error that it has in the first trip.
  keep({result, std::max(start.bound, 4.0), std::max(start.error, 2 * (next.error + y.error))});
  Value at = constant(random_.between(0, trips) * m), zero = constant(0);
  Tracked left = loadFrom(both, {m, n}, {at, zero}, true);
  keep({left.value, 2, 2 * y.error});
}

/// The index of the block that a trip loads comes from a table, whose next entry the trip writes: one for all rows, or one for each.
void Builder::chasedTable() {
  auto [m, n] = randomShape(2);
  int64_t trips = randomTrips(m * n * 4), blocks = 4, slots = std::max<int64_t>(1, trips) + 1;
  bool vectors = random_.chance(50);
  int64_t width = vectors ? m : 1;
  Type element = randomFloat(), integer = b_.getI32Type();
  View data = view(element, {blocks * m, n}, true, Whose::Shared);
  Fill fill{.seed = random_.between(0, 255), .low = 0, .high = blocks - 1};
  Placement placement = place(integer);
  Value tables = addArray(integer, slots * width * program_.grid[0] * program_.grid[1], fill, placement), number = programNumber();
  Value mine = arith::MulIOp::create(b_, loc_, number, constant(slots * width));
  View table = reshaped(flatView(tile::AddPtrOp::create(b_, loc_, tables, mine), integer), {slots * width}, false);
  table.argument = cast<BlockArgument>(tables).getArgNumber();
  table.start = mine;
  View into = perhapsThroughAnother(table);
  auto line = RankedTensorType::get({width}, integer), type = RankedTensorType::get({m, n}, element);
  auto after = [&](Value index, Value three, Value one, Value mask) {
    Value more = arith::AddIOp::create(b_, loc_, arith::MulIOp::create(b_, loc_, index, three), one);
    return arith::AndIOp::create(b_, loc_, more, mask).getResult();
  };
  Tracked next, x;
  auto body = [&, m = m, n = n](Value at, ValueRange carried) -> SmallVector<Value> {
    Value zero = constant(0), behind = arith::AddIOp::create(b_, loc_, at, constant(width));
    if (vectors) {
      Tracked index = loadFrom(table, {m}, {at}, true);
      Value row = arith::MulIOp::create(b_, loc_, index.value, splat(static_cast<double>(data.strides[0]), line).value);
      Value offsets = restored({row}, 1, RankedTensorType::get({m, n}, integer)).value;
      Value to = tile::AddPtrOp::create(b_, loc_, pointers(data, {m, n}, {zero, zero}), offsets);
      x = loaded(tile::GatherOp::create(b_, loc_, type, to, Value(), Value()), data.coarse);
      Value three = splat(3, line).value, one = splat(1, line).value, mask = splat(static_cast<double>(blocks - 1), line).value;
      storeTo(into, {after(index.value, three, one, mask)}, {behind}, true);
    } else {
      Value index = tile::GatherOp::create(b_, loc_, integer, tile::AddPtrOp::create(b_, loc_, table.base, at), Value(), Value());
      Value wide = arith::ExtSIOp::create(b_, loc_, b_.getI64Type(), index);
      x = loadFrom(data, {m, n}, {arith::MulIOp::create(b_, loc_, wide, constant(m)), zero}, true);
      Value to = tile::AddPtrOp::create(b_, loc_, into.base, behind);
      Value three = constant(3, 32), one = constant(1, 32), mask = constant(blocks - 1, 32);
      tile::ScatterOp::create(b_, loc_, to, after(index, three, one, mask), Value());
    }
    next = contract({carried[0], 4, 0}, x);
    return {next.value};
  };
  Value result = counted({trips, width}, splat(0, type).value, body)[0];
  keep({result, 4, 2 * next.error});
  note("memory.chased-table");
}

}  // namespace fattn::generator
