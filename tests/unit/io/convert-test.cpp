// SPDX-License-Identifier: Apache-2.0
// Conversions of narrow floats: every bit pattern survives a round trip, and rounding is to the nearest, ties to even, proven against a
// search of all values of the type.
#include "tools/io/Convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tools/io/HostTensor.h"

namespace fattn::io {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The type's finite non-negative values are its bit patterns from 0 to `largest`, in order; `decode` and `encode` as 32-bit functions.
template <typename Decode, typename Encode>
void expectNearestEven(std::uint32_t largest, Decode decode, Encode encode) {
  for (std::uint32_t bits = 0; bits < largest; ++bits) {
    const double low = decode(bits), high = decode(bits + 1);
    const float middle = static_cast<float>((low + high) / 2);  // exact: it has one bit more than the type
    ASSERT_EQ(encode(middle), bits % 2 == 0 ? bits : bits + 1) << "tie above pattern " << bits;
    ASSERT_EQ(encode(std::nextafter(middle, 0.0f)), bits) << bits;
    ASSERT_EQ(encode(std::nextafter(middle, kInfinity)), bits + 1) << bits;
    ASSERT_EQ(encode(static_cast<float>(low)), bits);
  }
}

TEST(Convert, F16RoundsToNearestEven) {
  expectNearestEven(
      0x7bff, [](std::uint32_t b) { return f16ToFloat(static_cast<std::uint16_t>(b)); },
      [](float f) { return std::uint32_t{floatToF16(f)}; });
  EXPECT_EQ(floatToF16(65519.996f), 0x7bff);
  EXPECT_EQ(floatToF16(65520.0f), 0x7c00);
  EXPECT_EQ(floatToF16(-kInfinity), 0xfc00);
  EXPECT_EQ(floatToF16(-1e-30f), 0x8000);
  EXPECT_TRUE(std::isnan(f16ToFloat(floatToF16(std::nanf("")))));
  EXPECT_EQ(f16ToFloat(0x3555), 0.333251953125f);
  EXPECT_EQ(f16ToFloat(0x7c00), kInfinity);
}

TEST(Convert, Bf16RoundsToNearestEven) {
  expectNearestEven(
      0x7f7f, [](std::uint32_t b) { return bf16ToFloat(static_cast<std::uint16_t>(b)); },
      [](float f) { return std::uint32_t{floatToBf16(f)}; });
  EXPECT_EQ(floatToBf16(3.4e38f), 0x7f80);
  EXPECT_EQ(floatToBf16(-kInfinity), 0xff80);
  EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(std::bit_cast<float>(0x7f800001u)))));
}

TEST(Convert, Float8RoundsToNearestEven) {
  expectNearestEven(
      0x7e, [](std::uint32_t b) { return f8e4m3ToFloat(static_cast<std::uint8_t>(b)); },
      [](float f) { return std::uint32_t{floatToF8e4m3(f)}; });
  expectNearestEven(
      0x7b, [](std::uint32_t b) { return f8e5m2ToFloat(static_cast<std::uint8_t>(b)); },
      [](float f) { return std::uint32_t{floatToF8e5m2(f)}; });
  EXPECT_EQ(f8e4m3ToFloat(0x7e), 448.0f);
  EXPECT_EQ(floatToF8e4m3(464.0f), 0x7e);
  EXPECT_EQ(floatToF8e4m3(465.0f), 0x7f);  // no infinity: NaN
  EXPECT_EQ(floatToF8e4m3(-kInfinity), 0xff);
  EXPECT_EQ(f8e5m2ToFloat(0x7b), 57344.0f);
  EXPECT_EQ(floatToF8e5m2(61440.0f), 0x7c);
  EXPECT_EQ(f8e5m2ToFloat(0xfc), -kInfinity);
  EXPECT_TRUE(std::isnan(f8e5m2ToFloat(floatToF8e5m2(std::nanf("")))));
  EXPECT_EQ(floatToF8e5m2(-1e-30f), 0x80);
}

TEST(Convert, EveryPatternOfEveryTypeSurvivesTheTripThroughFloat) {
  for (const DType type : {DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2}) {
    const std::uint32_t patterns = sizeInBytes(type) == 2 ? 1u << 16 : 1u << 8;
    for (std::uint32_t bits = 0; bits < patterns; ++bits) {
      const std::uint32_t in = bits;
      std::uint32_t out = 0;
      const float value = loadFloat(type, &in);
      fromFloat(type, &value, &out, 1);
      if (!std::isnan(value)) {
        ASSERT_EQ(out, bits) << name(type);
      } else {
        ASSERT_TRUE(std::isnan(loadFloat(type, &out))) << name(type) << " " << bits;
      }
    }
  }
}

TEST(Convert, ArraysAndIntegers) {
  const std::vector<float> values = {-200.7f, -1.5f, 0.0f, 1.9f, 127.5f, 1e20f, std::nanf("")};
  std::vector<std::int8_t> bytes(values.size());
  fromFloat(DType::I8, values.data(), bytes.data(), values.size());
  EXPECT_EQ(bytes, (std::vector<std::int8_t>{-128, -1, 0, 1, 127, 127, 0}));
  std::vector<std::int64_t> longs(values.size());
  fromFloat(DType::I64, values.data(), longs.data(), values.size());
  EXPECT_EQ(longs[5], INT64_MAX);
  EXPECT_EQ(longs[0], -200);
  const std::int32_t number = -7;
  EXPECT_EQ(loadFloat(DType::I32, &number), -7.0f);
}

TEST(HostTensor, SizesAreCheckedBeforeMemoryIsTouched) {
  const auto text = [](std::vector<std::int64_t> shape) {
    try {
      HostTensor::allocate(DType::F32, std::move(shape), "q");
    } catch (const std::exception& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(text({1, -2}), "q has a negative dimension in its shape 1x-2");
  EXPECT_NE(text({std::int64_t{1} << 40, std::int64_t{1} << 20})
                .find("q of shape 1099511627776x1048576 and type f32 takes 4.0 EiB, this machine has"),
            std::string::npos);
  EXPECT_NE(text({INT64_MAX, 2}).find("has more than 2^63 - 1 elements"), std::string::npos);
}

TEST(HostTensor, ViewsNameTheLogicalDimensions) {
  const HostTensor t = HostTensor::allocate(DType::F16, {2, 3, 5, 8});
  const View4 bhsd = t.view(Layout::BHSD), bshd = t.view(Layout::BSHD);
  EXPECT_EQ(bhsd.strides, (std::array<std::int64_t, 4>{120, 40, 8, 1}));
  EXPECT_EQ(bshd.shape, (std::array<std::int64_t, 4>{2, 5, 3, 8}));
  EXPECT_EQ(bshd.strides, (std::array<std::int64_t, 4>{120, 8, 40, 1}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.data()) % 64, 0u);
}

}  // namespace
}  // namespace fattn::io
