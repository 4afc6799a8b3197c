// SPDX-License-Identifier: Apache-2.0
// The parts of f32 numbers for matrix instructions, and what three products of them come to beside IEEE's product.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "compiler/nvidia/Tf32Parts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tests/unit/nvidia/Fold.h"

namespace fattn {
namespace {

/// The same numbers in every run.
std::mt19937 seeded(unsigned seed) { return std::mt19937(seed); }

constexpr float kMax = std::numeric_limits<float>::max();

struct Parts {
  float number, high, low;
};

std::vector<Parts> partsOf(const std::vector<std::uint32_t>& numbers) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::math::MathDialect>();
  std::vector<std::uint32_t> words = folded(context, [&](mlir::ImplicitLocOpBuilder& b) {
    std::vector<mlir::Value> values;
    for (std::uint32_t bits : numbers) {
      nvidia::Tf32Parts parts = nvidia::tf32Parts(b, floatOfBits(b, bits));
      values.push_back(parts.high), values.push_back(parts.low);
    }
    return values;
  });
  std::vector<Parts> result;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ((words[2 * i] | words[2 * i + 1]) & 0x1fff, 0) << "bits that tf32 does not have, of " << std::bit_cast<float>(numbers[i]);
    result.push_back({std::bit_cast<float>(numbers[i]), std::bit_cast<float>(words[2 * i]), std::bit_cast<float>(words[2 * i + 1])});
  }
  return result;
}

/// Numbers of all kinds, each with both signs.
std::vector<std::uint32_t> numbersOfAllKinds() {
  std::vector<std::uint32_t> numbers = {0x7f800000, 0x7fc00000, 0x7fffffff, 0x7f800001, 0x7f801000, 0x7fa00000};  // infinity, NaN
  for (std::uint32_t edge : {0x7f7fefffu, 0x7f7ff000u, 0x7f7ff001u, 0x7f7fe000u, 0x7f7fffffu}) numbers.push_back(edge);
  for (float number : {0.0f, 1.0f, 1.5f, 3.0f, 1e-3f, 0x1.002p0f, 0x1.001p0f, 0x1.ffffp0f, 12345.678f, 3e19f, 1e-19f, 0x1p-126f, 0x1p-137f})
    numbers.push_back(std::bit_cast<std::uint32_t>(number));
  std::mt19937 random = seeded(7);
  for (int i = 0; i < 60; ++i) numbers.push_back((random() & 0x007fffff) | (random() % 126 + 64) << 23);
  std::size_t positive = numbers.size();
  for (std::size_t i = 0; i < positive; ++i) numbers.push_back(numbers[i] | 0x80000000);
  return numbers;
}

/// Three instructions with an accumulator of f32.
float product(const Parts& x, const Parts& y) {
  float sum = 0;
  for (auto [a, b] : {std::pair(x.low, y.high), std::pair(x.high, y.low), std::pair(x.high, y.high)})
    sum = static_cast<float>(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(sum));
  return sum;
}

TEST(Tf32Parts, InfiniteOperandsFollowIeee) {
  std::vector<Parts> all = partsOf(numbersOfAllKinds());
  for (const Parts& x : all)
    for (const Parts& y : all) {
      float want = x.number * y.number, got = product(x, y);
      bool hasAllBits = std::min(std::fabs(x.number), std::fabs(y.number)) >= 0x1p-113f;
      double size = std::fabs(static_cast<double>(x.number) * static_cast<double>(y.number));
      SCOPED_TRACE(testing::Message() << x.number << " * " << y.number);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << got;
      } else if (std::isinf(x.number) || std::isinf(y.number)) {
        EXPECT_EQ(got, want);
      } else if (hasAllBits && size < 0x1p127 && size > 0x1p-100) {
        EXPECT_NEAR(got / static_cast<double>(x.number) / static_cast<double>(y.number), 1, 0x1p-21);
      } else if (size > 0x1.01p128 && size < 0x1p135) {
        EXPECT_EQ(got, want);
      }
    }
}

TEST(Tf32Parts, NumbersThatWouldRoundToInfinityStayFinite) {
  for (float number : {kMax, -kMax}) {
    Parts parts = partsOf({std::bit_cast<std::uint32_t>(number)})[0];
    EXPECT_TRUE(std::isfinite(parts.high) && std::isfinite(parts.low));
    EXPECT_NEAR((static_cast<double>(parts.high) + static_cast<double>(parts.low)) / static_cast<double>(number), 1, 0x1p-21);
  }
}

TEST(Tf32Parts, PartsOfFiniteNumbersLoseAtMostOneUnitInTheLastPlace) {
  std::mt19937 random = seeded(3);
  std::vector<std::uint32_t> numbers;
  for (int i = 0; i < 2000; ++i) numbers.push_back((random() & 0x807fffff) | (random() % 200 + 30) << 23);
  for (const Parts& x : partsOf(numbers)) {
    double exponent = std::ilogb(x.number);
    EXPECT_LE(std::fabs(x.low), std::exp2(exponent - 11)) << x.number;
    EXPECT_LE(std::fabs(static_cast<double>(x.number) - x.high - x.low), std::exp2(exponent - 23)) << x.number;
  }
}

TEST(Tf32Parts, OfAnInfinityAreOneAndItself) {
  for (float number : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    Parts parts = partsOf({std::bit_cast<std::uint32_t>(number)})[0];
    EXPECT_EQ(parts.high, std::copysign(1.0f, number));
    EXPECT_EQ(parts.low, number);
  }
}

}  // namespace
}  // namespace fattn
