// SPDX-License-Identifier: Apache-2.0
// Straight-line steps of a random program, each with the bounds of magnitude and error of its result.
#include "tests/generator/Builder.h"

using namespace mlir;

namespace fattn::generator {

Tracked Builder::any(bool isFloat) {
  std::vector<Tracked> fitting;
  for (const Tracked& tile : pool_)
    if (tile.isFloat() == isFloat) fitting.push_back(tile);
  if (!fitting.empty() && random_.chance(90)) return random_.pick(fitting);
  std::array<int64_t, 2> shape = randomShape();
  return load(shape, isFloat ? randomFloat() : b_.getI32Type());
}

Tracked Builder::anyLike(RankedTensorType type) {
  std::vector<Tracked> fitting;
  for (const Tracked& tile : pool_)
    if (tile.value.getType() == type) fitting.push_back(tile);
  if (!fitting.empty() && random_.chance(50)) return random_.pick(fitting);
  return load(type.getShape(), type.getElementType());
}

Tracked Builder::splat(double value, RankedTensorType type) {
  Type element = type.getElementType();
  TypedAttr number = isa<FloatType>(element) ? TypedAttr(b_.getFloatAttr(element, value))
                                             : TypedAttr(b_.getIntegerAttr(element, static_cast<int64_t>(value)));
  if (random_.chance(50)) return {arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(type, Attribute(number))), std::abs(value), 0};
  return {tile::SplatOp::create(b_, loc_, type, arith::ConstantOp::create(b_, loc_, number)), std::abs(value), 0};
}

/// The result of an operation that rounds; the second term is for numbers so small that their precision is absolute.
Tracked Builder::rounded(Value value, double bound, double error) {
  Type element = getElementTypeOrSelf(value.getType());
  double smallest = element.isF16() ? 0x1p-24 : 0x1p-126;
  return {value, bound * (1 + kUlps * unit(element)), error + kUlps * (unit(element) * bound + smallest)};
}

/// Keeps magnitudes where every type has room.
Tracked Builder::tamed(Tracked x) {
  if (x.bound <= 8) return x;
  Value low = arith::MaxNumFOp::create(b_, loc_, x.value, splat(-4, x.type()).value);
  return {arith::MinNumFOp::create(b_, loc_, low, splat(4, x.type()).value), 4, x.error};
}

Tracked Builder::castTo(Tracked x, Type element) {
  auto type = RankedTensorType::get(x.type().getShape(), element);
  if (x.element() == element) return x;
  if (!x.isFloat()) {
    Value small = arith::AndIOp::create(b_, loc_, x.value, splat(15, x.type()).value);
    return {arith::SIToFPOp::create(b_, loc_, type, small), 15, 0};
  }
  x = tamed(x);
  unsigned from = x.element().getIntOrFloatBitWidth(), to = element.getIntOrFloatBitWidth();
  if (from < to) return {arith::ExtFOp::create(b_, loc_, type, x.value), x.bound, x.error};
  if (from == to) {  // between f16 and bf16
    auto wide = RankedTensorType::get(x.type().getShape(), b_.getF32Type());
    x.value = arith::ExtFOp::create(b_, loc_, wide, x.value);
  }
  return rounded(arith::TruncFOp::create(b_, loc_, type, x.value), x.bound, x.error);
}

Tracked Builder::unary(Tracked x) {
  x = tamed(x);
  RankedTensorType type = x.type();
  // |x| + 1, where the functions below are steep nowhere
  auto positive = [&] {
    Value magnitude = math::AbsFOp::create(b_, loc_, x.value);
    return rounded(arith::AddFOp::create(b_, loc_, magnitude, splat(1, type).value), x.bound + 1, x.error);
  };
  double e = x.error;
  switch (random_.between(0, 8)) {
    case 0:
      return {arith::NegFOp::create(b_, loc_, x.value), x.bound, e};
    case 1:
      return {math::AbsFOp::create(b_, loc_, x.value), x.bound, e};
    case 2:
      return rounded(math::Exp2Op::create(b_, loc_, x.value), std::exp2(x.bound), std::exp2(x.bound) * (std::exp2(e) - 1));
    case 3:
      return rounded(math::ExpOp::create(b_, loc_, x.value), std::exp(x.bound), std::exp(x.bound) * (std::exp(e) - 1));
    case 4:
      return rounded(math::TanhOp::create(b_, loc_, x.value), 1, e);
    case 5:
      return x = positive(), rounded(math::SqrtOp::create(b_, loc_, x.value), std::sqrt(x.bound), x.error / 2);
    case 6:
      return x = positive(), rounded(math::Log2Op::create(b_, loc_, x.value), std::log2(x.bound), x.error * 1.5);
    case 7:
      return x = positive(), rounded(math::RsqrtOp::create(b_, loc_, x.value), 1, x.error / 2);
    default:
      return x = positive(), rounded(arith::DivFOp::create(b_, loc_, splat(1, type).value, x.value), 1, x.error);
  }
}

Tracked Builder::binary(Tracked x, Tracked y) {
  x = tamed(x);
  y = tamed(y);
  double bound = std::max(x.bound, y.bound), product = x.bound * y.bound;
  double productError = x.bound * y.error + y.bound * x.error + x.error * y.error;
  switch (random_.between(0, 6)) {
    case 0:
      return rounded(arith::AddFOp::create(b_, loc_, x.value, y.value), x.bound + y.bound, x.error + y.error);
    case 1:
      return rounded(arith::SubFOp::create(b_, loc_, x.value, y.value), x.bound + y.bound, x.error + y.error);
    case 2:
      return rounded(arith::MulFOp::create(b_, loc_, x.value, y.value), product, productError);
    case 3:
      return {arith::MaxNumFOp::create(b_, loc_, x.value, y.value), bound, std::max(x.error, y.error)};
    case 4:
      return {arith::MinNumFOp::create(b_, loc_, x.value, y.value), bound, std::max(x.error, y.error)};
    case 5:
      return rounded(math::FmaOp::create(b_, loc_, x.value, y.value, x.value), product + x.bound, productError + x.error);
    default: {
      Value magnitude = math::AbsFOp::create(b_, loc_, y.value);
      Tracked divisor = rounded(arith::AddFOp::create(b_, loc_, magnitude, splat(1, y.type()).value), y.bound + 1, y.error);
      return rounded(arith::DivFOp::create(b_, loc_, x.value, divisor.value), x.bound, x.error + x.bound * divisor.error);
    }
  }
}

Tracked Builder::integerBinary(Tracked x, Tracked y) {
  Value three = splat(3, x.type()).value;
  switch (random_.between(0, 8)) {
    case 0:
      return {arith::AddIOp::create(b_, loc_, x.value, y.value)};
    case 1:
      return {arith::SubIOp::create(b_, loc_, x.value, y.value)};
    case 2:
      return {arith::MulIOp::create(b_, loc_, x.value, y.value)};
    case 3:
      return {arith::MaxSIOp::create(b_, loc_, x.value, y.value)};
    case 4:
      return {arith::MinSIOp::create(b_, loc_, x.value, y.value)};
    case 5:
      return {arith::XOrIOp::create(b_, loc_, x.value, y.value)};
    case 6:
      return {arith::ShRSIOp::create(b_, loc_, x.value, three)};
    case 7:
      return {arith::RemSIOp::create(b_, loc_, x.value, three)};
    default:
      return {arith::DivSIOp::create(b_, loc_, x.value, three)};
  }
}

std::array<Value, 2> Builder::coordinates(RankedTensorType like) {
  std::array<Value, 2> result;
  auto type = RankedTensorType::get(like.getShape(), b_.getI32Type());
  for (int dim = 0; dim < 2; ++dim) {
    auto line = RankedTensorType::get({like.getDimSize(dim)}, b_.getI32Type());
    Value numbers = tile::ArangeOp::create(b_, loc_, line, random_.between(0, 2));
    numbers = tile::ExpandDimsOp::create(b_, loc_, numbers, 1 - dim);
    result[dim] = tile::BroadcastOp::create(b_, loc_, type, numbers);
  }
  return result;
}

Value Builder::condition(RankedTensorType like) {
  if (random_.chance(30)) {
    Tracked fresh = load(like.getShape(), randomFloat());
    Value limit = splat(0.25, fresh.type()).value;
    auto predicate = random_.pick({arith::CmpFPredicate::OLT, arith::CmpFPredicate::UGE});
    return arith::CmpFOp::create(b_, loc_, predicate, fresh.value, limit);
  }
  auto [row, column] = coordinates(like);
  if (random_.chance(50)) row = splat(static_cast<double>(random_.between(0, 12)), cast<RankedTensorType>(row.getType())).value;
  return arith::CmpIOp::create(b_, loc_, random_.pick({arith::CmpIPredicate::sle, arith::CmpIPredicate::sgt, arith::CmpIPredicate::eq}),
                               column, row);
}

Tracked Builder::select(Value condition, Tracked x) {
  Tracked y = anyLike(x.type());
  return {arith::SelectOp::create(b_, loc_, condition, x.value, y.value), std::max(x.bound, y.bound), std::max(x.error, y.error)};
}

Tracked Builder::reduce(Tracked x, int64_t axis) {
  if (x.isFloat()) x = tamed(x);
  auto n = static_cast<double>(x.type().getDimSize(axis));
  int64_t kind = random_.between(0, 2);
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
  if (kind != 0) return {result, x.bound, x.error};
  return rounded(result, n * x.bound, n * x.error + 2 * n * unit(x.element()) * n * x.bound);
}

/// Where along the axis the greatest element is, the first of equals: a reduction of two tiles at once.
Value Builder::argmax(Tracked x, int64_t axis) {
  Value at = coordinates(x.type())[axis];
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

Value Builder::restored(Value reduced, int64_t axis, RankedTensorType type) {
  return tile::BroadcastOp::create(b_, loc_, type, tile::ExpandDimsOp::create(b_, loc_, reduced, axis));
}

Tracked Builder::reduceAndBroadcast(Tracked x) {
  int64_t axis = random_.between(0, 1);
  if (!x.isFloat() && random_.chance(50)) return {restored(argmax(x, axis), axis, x.type())};
  Tracked line = reduce(x, axis);
  return {restored(line.value, axis, x.type()), line.bound, line.error};
}

Tracked Builder::cumsum(Tracked x) {
  if (x.isFloat()) x = tamed(x);
  int64_t axis = random_.between(0, 1);
  bool reverse = random_.chance(50);
  Value sum = tile::CumsumOp::create(b_, loc_, x.value, axis, reverse);
  if (!x.isFloat()) return {sum};
  auto n = static_cast<double>(x.type().getDimSize(axis));
  return rounded(sum, n * x.bound, n * x.error + 2 * n * unit(x.element()) * n * x.bound);
}

Tracked Builder::dot(Tracked a) {
  int64_t n = random_.between(1, 33);
  if (random_.chance(15)) {
    auto shape = a.type().getShape();
    Type kind =
        random_.pick(std::array<Type, 3>{b_.getI8Type(), Float8E4M3FNType::get(b_.getContext()), Float8E5M2Type::get(b_.getContext())});
    a = load(shape, kind);
  }
  a = a.isFloat() ? tamed(a) : a;
  int64_t m = a.type().getDimSize(0), k = a.type().getDimSize(1);
  Tracked b = random_.chance(50) ? load({k, n}, a.element()) : transposed(load({n, k}, a.element()));
  Type result = a.isFloat() ? Type(b_.getF32Type()) : Type(b_.getI32Type());
  if (a.element().isF16() && random_.chance(20)) result = a.element();
  Tracked acc = random_.chance(50) ? load({m, n}, result) : splat(0, RankedTensorType::get({m, n}, result));
  Value product = tile::DotOp::create(b_, loc_, a.value, b.value, acc.value);
  if (!a.isFloat()) return {product};
  auto terms = static_cast<double>(k);
  double bound = terms * a.bound * b.bound + acc.bound;
  double error = terms * (a.bound * b.error + b.bound * a.error) + acc.error + 2 * terms * unit(result) * bound;
  return rounded(product, bound, error);
}

Tracked Builder::transposed(Tracked x) {
  x.value = tile::TransOp::create(b_, loc_, x.value, ArrayRef<int64_t>{1, 0});
  return x;
}

Tracked Builder::rearranged(Tracked x) {
  int64_t m = x.type().getDimSize(0), n = x.type().getDimSize(1);
  auto shaped = [&](ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, x.element()); };
  switch (random_.between(0, 2)) {
    case 0:
      x.value = tile::ReshapeOp::create(b_, loc_, shaped({n, m}), x.value);
      return x;
    case 1: {
      Value expanded = tile::ExpandDimsOp::create(b_, loc_, x.value, random_.between(0, 2));
      Value moved = tile::TransOp::create(b_, loc_, expanded, ArrayRef<int64_t>{2, 0, 1});
      x.value = tile::ReshapeOp::create(b_, loc_, shaped({m, n}), moved);
      return x;
    }
    default: {
      Tracked y = anyLike(x.type());
      auto halves = tile::SplitOp::create(b_, loc_, tile::JoinOp::create(b_, loc_, x.value, y.value));
      Value swapped = tile::JoinOp::create(b_, loc_, halves.getRhs(), halves.getLhs());
      return {tile::ReshapeOp::create(b_, loc_, shaped({m, 2 * n}), swapped), std::max(x.bound, y.bound), std::max(x.error, y.error)};
    }
  }
}

Tracked Builder::gathered() {
  auto [m, n] = randomShape();
  Type element = randomFloat();
  int64_t count = random_.between(1, m * n + 3);
  auto type = RankedTensorType::get({m, n}, element);
  auto pointers = RankedTensorType::get({m, n}, tile::PtrType::get(element));
  auto [row, column] = coordinates(type);
  auto integers = cast<RankedTensorType>(row.getType());
  Value index = arith::MulIOp::create(b_, loc_, row, splat(static_cast<double>(n), integers).value);
  index = arith::AddIOp::create(b_, loc_, index, column);
  Value mask = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, index, splat(static_cast<double>(count), integers).value);
  Value base = tile::SplatOp::create(b_, loc_, pointers, addArray(element, count, true, place(element)));
  Value at = tile::AddPtrOp::create(b_, loc_, base, index);
  Value other = random_.chance(50) ? splat(-0.5, type).value : Value();
  return {tile::GatherOp::create(b_, loc_, type, at, mask, other), 2, 0};
}

}  // namespace fattn::generator
