// SPDX-License-Identifier: Apache-2.0
// Steps of a random program that have regions or side effects: loops, branches, lazy selections, scatters and atomic additions.
#include "tests/generator/Builder.h"

using namespace mlir;

namespace fattn::generator {

Tracked Builder::contract(Tracked carried, Tracked other) {
  if (!carried.isFloat()) return {arith::AddIOp::create(b_, loc_, carried.value, other.value)};
  Value half = arith::MulFOp::create(b_, loc_, carried.value, splat(0.5, carried.type()).value);
  Tracked halved = rounded(half, carried.bound / 2, carried.error / 2);
  Value sum = arith::AddFOp::create(b_, loc_, halved.value, other.value);
  Tracked added = rounded(sum, halved.bound + other.bound, halved.error + other.error);
  added.bound = 9;  // so that tamed() clamps whatever came in
  return tamed(added);
}

/// After any number of iterations e -> e / 2 + c the error is at most the greater of the first one and 2 c.
static Tracked afterLoop(Value result, Tracked before, Tracked firstWithoutError) {
  if (!before.isFloat()) return {result};
  return {result, std::max(before.bound, 4.0), std::max(before.error, 2 * firstWithoutError.error)};
}

/// Carries a tile and a block pointer that moves along the columns.
Tracked Builder::loop(Tracked carried) {
  if (carried.isFloat()) carried = tamed(carried);
  Value pointer = window(carried.type().getShape(), carried.element(), false);
  Value end = addInteger(random_.between(0, 9)), start = constant(0), step = constant(random_.between(1, 3));
  auto loop = scf::ForOp::create(b_, loc_, start, end, step, ValueRange{carried.value, pointer});
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(loop.getBody());
  Tracked inside{loop.getRegionIterArg(0), std::max(carried.bound, 4.0), 0};
  Value at = loop.getRegionIterArg(1);
  if (random_.chance(50)) at = tile::AdvanceOp::create(b_, loc_, at, ValueRange{constant(0), loop.getInductionVar()});
  Tracked next = contract(inside, loadFrom(at));
  Value moved = tile::AdvanceOp::create(b_, loc_, loop.getRegionIterArg(1), ValueRange{constant(1), constant(2)});
  scf::YieldOp::create(b_, loc_, ValueRange{next.value, moved});
  return afterLoop(loop.getResult(0), carried, next);
}

/// A matrix product over blocks of the inner dimension.
Tracked Builder::dotLoop() {
  auto [m, n] = randomShape();
  int64_t block = random_.between(1, 20), inner = random_.between(0, 50);
  Type element = randomFloat();
  Value a = window({m, block}, element, false), b = window({block, n}, element, false);
  auto type = RankedTensorType::get({m, n}, b_.getF32Type());
  auto loop = scf::ForOp::create(b_, loc_, constant(0), addInteger(inner), constant(block), splat(0, type).value);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(loop.getBody());
  Value at = loop.getInductionVar(), zero = constant(0);
  Tracked x = loadFrom(tile::AdvanceOp::create(b_, loc_, a, ValueRange{zero, at}));
  Tracked y = loadFrom(tile::AdvanceOp::create(b_, loc_, b, ValueRange{at, zero}));
  scf::YieldOp::create(b_, loc_, ValueRange{tile::DotOp::create(b_, loc_, x.value, y.value, loop.getRegionIterArg(0))});
  const int64_t columns = (inner + block - 1) / block * block;
  const auto terms = static_cast<double>(columns);
  double bound = terms * x.bound * y.bound;
  return rounded(loop.getResult(0), bound, 2 * terms * unit(b_.getF32Type()) * bound);
}

/// Counts down while it carries a tile.
Tracked Builder::whileLoop(Tracked carried) {
  if (carried.isFloat()) carried = tamed(carried);
  Tracked other = anyLike(carried.type());
  if (other.isFloat()) other = tamed(other);
  Value count = addInteger(random_.between(0, 4)), zero = constant(0), one = constant(1);
  SmallVector<Type> types = {b_.getI64Type(), carried.value.getType()};
  Tracked next;
  auto loop = scf::WhileOp::create(
      b_, loc_, types, ValueRange{count, carried.value},
      [&](OpBuilder& b, Location loc, ValueRange values) {
        Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, values[0], zero);
        scf::ConditionOp::create(b, loc, more, values);
      },
      [&](OpBuilder& b, Location loc, ValueRange values) {
        OpBuilder::InsertionGuard guard(b_);
        b_.setInsertionPoint(b.getInsertionBlock(), b.getInsertionPoint());
        next = contract({values[1], std::max(carried.bound, 4.0), 0}, other);
        Value left = arith::SubIOp::create(b_, loc, values[0], one);
        scf::YieldOp::create(b_, loc, ValueRange{left, next.value});
      });
  return afterLoop(loop.getResult(1), carried, next);
}

Tracked Builder::branch(Tracked x, Tracked y) {
  Value id = id_[random_.between(0, 1)], limit = constant(random_.between(0, 2));
  Value condition = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, id, limit);
  auto branch = scf::IfOp::create(b_, loc_, TypeRange{x.value.getType()}, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.thenBlock());
  Tracked first = x.isFloat() ? unary(x) : integerBinary(x, x);
  scf::YieldOp::create(b_, loc_, first.value);
  b_.setInsertionPointToStart(branch.elseBlock());
  Tracked second = x.isFloat() ? binary(x, y) : integerBinary(x, y);
  scf::YieldOp::create(b_, loc_, second.value);
  return {branch.getResult(0), std::max(first.bound, second.bound), std::max(first.error, second.error)};
}

/// The exact side is something else in the rows where the condition holds, and the usual value in the others: the promise is kept.
Tracked Builder::lazy(Tracked usual) {
  RankedTensorType type = usual.type();
  auto line = RankedTensorType::get({type.getDimSize(0)}, b_.getI32Type());
  auto limit = static_cast<double>(random_.between(0, type.getDimSize(0)));
  Value numbers = tile::ArangeOp::create(b_, loc_, line, 0);
  Value rows = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::sge, numbers, splat(limit, line).value);
  bool scalar = random_.chance(30);
  Value condition = rows;
  if (scalar) condition = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::eq, id_[0], constant(0));
  auto select = tile::SelectLazyOp::create(b_, loc_, TypeRange{type}, condition, ValueRange{usual.value});
  OpBuilder::InsertionGuard guard(b_);
  b_.createBlock(&select.getExact());
  Tracked exact = usual.isFloat() ? unary(usual) : integerBinary(usual, usual);
  auto mask = RankedTensorType::get(type.getShape(), b_.getI1Type());
  Value holds = scalar ? tile::SplatOp::create(b_, loc_, mask, condition).getResult() : restored(rows, 1, mask);
  Value merged = arith::SelectOp::create(b_, loc_, holds, exact.value, usual.value);
  tile::YieldOp::create(b_, loc_, merged);
  return {select.getResult(0), std::max(usual.bound, exact.bound), std::max(usual.error, exact.error)};
}

/// Each program scatters a part of a tile to its own places, and all programs count in the same ones.
void Builder::scatterAndCount(Tracked x) {
  int64_t size = x.type().getNumElements(), programs = program_.grid[0] * program_.grid[1];
  auto pointers = [&](Type element) { return RankedTensorType::get({size}, tile::PtrType::get(element)); };
  Value base = addArray(x.element(), size * programs, false, place(x.element()));
  std::get<Array>(program_.arguments.back()).tolerance = x.error;
  Value row = arith::MulIOp::create(b_, loc_, id_[1], constant(program_.grid[0]));
  Value program = arith::AddIOp::create(b_, loc_, row, id_[0]);
  Value mine = tile::AddPtrOp::create(b_, loc_, base, arith::MulIOp::create(b_, loc_, program, constant(size)));
  auto integers = RankedTensorType::get({size}, b_.getI32Type());
  Value index = tile::ArangeOp::create(b_, loc_, integers, 0);
  Value at = tile::AddPtrOp::create(b_, loc_, tile::SplatOp::create(b_, loc_, pointers(x.element()), mine), index);
  auto limit = static_cast<double>(random_.between(0, size));
  Value mask = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, index, splat(limit, integers).value);
  Value flat = tile::ReshapeOp::create(b_, loc_, RankedTensorType::get({size}, x.element()), x.value);
  tile::ScatterOp::create(b_, loc_, at, flat, mask);

  Value counters = tile::SplatOp::create(b_, loc_, pointers(b_.getI32Type()), addArray(b_.getI32Type(), 4, false, place(b_.getI32Type())));
  Value which = arith::AndIOp::create(b_, loc_, index, splat(3, integers).value);
  Value counter = tile::AddPtrOp::create(b_, loc_, counters, which);
  tile::AtomicAddOp::create(b_, loc_, integers, counter, splat(1, integers).value, mask);
}

}  // namespace fattn::generator
