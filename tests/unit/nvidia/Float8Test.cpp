// SPDX-License-Identifier: Apache-2.0
// The integer arithmetic that GPUs convert 8-bit floating-point numbers with, beside tools/io/Convert.h, which the host and the interpreter
// are compared with as well (tests/kernels/SpecialNumbersTest.cpp).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "compiler/gpu/lower/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tests/unit/nvidia/Fold.h"
#include "tools/io/Convert.h"

namespace fattn {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Format {
  const char* name;
  mlir::Type (*type)(mlir::MLIRContext*);
  float (*widen)(std::uint8_t);
  std::uint8_t (*narrow)(float);
};

class Float8 : public testing::TestWithParam<Format> {
 protected:
  Float8() { context_.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect>(); }
  mlir::MLIRContext context_;
};

TEST_P(Float8, NumbersAreRoundedAndThoseBeyondTheRangeAreNotCut) {
  const Format& format = GetParam();
  std::vector<float> numbers = {1e30f,
                                std::numeric_limits<float>::max(),
                                kInfinity,
                                std::numeric_limits<float>::quiet_NaN(),
                                std::bit_cast<float>(0x7f800001u),
                                std::bit_cast<float>(0x7fffffffu),
                                1e-30f};
  for (int i = 0; i < 128; ++i) {
    const float number = format.widen(static_cast<std::uint8_t>(i)), next = format.widen(static_cast<std::uint8_t>(i + 1));
    if (!std::isfinite(number)) continue;
    // Behind the largest number, the next one would be as far away as the one before it.
    const float step = std::isfinite(next) ? next - number : number - format.widen(static_cast<std::uint8_t>(i - 1));
    for (float edge : {number, number + step / 2, number + step})
      for (float near : {edge, std::nextafter(edge, kInfinity), std::nextafter(edge, 0.0f)}) numbers.push_back(near);
  }
  for (std::size_t i = 0, positive = numbers.size(); i < positive; ++i) numbers.push_back(-numbers[i]);
  std::vector<std::uint32_t> got = folded(context_, [&](mlir::ImplicitLocOpBuilder& b) {
    std::vector<mlir::Value> values;
    for (float number : numbers)
      values.push_back(gpu::toFloat8(b, floatOfBits(b, std::bit_cast<std::uint32_t>(number)), format.type(&context_)));
    return values;
  });
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float want = format.widen(format.narrow(numbers[i])), number = format.widen(static_cast<std::uint8_t>(got[i]));
    if (std::isnan(want))
      EXPECT_TRUE(std::isnan(number)) << numbers[i] << " gives " << number;
    else
      EXPECT_EQ(std::bit_cast<std::uint32_t>(number), std::bit_cast<std::uint32_t>(want)) << "of " << numbers[i];
  }
}

TEST_P(Float8, EveryPatternIsReadExactly) {
  const Format& format = GetParam();
  std::vector<std::uint8_t> patterns;
  for (int i = 0; i < 256; ++i) {
    // MLIR does not fold the conversion from f16 of a NaN that signals.
    const auto pattern = static_cast<std::uint8_t>(i);
    if (!std::isnan(format.widen(pattern)) || format.type(&context_) == mlir::Float8E4M3FNType::get(&context_)) patterns.push_back(pattern);
  }
  std::vector<std::uint32_t> got = folded(context_, [&](mlir::ImplicitLocOpBuilder& b) {
    std::vector<mlir::Value> values;
    for (std::uint8_t pattern : patterns) {
      mlir::Value bits = mlir::arith::ConstantOp::create(b, b.getI8IntegerAttr(static_cast<std::int8_t>(pattern)));
      mlir::Value number = gpu::fromFloat8(b, bits, format.type(&context_));
      values.push_back(mlir::arith::BitcastOp::create(b, b.getI32Type(), number));
    }
    return values;
  });
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const float want = format.widen(patterns[i]);
    if (std::isnan(want))
      EXPECT_TRUE(std::isnan(std::bit_cast<float>(got[i]))) << "pattern " << static_cast<int>(patterns[i]);
    else
      EXPECT_EQ(got[i], std::bit_cast<std::uint32_t>(want)) << "pattern " << static_cast<int>(patterns[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, Float8,
                         testing::Values(Format{"E4M3", [](mlir::MLIRContext* c) -> mlir::Type { return mlir::Float8E4M3FNType::get(c); },
                                                io::f8e4m3ToFloat, io::floatToF8e4m3},
                                         Format{"E5M2", [](mlir::MLIRContext* c) -> mlir::Type { return mlir::Float8E5M2Type::get(c); },
                                                io::f8e5m2ToFloat, io::floatToF8e5m2}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fattn
