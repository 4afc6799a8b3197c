// SPDX-License-Identifier: Apache-2.0
// The random numbers: pinned bits, the documented formula, moments.
#include "tools/io/Random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "tools/io/Convert.h"

namespace fattn::io {
namespace {

/// Pinned: the generator is part of the documentation, and figures in documents quote seeds.
TEST(Random, BitsArePinnedAndIndependentOfTheNumberOfThreads) {
  float first[4];
  normal(1, 0, 0, first, 4);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(first[0]), 0x3f01a295u);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(first[1]), 0xbf10ba09u);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(first[2]), 0xbfb37101u);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(first[3]), 0xbdd01796u);
  HostTensor one = HostTensor::allocate(DType::F32, {3, 33333}), three = HostTensor::allocate(DType::F32, {3, 33333});
  fillNormal(one, 1, 0, 1);
  fillNormal(three, 1, 0, 3);
  EXPECT_TRUE(std::equal(one.data(), one.data() + one.bytes(), three.data()));
  EXPECT_EQ(loadFloat(DType::F32, one.data() + 4), first[1]);
}

TEST(Random, MomentsAndTailsAreNormal) {
  HostTensor t = HostTensor::allocate(DType::F32, {1 << 20});
  fillNormal(t, 7, 2, 2);
  double sum = 0, squares = 0, fourth = 0;
  std::int64_t beyond2 = 0;
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    const double x = loadFloat(DType::F32, t.data() + 4 * i);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    beyond2 += std::abs(x) > 2 ? 1 : 0;
  }
  const double n = static_cast<double>(t.elements());
  EXPECT_NEAR(sum / n, 0, 0.004);  // four standard errors
  EXPECT_NEAR(squares / n, 1, 0.006);
  EXPECT_NEAR(fourth / n, 3, 0.04);
  EXPECT_NEAR(static_cast<double>(beyond2) / n, 0.0455, 0.001);
}

TEST(Random, StreamsAndSeedsDiffer) {
  float a[64], b[64], c[64];
  normal(1, 0, 0, a, 64);
  normal(1, 1, 0, b, 64);
  normal(2, 0, 0, c, 64);
  int same = 0;
  for (int i = 0; i < 64; ++i) same += (a[i] == b[i] ? 1 : 0) + (a[i] == c[i] ? 1 : 0);
  EXPECT_EQ(same, 0);
}

/// The formula of Random.h written down with libm: the polynomials compute what they claim.
TEST(Random, FollowsTheDocumentedFormula) {
  const auto mix = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  };
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;
  constexpr int kPairs = 50000;
  std::vector<float> values(2 * kPairs);
  normal(42, 3, 0, values.data(), 2 * kPairs);
  for (int i = 0; i < kPairs; ++i) {
    const std::uint64_t w = mix(mix(42 + kGolden * 3) + kGolden * static_cast<std::uint64_t>(i + 1));
    const double radius = std::sqrt(-2 * std::log((static_cast<double>(w >> 32) + 1) * 0x1p-32));
    const double angle = 2 * std::numbers::pi * static_cast<double>(w & 0xffffffffu) * 0x1p-32;
    ASSERT_NEAR(values[2 * i], radius * std::cos(angle), 4e-7) << i;
    ASSERT_NEAR(values[2 * i + 1], radius * std::sin(angle), 4e-7) << i;
  }
}

TEST(Random, ChoicesStayBelowTheBoundAndReachAllOfIt) {
  SplitMix64 random(5);
  bool seen[10] = {};
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t n = random.below(10);
    ASSERT_TRUE(n >= 0 && n < 10);
    seen[n] = true;
  }
  EXPECT_TRUE(std::ranges::all_of(seen, [](bool b) { return b; }));
  EXPECT_EQ(SplitMix64(0).next(), 0xe220a8397b1dcdafu);  // the published first output for seed 0
}

}  // namespace
}  // namespace fattn::io
