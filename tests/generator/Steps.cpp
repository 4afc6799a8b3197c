// SPDX-License-Identifier: Apache-2.0
// Elementwise steps of a random program, each with the bounds of magnitude and error of its result.
#include "tests/generator/Builder.h"

using namespace mlir;

namespace fattn::generator {

double unit(Type type) {
  int fraction = type.isF64() ? 53 : type.isF32() ? 24 : type.isF16() ? 11 : type.isBF16() ? 8 : isa<Float8E4M3FNType>(type) ? 4 : 3;
  return std::ldexp(1.0, -fraction);
}

/// The newest is the simplest choice: what was made for it need not be kept while steps before it are left out.
static Tracked newest(Choices& random, const std::vector<Tracked>& tiles) {
  return tiles[tiles.size() - 1 - random.between(0, static_cast<int64_t>(tiles.size()) - 1)];
}

Tracked Builder::any(bool isFloat) {
  std::vector<Tracked> fitting;
  for (const Tracked& tile : pool_)
    if (tile.isFloat() == isFloat) fitting.push_back(tile);
  if (!fitting.empty() && !random_.chance(10)) return newest(random_, fitting);
  std::array<int64_t, 2> shape = randomShape();
  return load(shape, isFloat ? randomFloat() : b_.getI32Type());
}

Tracked Builder::anyLike(RankedTensorType type) {
  std::vector<Tracked> fitting;
  for (const Tracked& tile : type.getRank() == 1 ? vectors_ : pool_)
    if (tile.value.getType() == type) fitting.push_back(tile);
  if (!fitting.empty() && !random_.chance(40)) return newest(random_, fitting);
  return load(type.getShape(), type.getElementType());
}

Tracked Builder::newestAs(RankedTensorType type) {
  bool isFloat = isa<FloatType>(type.getElementType());
  if (pool_.empty() || (!isFloat && pool_.back().element() != type.getElementType())) return tamed(anyLike(type));
  Tracked x = pool_.back();
  if (x.value.getType() == type) return tamed(x);
  if (x.type().getShape() != type.getShape()) x = sumOfAll(x);
  if (isFloat) x = castTo(x.isFloat() ? normalized(x) : x, type.getElementType());
  if (x.value.getType() != type) x.value = tile::SplatOp::create(b_, loc_, type, x.value);
  return tamed(x);
}

/// The greatest power of two that divides the number.
static double quantumOf(double value) {
  if (value == 0) return 1024;
  int exponent = 0;
  double fraction = std::frexp(std::abs(value), &exponent);
  for (; fraction != std::floor(fraction); --exponent) fraction *= 2;
  return std::ldexp(1.0, exponent);
}

Tracked Builder::splat(double value, RankedTensorType type) {
  Type element = type.getElementType();
  TypedAttr number = isa<FloatType>(element) ? TypedAttr(b_.getFloatAttr(element, value))
                                             : TypedAttr(b_.getIntegerAttr(element, static_cast<int64_t>(value)));
  double quantum = isa<FloatType>(element) ? quantumOf(value) : 0;
  if (!random_.chance(50))
    return {arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(type, Attribute(number))), std::abs(value), 0, quantum};
  return {tile::SplatOp::create(b_, loc_, type, arith::ConstantOp::create(b_, loc_, number)), std::abs(value), 0, quantum};
}

/// The result of an operation that rounds; the last term is for numbers so small that their precision is absolute. Where all results are
/// multiples of the quantum that the type can hold there is nothing to round.
Tracked Builder::rounded(Value value, double bound, double error, double quantum, double ulps) {
  Type element = getElementTypeOrSelf(value.getType());
  spend(isa<RankedTensorType>(value.getType()) ? cast<RankedTensorType>(value.getType()).getNumElements() : 1);
  double smallest = element.isF16() ? 0x1p-24 : 0x1p-126;
  if (error == 0 && quantum >= 0x1p-14 && bound * unit(element) <= quantum) return {value, bound, 0, quantum};
  if (ulps == 0) ulps = kUlps;
  return {value, bound * (1 + ulps * unit(element)), error + ulps * (unit(element) * bound + smallest)};
}

/// Keeps magnitudes where every type has room.
Tracked Builder::tamed(Tracked x) {
  if (!x.isFloat() || x.bound <= 8) return x;
  Value low = arith::MaxNumFOp::create(b_, loc_, x.value, splat(-4, x.type()).value);
  return {arith::MinNumFOp::create(b_, loc_, low, splat(4, x.type()).value), 4, x.error, std::min(x.quantum, 4.0)};
}

Tracked Builder::normalized(Tracked x) {
  if (x.bound <= 1) return x;
  return times(x, splat(std::exp2(-std::ceil(std::log2(x.bound))), x.type()));
}

/// A conversion rounds correctly: two implementations are at most one step apart, and agree where what they convert agrees.
Tracked Builder::castTo(Tracked x, Type element) {
  auto type = RankedTensorType::get(x.type().getShape(), element);
  if (x.element() == element) return x;
  if (!x.isFloat()) {
    Value small = arith::AndIOp::create(b_, loc_, x.value, splat(15, x.type()).value);
    return {arith::SIToFPOp::create(b_, loc_, type, small), 15, 0, 1};
  }
  x = tamed(x);
  unsigned from = x.element().getIntOrFloatBitWidth(), to = element.getIntOrFloatBitWidth();
  if (from < to) return {arith::ExtFOp::create(b_, loc_, type, x.value), x.bound, x.error, x.quantum};
  if (from == to) {  // between f16 and bf16
    auto wide = RankedTensorType::get(x.type().getShape(), b_.getF32Type());
    x.value = arith::ExtFOp::create(b_, loc_, wide, x.value);
  }
  Tracked result = rounded(arith::TruncFOp::create(b_, loc_, type, x.value), x.bound, x.error, x.quantum, 2);
  if (x.error == 0) result.error = 0;
  return result;
}

Tracked Builder::plus(Tracked x, Tracked y) {
  Value sum = arith::AddFOp::create(b_, loc_, x.value, y.value);
  return rounded(sum, x.bound + y.bound, x.error + y.error, std::min(x.quantum, y.quantum));
}

Tracked Builder::minus(Tracked x, Tracked y) {
  Value difference = arith::SubFOp::create(b_, loc_, x.value, y.value);
  return rounded(difference, x.bound + y.bound, x.error + y.error, std::min(x.quantum, y.quantum));
}

static double errorOfProduct(const Tracked& x, const Tracked& y) { return x.bound * y.error + y.bound * x.error + x.error * y.error; }

Tracked Builder::times(Tracked x, Tracked y) {
  Value product = arith::MulFOp::create(b_, loc_, x.value, y.value);
  return rounded(product, x.bound * y.bound, errorOfProduct(x, y), x.quantum * y.quantum);
}

/// One of two elements.
static Tracked oneOf(Value value, const Tracked& x, const Tracked& y) {
  return {value, std::max(x.bound, y.bound), std::max(x.error, y.error), std::min(x.quantum, y.quantum)};
}

Tracked Builder::larger(Tracked x, Tracked y) { return oneOf(arith::MaxNumFOp::create(b_, loc_, x.value, y.value), x, y); }

Tracked Builder::exp2(Tracked x) {
  return rounded(math::Exp2Op::create(b_, loc_, x.value), std::exp2(x.bound), std::exp2(x.bound) * (std::exp2(x.error) - 1));
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
  switch (random_.between(0, 9)) {
    case 0:
      return {arith::NegFOp::create(b_, loc_, x.value), x.bound, e, x.quantum};
    case 1:
      return {math::AbsFOp::create(b_, loc_, x.value), x.bound, e, x.quantum};
    case 2:
      return larger(x, splat(0, type));
    case 3:
      return exp2(x);
    case 4:
      return rounded(math::ExpOp::create(b_, loc_, x.value), std::exp(x.bound), std::exp(x.bound) * (std::exp(e) - 1));
    case 5:
      return rounded(math::TanhOp::create(b_, loc_, x.value), 1, e);
    case 6:
      return x = positive(), rounded(math::SqrtOp::create(b_, loc_, x.value), std::sqrt(x.bound), x.error / 2);
    case 7:
      return x = positive(), rounded(math::Log2Op::create(b_, loc_, x.value), std::log2(x.bound), x.error * 1.5);
    case 8:
      return x = positive(), rounded(math::RsqrtOp::create(b_, loc_, x.value), 1, x.error / 2);
    default:
      return x = positive(), rounded(arith::DivFOp::create(b_, loc_, splat(1, type).value, x.value), 1, x.error);
  }
}

Tracked Builder::binary(Tracked x, Tracked y) {
  x = tamed(x);
  y = tamed(y);
  switch (random_.between(0, 6)) {
    case 0:
      return plus(x, y);
    case 1:
      return minus(x, y);
    case 2:
      return times(x, y);
    case 3:
      return larger(x, y);
    case 4:
      return oneOf(arith::MinNumFOp::create(b_, loc_, x.value, y.value), x, y);
    case 5: {
      Value fused = math::FmaOp::create(b_, loc_, x.value, y.value, x.value);
      double quantum = std::min(x.quantum * y.quantum, x.quantum);
      return rounded(fused, x.bound * y.bound + x.bound, errorOfProduct(x, y) + x.error, quantum);
    }
    default: {
      Value magnitude = math::AbsFOp::create(b_, loc_, y.value);
      Tracked divisor = rounded(arith::AddFOp::create(b_, loc_, magnitude, splat(1, y.type()).value), y.bound + 1, y.error);
      return rounded(arith::DivFOp::create(b_, loc_, x.value, divisor.value), x.bound, x.error + x.bound * divisor.error);
    }
  }
}

Tracked Builder::integerUnary(Tracked x) {
  Value three = splat(3, x.type()).value;
  switch (random_.between(0, 3)) {
    case 0:
      return {arith::SubIOp::create(b_, loc_, three, x.value)};
    case 1:
      return {arith::ShRSIOp::create(b_, loc_, x.value, three)};
    case 2:
      return {arith::RemSIOp::create(b_, loc_, x.value, three)};
    default:
      return {arith::DivSIOp::create(b_, loc_, x.value, three)};
  }
}

Tracked Builder::integerBinary(Tracked x, Tracked y) {
  switch (random_.between(0, 5)) {
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
    default:
      return {arith::XOrIOp::create(b_, loc_, x.value, y.value)};
  }
}

Tracked Builder::changed(Tracked x) {
  if (!random_.chance(50)) return x.isFloat() ? unary(x) : integerUnary(x);
  Tracked y = anyLike(x.type());
  return x.isFloat() ? binary(x, y) : integerBinary(x, y);
}

Tracked Builder::either(Value condition, Tracked x, Tracked y) {
  return oneOf(arith::SelectOp::create(b_, loc_, condition, x.value, y.value), x, y);
}

/// To another type; numbers without error also to 8 bits and back, which loses most of them and is exact all the same.
void Builder::castStep() {
  Tracked x = any(!random_.chance(25));
  if (!random_.chance(35)) return keep(castTo(x, randomFloat()));
  x = castTo(x, b_.getF32Type());
  if (x.error > 0) return;
  Type small = random_.chance(50) ? Type(Float8E4M3FNType::get(b_.getContext())) : Type(Float8E5M2Type::get(b_.getContext()));
  Type wide = random_.chance(50) ? Type(b_.getF32Type()) : Type(b_.getF16Type());
  x = castTo(x, small);
  keep(castTo(x, wide));
  note("cast.f8");
}

void Builder::masked() {
  Tracked x = any(!random_.chance(25));
  Value mask = condition(x.type().getShape());
  Tracked y = anyLike(x.type());
  keep(either(mask, x, y));
}

}  // namespace fattn::generator
