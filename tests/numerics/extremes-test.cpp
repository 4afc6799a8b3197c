// SPDX-License-Identifier: Apache-2.0
// The forward of attention far from usual numbers, against float64: scores up to 2^127, equal ones among them, of either sign, and elements
// of v, q and k that are not finite. With several tiles each, as results must not depend on them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "fattn/fattn.h"
#include "tests/numerics/OnDevice.h"
#include "tools/io/Convert.h"
#include "tools/io/Metrics.h"
#include "tools/io/Random.h"
#include "tools/io/Reference.h"

namespace fattn::numerics {
namespace {

constexpr std::array kElementTypes = {DType::F32, DType::F16, DType::BF16};
constexpr std::int64_t kDim = 64;
constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

double allowed(DType dtype) { return dtype == DType::F32 ? 2e-5 : dtype == DType::F16 ? 2e-3 : 5e-3; }

/// Row, column: value.
using Element = std::function<float(std::int64_t, std::int64_t)>;

io::HostTensor fill(DType dtype, std::int64_t rows, const Element& element) {
  io::HostTensor t = io::HostTensor::allocate(dtype, {1, 1, rows, kDim});
  std::vector<float> values;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t d = 0; d < kDim; ++d) values.push_back(element(i, d));
  io::fromFloat(dtype, values.data(), t.data(), values.size());
  return t;
}

/// Small integers from -limit to limit, the same for the same stream.
Element integers(std::uint64_t stream, std::int64_t limit, float factor) {
  return [=](std::int64_t i, std::int64_t d) {
    io::SplitMix64 random(stream * 1'000'003 + static_cast<std::uint64_t>(i * kDim + d));
    random.below(2);
    return factor * static_cast<float>(static_cast<std::int64_t>(random.below(2 * limit + 1)) - limit);
  };
}

struct Problem {
  DType dtype;
  bool causal;
  std::int64_t lenQ, lenKv;
  Element q, k, v;
  float scale;
};

struct Outcome {
  std::vector<float> o, lse;
};

Outcome launch(const Problem& p, const TileConfig& tile) {
  const Kernel kernel = compile({.dtype = p.dtype, .head_dim = kDim, .causal = p.causal, .target = testedTarget(), .tile = tile});
  StridedTensor q(p.dtype, {1, 1, p.lenQ, kDim}, Placement::Bhsd), k(p.dtype, {1, 1, p.lenKv, kDim}, Placement::Bhsd), v = k;
  StridedTensor o = q, lse(DType::F32, {1, 1, p.lenQ}, Placement::Bhsd);
  q.fill(fill(p.dtype, p.lenQ, p.q));
  k.fill(fill(p.dtype, p.lenKv, p.k));
  v.fill(fill(p.dtype, p.lenKv, p.v));
  Device& device = openDevice(testedTarget());
  OnDevice dq(device, q), dk(device, k), dv(device, v), dO(device, o), dLse(device, lse);
  kernel.launch({}, {.q = dq.view(), .k = dk.view(), .v = dv.view(), .o = dO.view(), .lse = dLse.view(), .scale = p.scale});
  dO.fetch();
  dLse.fetch();
  Outcome outcome;
  for (std::int64_t i = 0; i < p.lenQ * kDim; ++i) outcome.o.push_back(o.at(i));
  for (std::int64_t i = 0; i < p.lenQ; ++i) outcome.lse.push_back(lse.at(i));
  return outcome;
}

io::Reference reference(const Problem& p) {
  const io::HostTensor q = fill(p.dtype, p.lenQ, p.q), k = fill(p.dtype, p.lenKv, p.k), v = fill(p.dtype, p.lenKv, p.v);
  const io::AttentionShape shape{1, 1, 1, p.lenQ, p.lenKv, kDim, kDim, p.causal};
  return io::attentionReference(shape, p.scale, q.view(io::Layout::BHSD), k.view(io::Layout::BHSD), v.view(io::Layout::BHSD),
                                io::chooseRows(shape, 0, std::numeric_limits<double>::infinity()));
}

class Extremes : public testing::TestWithParam<TileConfig> {
 protected:
  void SetUp() override {
    if (std::string why = missingDevice(); !why.empty()) GTEST_SKIP() << why;
  }

  void expectReference(const Problem& p, const std::string& where) const {
    const Outcome got = launch(p, GetParam());
    const io::Reference want = reference(p);
    io::ErrorMeter o, lse;
    for (std::size_t i = 0; i < want.o.size(); ++i) o.add(got.o[i], want.o[i]);
    for (std::size_t i = 0; i < want.lse.size(); ++i) lse.add(got.lse[i], want.lse[i]);
    EXPECT_EQ(o.mismatched(), 0) << where;
    EXPECT_EQ(lse.mismatched(), 0) << where;
    EXPECT_LE(o.relative(), allowed(p.dtype)) << where;
    EXPECT_LE(std::min(lse.relative(), lse.maxAbsolute()), 1e-5) << where;
  }

  /// Only which elements are finite, and those.
  void expectFiniteElements(const Problem& p, const std::string& where) const {
    const Outcome got = launch(p, GetParam());
    const io::Reference want = reference(p);
    io::ErrorMeter errors;
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < want.o.size(); ++i) {
      wrong += std::isfinite(got.o[i]) == std::isfinite(want.o[i]) ? 0 : 1;
      if (std::isfinite(want.o[i])) errors.add(got.o[i], want.o[i]);
    }
    EXPECT_EQ(wrong, 0) << where;
    EXPECT_LE(errors.relative(), allowed(p.dtype)) << where;
    for (std::size_t i = 0; i < want.lse.size(); ++i)
      if (std::isinf(want.lse[i])) {
        ASSERT_EQ(got.lse[i], -kInfinity) << where;
        for (std::size_t d = 0; d < kDim; ++d) ASSERT_EQ(got.o[i * kDim + d], 0) << where << ", row " << i;
      }
  }

  using Check = void (Extremes::*)(const Problem&, const std::string&) const;
  void inAllTypes(Check check, const std::string& what, std::int64_t lenQ, const std::function<void(Problem&)>& set) const {
    for (const DType dtype : kElementTypes)
      for (const bool causal : {false, true}) {
        if (!supports({.dtype = dtype, .head_dim = kDim, .causal = causal, .target = testedTarget(), .tile = GetParam()})) continue;
        Problem p{dtype, causal, lenQ, 140, integers(1, 1, 1), integers(2, 2, 1), integers(3, 50, 0.02F), 0.1F};
        set(p);
        (this->*check)(p, fmt::format("{} {} {}", name(dtype), causal ? "causal" : "full", what));
      }
  }
  void expectReferenceInAllTypes(const std::string& what, const std::function<void(Problem&)>& set) const {
    inAllTypes(&Extremes::expectReference, what, 70, set);
  }
  void expectFiniteWhereSeen(const std::string& what, const std::function<void(Problem&)>& set) const {
    inAllTypes(&Extremes::expectFiniteElements, what, 140, set);
  }
};

/// The products are small integers times powers of two, so that every score is exact in f32 before it is scaled.
TEST_P(Extremes, ScoresUpTo2To127AreRight) {
  for (const int exponent : {18, 21, 22, 23, 24, 27, 31, 40, 64, 100, 126})
    for (const float sign : {1.F, -1.F})
      expectReferenceInAllTypes(fmt::format("2^{} by {}", exponent, sign), [&](Problem& p) {
        const int half = std::min(exponent / 4, 12);
        p.q = integers(1, 1, std::ldexp(1.F, half));
        p.k = integers(2, 2, std::ldexp(1.F, half));
        p.scale = sign * std::ldexp(1.F, exponent - 2 * half - 7);
      });
}

/// All far from 0 in one direction, and apart by a few: what is left when the rounding of a reference is subtracted from itself.
TEST_P(Extremes, DifferencesOfLargeScoresAreRight) {
  for (const int exponent : {15, 20, 21, 22, 23})
    for (const float sign : {1.F, -1.F})
      expectReferenceInAllTypes(fmt::format("{} * 2^{}", sign, exponent), [&](Problem& p) {
        p.q = [small = integers(1, 1, 1), exponent](std::int64_t i, std::int64_t d) {
          return d == 0 ? std::ldexp(1.F, exponent / 2) : small(i, d);
        };
        p.k = [small = integers(2, 1, 1), exponent, sign](std::int64_t i, std::int64_t d) {
          return d == 0 ? sign * std::ldexp(1.F, exponent - exponent / 2) : small(i, d);
        };
        p.scale = 0.7F;
      });
}

/// Blocks of keys whose scores are lower, then higher than all before.
TEST_P(Extremes, LargeScoresThatRiseAndFallAreRight) {
  for (const float step : {1e3F, 3e5F, 1e8F})
    for (const float sign : {1.F, -1.F})
      expectReferenceInAllTypes(fmt::format("steps of {}", sign * step), [&](Problem& p) {
        p.q = [](std::int64_t, std::int64_t d) { return d == 0 ? 1.F : 0.F; };
        p.k = [](std::int64_t j, std::int64_t d) { return d == 0 ? static_cast<float>((j / 20 * 5) % 7 - 3) : 0.F; };
        p.scale = sign * step;
      });
}

TEST_P(Extremes, EqualScoresOfTenThousandSquaredGiveUniformWeights) {
  expectReferenceInAllTypes("all 10000", [](Problem& p) {
    p.q = p.k = [](std::int64_t, std::int64_t) { return 10000.F; };
    p.scale = 0.125F;
  });
}

TEST_P(Extremes, AScaleOf0GivesUniformWeights) {
  expectReferenceInAllTypes("0", [](Problem& p) { p.scale = 0; });
}

/// Some of these products are 0 and some are not, depending on whether subnormal numbers are flushed: nothing of that is seen.
TEST_P(Extremes, SubnormalQueriesAndKeysGiveUniformWeights) {
  expectReferenceInAllTypes("subnormal q and k", [](Problem& p) {
    const float least = std::ldexp(1.F, p.dtype == DType::F16 ? -24 : -133);
    p.q = integers(1, 3, least);
    p.k = integers(2, 3, least);
  });
}

TEST_P(Extremes, AScaleThatIsNaNReachesExactlyTheRowsThatSeeAKey) {
  expectReferenceInAllTypes("NaN", [](Problem& p) { p.scale = kNaN; });
  expectReferenceInAllTypes("NaN and rows without a key", [](Problem& p) {
    p.lenQ = 200;
    p.scale = kNaN;
  });
}

TEST_P(Extremes, AScaleOf3e8LeavesTheLargestScore) {
  expectReferenceInAllTypes("3e8", [](Problem& p) { p.scale = 3e8F; });
}

TEST_P(Extremes, RowsThatSeeNoKeyAreZeroWhateverVHolds) {
  for (const float value : {kNaN, kInfinity})
    expectFiniteWhereSeen(fmt::format("v = {}", value), [&](Problem& p) {
      p.lenKv = 70;
      p.v = [value](std::int64_t j, std::int64_t d) { return d % 3 == 0 && j % 9 == 0 ? value : 1.F; };
    });
}

/// An element of o is finite exactly where its row sees finite values only, and then as if there were no others.
TEST_P(Extremes, ValuesThatAreNotFiniteReachExactlyTheRowsThatSeeThem) {
  for (const float value : {kNaN, kInfinity, -kInfinity})
    expectFiniteWhereSeen(fmt::format("v = {}", value), [&](Problem& p) {
      p.v = [value, small = integers(3, 50, 0.02F)](std::int64_t j, std::int64_t d) {
        return d < 60 && j == 11 + 2 * d ? value : small(j, d);
      };
    });
}

/// Weighted sums of such values overflow although their means do not: with equal weights, with weights that rise above 1 before they are
/// normalized, and with large scores.
TEST_P(Extremes, FiniteValuesBelow2To127GiveFiniteMeans) {
  for (const int exponent : {79, 80, 90, 110, 126})
    for (const float scale : {0.F, 0.1F, 20.F, 0x1p21F})
      expectReferenceInAllTypes(fmt::format("v up to 2^{}, scale {}", exponent, scale), [&](Problem& p) {
        const float largest = std::ldexp(1.F, p.dtype == DType::F16 ? 15 : exponent);
        p.scale = scale;
        p.v = [largest, small = integers(3, 50, 0.02F)](std::int64_t j, std::int64_t d) {
          return largest * (d % 2 == 0 ? 0.999F : small(j, d));
        };
      });
}

/// NaN in q or k makes its scores NaN, and so the rows that see them, in all columns.
TEST_P(Extremes, ScoresThatAreNaNReachExactlyTheRowsThatSeeThem) {
  expectReferenceInAllTypes("NaN in q[3] and k[100]", [](Problem& p) {
    p.lenQ = 140;
    p.q = [small = integers(1, 1, 1)](std::int64_t i, std::int64_t d) { return i == 3 && d == 5 ? kNaN : small(i, d); };
    p.k = [small = integers(2, 2, 1)](std::int64_t j, std::int64_t d) { return j == 100 && d == 6 ? kNaN : small(j, d); };
  });
}

INSTANTIATE_TEST_SUITE_P(Tiles, Extremes,
                         testing::Values(TileConfig{}, TileConfig{.block_m = 64, .block_n = 32}, TileConfig{.block_m = 128, .block_n = 64},
                                         TileConfig{.block_m = 4, .block_n = 8}),
                         [](const testing::TestParamInfo<TileConfig>& info) {
                           return info.param == TileConfig{} ? std::string("Default")
                                                             : fmt::format("M{}_N{}", info.param.block_m, info.param.block_n);
                         });

}  // namespace
}  // namespace fattn::numerics
