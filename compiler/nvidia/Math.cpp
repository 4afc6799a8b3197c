// SPDX-License-Identifier: Apache-2.0
// Functions of math on f32, within a few units in the last place, from ex2.approx, lg2.approx and rcp.approx.
//
// exp2      ex2.approx.ftz: 2 ulp; results below 2^-126 are zero
// exp       x log2(e) as hi + lo, 2^hi (1 + lo ln 2): the product's rounding error would otherwise be an error of up to 127/2 ulp
// log2, log lg2.approx: absolute error 2^-22 near 1, else 2 ulp; subnormal numbers are kept
// tanh      gpu/lower/MathFunctions.h
// sqrt      correctly rounded; rsqrt 2 ulp
// rcp        rcp.approx, 1 ulp: a division 1 / x with the flag afn; subnormal numbers count as zeros, as its operand and as its result.
//            Those who keep them take ten instructions for one
// Source: PTX ISA 8.7, "Floating point instructions: ex2, lg2, rcp, sqrt, rsqrt". Test: tests/lit/nvidia/math.mlir.
#include "mlir/Dialect/Math/IR/Math.h"

#include "compiler/gpu/lower/MathFunctions.h"
#include "compiler/nvidia/Machine.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::nvidia {
namespace {

constexpr float kLog2E = 1.44269504f, kLog2ERest = 1.9259630e-8f, kLn2 = 0.693147181f;

class Functions {
 public:
  explicit Functions(ImplicitLocOpBuilder& b) : b_(b) {}

  Value exp2(Value x) { return call("llvm.nvvm.ex2.approx.ftz", {x}); }
  Value log2(Value x) { return call("llvm.nvvm.lg2.approx.f", {x}); }
  Value sqrt(Value x) { return call("llvm.nvvm.sqrt.rn.f", {x}); }
  Value rsqrt(Value x) { return call("llvm.nvvm.rsqrt.approx.f", {x}); }
  Value rcp(Value x) { return call("llvm.nvvm.rcp.approx.ftz.f", {x}); }
  Value log(Value x) { return mul(log2(x), constant(kLn2)); }

  Value exp(Value x) {
    Value log2E = constant(kLog2E), high = mul(x, log2E);
    Value low = fma(x, log2E, arith::NegFOp::create(b_, high));
    low = fma(x, constant(kLog2ERest), low);
    // Beyond 2^+-128 the result is known, and at the infinities `low` is not a number.
    Value inRange = arith::CmpFOp::create(b_, arith::CmpFPredicate::OLT, math::AbsFOp::create(b_, high), constant(128));
    low = arith::SelectOp::create(b_, inRange, mul(low, constant(kLn2)), constant(0));
    Value power = exp2(high);
    Value result = fma(power, low, power);
    return arith::SelectOp::create(b_, inRange, result, power);
  }

  Value tanh(Value x) {
    return gpu::tanh(b_, x, [&](Value y) { return exp2(y); }, [&](Value y) { return rcp(y); });
  }

 private:
  Value call(StringRef name, ValueRange operands) { return intrinsic(b_, name, b_.getF32Type(), operands); }
  Value constant(float value) { return arith::ConstantOp::create(b_, b_.getF32FloatAttr(value)); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b_, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b_, x, y, z); }

  ImplicitLocOpBuilder& b_;
};

/// What `rcp` of the tile language is.
bool isReciprocal(arith::DivFOp division, Value numerator) {
  return bitEnumContainsAll(division.getFastmath(), arith::FastMathFlags::afn) && matchPattern(numerator, m_OneFloat());
}

}  // namespace

Value Machine::math(ImplicitLocOpBuilder& b, Operation* op, ValueRange operands) {
  if (operands.empty() || !operands[0].getType().isF32()) return {};
  Functions f(b);
  Value x = operands[0];
  return llvm::TypeSwitch<Operation*, Value>(op)
      .Case<arith::DivFOp>([&](auto division) { return isReciprocal(division, x) ? f.rcp(operands[1]) : Value(); })
      .Case<math::Exp2Op>([&](auto) { return f.exp2(x); })
      .Case<math::ExpOp>([&](auto) { return f.exp(x); })
      .Case<math::Log2Op>([&](auto) { return f.log2(x); })
      .Case<math::LogOp>([&](auto) { return f.log(x); })
      .Case<math::SqrtOp>([&](auto) { return f.sqrt(x); })
      .Case<math::RsqrtOp>([&](auto) { return f.rsqrt(x); })
      .Case<math::TanhOp>([&](auto) { return f.tanh(x); })
      .Default([](Operation*) { return Value(); });
}

}  // namespace fattn::nvidia
