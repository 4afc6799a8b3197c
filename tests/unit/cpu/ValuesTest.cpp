// SPDX-License-Identifier: Apache-2.0
// Accuracy of exp2 and of conversions between element types, element by element.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "fattn/dsl/Dsl.h"
#include "tests/unit/cpu/Run.h"
#include "tools/io/Convert.h"

namespace fattn {
namespace {

using namespace dsl;

constexpr int kBlock = 256;

/// y[i] = f(x[i]); every program does kBlock elements.
Program elementwise(DType from, DType to, const std::function<Tile(Tile)>& f) {
  return trace("elementwise", [&](Params& params) {
    Ptr x = params.ptr("x", from), y = params.ptr("y", to);
    Scalar n = params.scalar("n", DType::I64), at = program_id(0) * kBlock;
    Tile in = load(make_block_ptr(x, {n}, {1}, {at}, {kBlock}), {0});
    store(make_block_ptr(y, {n}, {1}, {at}, {kBlock}), f(in), {0});
  });
}

class Values : public testing::TestWithParam<std::string> {};

TEST_P(Values, Exp2IsWithinTwoUlp) {
  std::vector<float> x = {0.0f,    -0.0f,   1.0f,  -1.0f,  127.0f,   128.0f,    -126.0f, -149.0f,
                          -150.0f, -151.0f, 1e30f, -1e30f, INFINITY, -INFINITY, NAN};
  for (int i = 0; i < 400000; ++i) x.push_back(-152.0f + 281.0f * static_cast<float>(i) / 400000.0f);
  for (int i = 0; i < 20000; ++i) x.push_back(1e-3f * static_cast<float>(i - 10000) / 10000.0f);
  std::vector<float> y(x.size());
  const std::uint64_t args[] = {cpu_tests::slot(x.data()), cpu_tests::slot(y.data()), x.size()};
  Program program = elementwise(DType::F32, DType::F32, [](Tile t) { return exp2(t); });
  Grid grid{static_cast<std::int64_t>((x.size() + kBlock - 1) / kBlock), 1, 1};
  FATTN_RUN_OR_SKIP(program, GetParam(), grid, args);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp2(static_cast<double>(x[i]));
    if (std::isnan(x[i])) {
      EXPECT_TRUE(std::isnan(y[i]));
      continue;
    }
    if (exact > std::numeric_limits<float>::max()) {
      EXPECT_EQ(y[i], INFINITY) << "exp2(" << x[i] << ")";
      continue;
    }
    if (std::nearbyint(x[i]) == x[i]) EXPECT_EQ(y[i], static_cast<float>(exact)) << "exp2(" << x[i] << ") must be exact";
    const float rounded = static_cast<float>(exact);
    const double ulp = std::nextafter(std::fabs(rounded), INFINITY) - static_cast<double>(std::fabs(rounded));
    worst = std::max(worst, std::fabs(y[i] - exact) / ulp);
  }
  RecordProperty("worst_ulp", std::to_string(worst));
  EXPECT_LE(worst, 2.0);
}

template <class Bits>
void everyPattern(const std::string& level, DType type, float (*expected)(Bits)) {
  std::vector<Bits> x(1u << (8 * sizeof(Bits)));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<Bits>(i);
  std::vector<float> y(x.size());
  const std::uint64_t args[] = {cpu_tests::slot(x.data()), cpu_tests::slot(y.data()), x.size()};
  Program program = elementwise(type, DType::F32, [](Tile t) { return cast(t, DType::F32); });
  FATTN_RUN_OR_SKIP(program, level, (Grid{static_cast<std::int64_t>((x.size() + kBlock - 1) / kBlock), 1, 1}), args);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float want = expected(x[i]);
    if (std::isnan(want))
      ASSERT_TRUE(std::isnan(y[i])) << name(type) << " pattern " << i;
    else
      ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(want)) << name(type) << " pattern " << i;
  }
}

TEST_P(Values, EveryPatternOfASmallFloatIsReadExactly) {
  everyPattern<std::uint16_t>(GetParam(), DType::F16, io::f16ToFloat);
  everyPattern<std::uint16_t>(GetParam(), DType::BF16, io::bf16ToFloat);
  everyPattern<std::uint8_t>(GetParam(), DType::F8E4M3, io::f8e4m3ToFloat);
  everyPattern<std::uint8_t>(GetParam(), DType::F8E5M2, io::f8e5m2ToFloat);
}

/// Floats around every representable value of the small type and every rounding boundary between two of them.
template <class Bits>
std::vector<float> boundaries(float (*widen)(Bits)) {
  std::vector<float> x;
  for (std::uint32_t i = 0; i < 1u << (8 * sizeof(Bits)); i += sizeof(Bits) == 2 ? 7 : 1) {
    const float v = widen(static_cast<Bits>(i));
    if (std::isnan(v)) continue;
    const float next = widen(static_cast<Bits>(i + 1)), middle = std::isfinite(next) ? v + (next - v) / 2 : v;
    for (float f : {v, std::nextafter(v, INFINITY), middle, std::nextafter(middle, -INFINITY), std::nextafter(middle, INFINITY)})
      x.push_back(f);
  }
  for (float f : {1e30f, -1e30f, INFINITY, -INFINITY, NAN}) x.push_back(f);
  return x;
}

template <class Bits>
void rounding(const std::string& level, DType type, float (*widen)(Bits), Bits (*expected)(float)) {
  std::vector<float> x = boundaries(widen);
  std::vector<Bits> y(x.size());
  const std::uint64_t args[] = {cpu_tests::slot(x.data()), cpu_tests::slot(y.data()), x.size()};
  Program program = elementwise(DType::F32, type, [&](Tile t) { return cast(t, type); });
  FATTN_RUN_OR_SKIP(program, level, (Grid{static_cast<std::int64_t>((x.size() + kBlock - 1) / kBlock), 1, 1}), args);
  for (std::size_t i = 0; i < x.size(); ++i) {
    // vcvtneps2bf16 reads a subnormal f32 as zero.
    if (type == DType::BF16 && std::fpclassify(x[i]) == FP_SUBNORMAL) continue;
    const float want = widen(expected(x[i])), got = widen(y[i]);
    if (std::isnan(want))
      ASSERT_TRUE(std::isnan(got)) << name(type) << " of " << x[i];
    else
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(want)) << name(type) << " of " << x[i];
  }
}

TEST_P(Values, SmallFloatsAreRoundedToNearestEven) {
  rounding<std::uint16_t>(GetParam(), DType::F16, io::f16ToFloat, io::floatToF16);
  rounding<std::uint16_t>(GetParam(), DType::BF16, io::bf16ToFloat, io::floatToBf16);
  rounding<std::uint8_t>(GetParam(), DType::F8E4M3, io::f8e4m3ToFloat, io::floatToF8e4m3);
  rounding<std::uint8_t>(GetParam(), DType::F8E5M2, io::f8e5m2ToFloat, io::floatToF8e5m2);
}

INSTANTIATE_TEST_SUITE_P(Host, Values, testing::ValuesIn(cpu_tests::allTargets()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
});

}  // namespace
}  // namespace fattn
