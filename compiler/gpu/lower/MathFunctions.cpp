// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/lower/MathFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace fattn::gpu {
namespace {

/// Minimax for (tanh(x) - x) / x^3 in x^2 on |x| <= 0.6.
constexpr float kTanhCoefficients[] = {-5.8951572e-3f, 2.0795971e-2f, -5.3783830e-2f, 1.3331924e-1f, -3.3333298e-1f};
constexpr float kTanhPolynomial = 0.6f;
constexpr float kTwoLog2E = 2 * 1.44269504f;

}  // namespace

Value tanh(ImplicitLocOpBuilder& b, Value x, MathFunction exp2, MathFunction reciprocal) {
  auto constant = [&](float value) -> Value { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); };
  auto mul = [&](Value left, Value right) -> Value { return arith::MulFOp::create(b, left, right); };
  auto fma = [&](Value left, Value right, Value sum) -> Value { return math::FmaOp::create(b, left, right, sum); };
  Value size = math::AbsFOp::create(b, x), square = mul(x, x);
  Value p = constant(kTanhCoefficients[0]);
  for (float c : ArrayRef(kTanhCoefficients).drop_front()) p = fma(p, square, constant(c));
  Value small = fma(mul(p, square), x, x);
  // At large |x| the power is infinite and its reciprocal 0.
  Value power = exp2(mul(size, constant(kTwoLog2E)));
  Value inverse = reciprocal(arith::AddFOp::create(b, power, constant(1)));
  Value large = math::CopySignOp::create(b, fma(inverse, constant(-2), constant(1)), x);
  Value isSmall = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, size, constant(kTanhPolynomial));
  return arith::SelectOp::create(b, isSmall, small, large);
}

}  // namespace fattn::gpu
