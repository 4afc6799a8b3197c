// SPDX-License-Identifier: Apache-2.0
// Rounding and encoding of the interpreter's numbers.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "compiler/dialect/Tile.h"
#include "compiler/interpreter/Number.h"

using namespace mlir;

namespace fattn::interpreter {
namespace {

struct NumberTest : testing::Test {
  MLIRContext context;
  Type f8E4M3 = Float8E4M3FNType::get(&context), f8E5M2 = Float8E5M2Type::get(&context), f16 = Float16Type::get(&context),
       bf16 = BFloat16Type::get(&context), f32 = Float32Type::get(&context);
  Type integer(unsigned bits) { return IntegerType::get(&context, bits); }
};

TEST_F(NumberTest, EveryPatternOfSmallFormatsSurvives) {
  for (Type type : {f8E4M3, f8E5M2, f16, bf16}) {
    uint64_t patterns = uint64_t{1} << type.getIntOrFloatBitWidth();
    for (uint64_t bits = 0; bits < patterns; ++bits) {
      Element number = fromBits(bits, type);
      if (std::isnan(number.f)) continue;
      ASSERT_EQ(toBits(number, type), bits);
      ASSERT_EQ(roundTo(number.f, type), number.f) << "a number of the format must round to itself";
    }
  }
}

TEST_F(NumberTest, RoundsHalfToEven) {
  EXPECT_EQ(roundTo(2049, f16), 2048);
  EXPECT_EQ(roundTo(2051, f16), 2052);
  EXPECT_EQ(roundTo(257, bf16), 256);
  EXPECT_EQ(roundTo(259, bf16), 260);
  EXPECT_EQ(roundTo(17, f8E4M3), 16);
  EXPECT_EQ(roundTo(19, f8E4M3), 20);
  EXPECT_EQ(roundTo(16777217, f32), 16777216);
  EXPECT_EQ(roundTo(16777217, Float64Type::get(&context)), 16777217);
}

TEST_F(NumberTest, RoundsNumbersOfEverySizeAsApFloatDoes) {
  uint64_t state = 7;
  auto reference = [](double value, const llvm::fltSemantics& format) {
    llvm::APFloat number(value);
    bool inexact;
    number.convert(format, llvm::APFloat::rmNearestTiesToEven, &inexact);
    return number.convertToDouble();
  };
  for (int i = 0; i < 40000; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    // Numbers of all exponents near the formats' ends and between, every second a tie or next to one.
    auto exponent = static_cast<int>(state >> 33 & 511) - 256;
    double value = std::ldexp(1 + static_cast<double>(state >> 42 & 0xfff) / 4096, i % 2 ? exponent : exponent / 12);
    if (state >> 60 & 1) value = -std::nextafter(value, 0);
    for (Type type : {f16, bf16}) {
      ASSERT_EQ(roundTo(value, type), reference(value, cast<FloatType>(type).getFloatSemantics())) << value;
      ASSERT_EQ(fromBits(toBits(Element::number(value), type), type).f, roundTo(value, type)) << value;
    }
    ASSERT_EQ(roundToTf32(value), reference(value, llvm::APFloat::FloatTF32())) << value;
  }
}

TEST_F(NumberTest, RoundsOnceFromDouble) {
  // 1 + 2^-11 + 2^-40 is above the middle between two f16 numbers; through f32 it would become the middle and go down.
  EXPECT_EQ(roundTo(1 + std::ldexp(1, -11) + std::ldexp(1, -40), f16), 1 + std::ldexp(1, -10));
}

TEST_F(NumberTest, Overflows) {
  EXPECT_EQ(roundTo(65520, f16), std::numeric_limits<double>::infinity());
  EXPECT_EQ(roundTo(65519, f16), 65504);
  EXPECT_EQ(roundTo(464, f8E4M3), 448) << "464 is the middle between 448 and the missing 480, and 448 is even";
  EXPECT_TRUE(std::isnan(roundTo(465, f8E4M3)));
  EXPECT_TRUE(std::isnan(roundTo(-std::numeric_limits<double>::infinity(), f8E4M3)));
  EXPECT_EQ(roundTo(-61440, f8E5M2), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(roundTo(std::nan(""), bf16)));
}

TEST_F(NumberTest, KeepsSubnormalsAndSignedZero) {
  EXPECT_EQ(roundTo(std::ldexp(1, -24), f16), std::ldexp(1, -24));
  EXPECT_EQ(roundTo(std::ldexp(1, -149), f32), std::ldexp(1, -149));
  EXPECT_TRUE(std::signbit(roundTo(-std::ldexp(1, -40), f16)));
}

TEST_F(NumberTest, Tf32HasTenFractionBits) {
  EXPECT_EQ(roundToTf32(1 + std::ldexp(1, -11)), 1);
  EXPECT_EQ(roundToTf32(1 + std::ldexp(3, -11)), 1 + std::ldexp(1, -9));
  EXPECT_EQ(roundToTf32(3e38), roundToTf32(roundToTf32(3e38)));
}

TEST_F(NumberTest, IntegersWrap) {
  EXPECT_EQ(wrapTo(200, integer(8)), -56);
  EXPECT_EQ(wrapTo(uint64_t{1} << 31, integer(32)), INT32_MIN);
  EXPECT_EQ(wrapTo(3, integer(1)), 1);
  EXPECT_EQ(asSigned(1, integer(1)), -1);
  EXPECT_EQ(asUnsigned(-1, integer(8)), 255u);
  EXPECT_EQ(asUnsigned(-1, IndexType::get(&context)), UINT64_MAX);
}

TEST_F(NumberTest, BytesInMemory) {
  uint16_t half = 0;
  writeBytes(&half, Element::number(1.5), f16);
  EXPECT_EQ(half, 0x3E00);
  half = 0xC000;
  EXPECT_EQ(readBytes(&half, f16).f, -2);
  uint8_t truth = 2;
  EXPECT_EQ(readBytes(&truth, integer(1)).i, 1) << "any byte but 0 holds";
  writeBytes(&truth, Element::integer(1), integer(1));
  EXPECT_EQ(truth, 1);
  int32_t number = -5;
  EXPECT_EQ(readBytes(&number, integer(32)).i, -5);
}

TEST_F(NumberTest, Text) {
  EXPECT_EQ(toText(Element::number(roundTo(0.1, f32)), f32), "0.1");
  EXPECT_EQ(toText(Element::number(-std::nan("")), f16), "nan");
  EXPECT_EQ(toText(Element::number(-std::numeric_limits<double>::infinity()), f16), "-inf");
  EXPECT_EQ(toText(Element::integer(-3), integer(8)), "-3");
  EXPECT_EQ(toText(Element::integer(1), integer(1)), "true");
}

}  // namespace
}  // namespace fattn::interpreter
