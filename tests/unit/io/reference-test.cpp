// SPDX-License-Identifier: Apache-2.0
// The float64 reference against the definition written naively, PyTorch's result in a file, and the contracts: bottom-right alignment,
// rows that see nothing, NaN only where it is seen.
#include "tools/io/Reference.h"

#include <cmath>
#include <limits>

#include "TestFiles.h"
#include "tools/io/Metrics.h"
#include "tools/io/Npy.h"
#include "tools/io/Random.h"

namespace fattn::io {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

struct Inputs {
  HostTensor q, k, v;
};

Inputs draw(const AttentionShape& s, DType dtype, Layout layout) {
  const auto dims = [&](std::int64_t heads, std::int64_t length, std::int64_t width) {
    return layout == Layout::BHSD ? std::vector{s.batch, heads, length, width} : std::vector{s.batch, length, heads, width};
  };
  Inputs in{HostTensor::allocate(dtype, dims(s.headsQ, s.lenQ, s.dim)), HostTensor::allocate(dtype, dims(s.headsKv, s.lenKv, s.dim)),
            HostTensor::allocate(dtype, dims(s.headsKv, s.lenKv, s.dimV))};
  fillNormal(in.q, 3, 0, 1);
  fillNormal(in.k, 3, 1, 1);
  fillNormal(in.v, 3, 2, 1);
  return in;
}

std::vector<std::int64_t> allRows(const AttentionShape& s) { return chooseRows(s, 0, kUnbounded); }

/// One row by the definition; returns lse, fills o.
double naiveRow(const AttentionShape& s, double scale, const View4& q, const View4& k, const View4& v, std::int64_t row,
                std::vector<double>& o) {
  const std::int64_t i = row % s.lenQ, h = row / s.lenQ % s.headsQ, b = row / s.lenQ / s.headsQ, hk = h * s.headsKv / s.headsQ;
  std::vector<double> score;
  double sum = 0;
  for (std::int64_t j = 0; j < s.lenKv; ++j) {
    if (s.causal && j > i + s.lenKv - s.lenQ) break;
    double dot = 0;
    for (std::int64_t d = 0; d < s.dim; ++d) dot += double{loadFloat(q.dtype, q.at(b, h, i, d))} * loadFloat(k.dtype, k.at(b, hk, j, d));
    score.push_back(dot * scale);
    sum += std::exp(score.back());
  }
  o.assign(static_cast<std::size_t>(s.dimV), 0.0);
  for (std::size_t j = 0; j < score.size(); ++j)
    for (std::int64_t d = 0; d < s.dimV; ++d)
      o[static_cast<std::size_t>(d)] += std::exp(score[j]) / sum * loadFloat(v.dtype, v.at(b, hk, static_cast<std::int64_t>(j), d));
  return std::log(sum);
}

TEST(Reference, EqualsTheDefinition) {
  const AttentionShape shapes[] = {{2, 4, 2, 9, 13, 8, 8, false}, {2, 4, 1, 9, 13, 8, 16, true},    {1, 2, 2, 13, 9, 24, 6, true},
                                   {1, 1, 1, 1, 1, 8, 8, true},   {1, 10, 5, 70, 65, 16, 8, false}, {3, 4, 4, 33, 5, 7, 3, true}};
  for (const AttentionShape& s : shapes) {
    for (const Layout layout : {Layout::BHSD, Layout::BSHD}) {
      const Inputs in = draw(s, DType::BF16, layout);
      const View4 q = in.q.view(layout), k = in.k.view(layout), v = in.v.view(layout);
      const std::vector<std::int64_t> rows = allRows(s);
      const Reference result = attentionReference(s, 0.3, q, k, v, rows, 2);
      ASSERT_EQ(static_cast<std::int64_t>(rows.size()), s.rows());
      std::vector<double> o;
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const double lse = naiveRow(s, 0.3, q, k, v, rows[r], o);
        if (std::isinf(lse))
          ASSERT_EQ(result.lse[r], lse);
        else
          ASSERT_NEAR(result.lse[r], lse, 1e-12);
        for (std::size_t d = 0; d < o.size(); ++d) ASSERT_NEAR(result.o[r * o.size() + d], o[d], 1e-12) << "row " << r << " column " << d;
      }
    }
  }
}

TEST(Reference, AgreesWithPyTorch) {
  const auto read = [](const char* file) { return readNpy(FileSource(data(file))); };
  const HostTensor q = read("attention-q.npy"), k = read("attention-k.npy"), v = read("attention-v.npy"), o = read("attention-o.npy");
  const AttentionShape s{1, 2, 1, 5, 7, 8, 8, false};
  const Reference result =
      attentionReference(s, 1 / std::sqrt(8.0), q.view(Layout::BHSD), k.view(Layout::BHSD), v.view(Layout::BHSD), allRows(s));
  ErrorMeter meter;
  for (std::size_t i = 0; i < result.o.size(); ++i) meter.add(loadFloat(DType::F32, o.data() + 4 * i), result.o[i]);
  EXPECT_EQ(meter.compared(), 80);
  EXPECT_LT(meter.relative(), 1e-7);
}

TEST(Reference, RowsThatSeeNothingAreZeroWithLseMinusInfinity) {
  const AttentionShape s{1, 1, 1, 5, 2, 8, 8, true};
  const Inputs in = draw(s, DType::F32, Layout::BHSD);
  const Reference result = attentionReference(s, 1, in.q.view(Layout::BHSD), in.k.view(Layout::BHSD), in.v.view(Layout::BHSD), allRows(s));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(result.lse[i], -kUnbounded);
    for (std::size_t d = 0; d < 8; ++d) EXPECT_EQ(result.o[i * 8 + d], 0.0);
  }
  EXPECT_TRUE(std::isfinite(result.lse[3]));
}

TEST(Reference, NanReachesOnlyTheRowsThatSeeIt) {
  const AttentionShape s{1, 1, 1, 6, 6, 8, 8, true};
  Inputs in = draw(s, DType::F32, Layout::BHSD);
  const View4 q = in.q.view(Layout::BHSD), k = in.k.view(Layout::BHSD), v = in.v.view(Layout::BHSD);
  *reinterpret_cast<float*>(v.at(0, 0, 4, 2)) = std::nanf("");
  const Reference result = attentionReference(s, 1, q, k, v, allRows(s));
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t d = 0; d < 8; ++d) EXPECT_EQ(std::isnan(result.o[i * 8 + d]), i >= 4 && d == 2) << i << " " << d;
}

TEST(Reference, CountsPairsAndFlops) {
  EXPECT_EQ((AttentionShape{1, 1, 1, 3, 5, 8, 8, true}).pairsPerHead(), 3 + 4 + 5);
  EXPECT_EQ((AttentionShape{1, 1, 1, 5, 3, 8, 8, true}).pairsPerHead(), 1 + 2 + 3);
  EXPECT_EQ((AttentionShape{2, 3, 1, 5, 3, 8, 16, false}).flops(), 2.0 * 24 * 15 * 6);
}

TEST(Reference, LargeProblemsAreSampledBySeed) {
  const AttentionShape s{1, 8, 2, 8192, 8192, 128, 128, true};
  const std::vector<std::int64_t> rows = chooseRows(s, 1);
  EXPECT_GE(rows.size(), 64u);
  EXPECT_LT(rows.size(), 65536u);
  EXPECT_TRUE(std::ranges::is_sorted(rows));
  EXPECT_EQ(rows, chooseRows(s, 1));
  EXPECT_NE(rows, chooseRows(s, 2));
  EXPECT_EQ(std::ranges::count_if(rows, [&](std::int64_t r) { return r % s.lenQ == 0; }),
            std::ranges::count_if(rows, [&](std::int64_t r) { return r % s.lenQ == s.lenQ - 1; }));
  const Inputs in = draw(s, DType::BF16, Layout::BHSD);
  const Reference result = attentionReference(s, 0.1, in.q.view(Layout::BHSD), in.k.view(Layout::BHSD), in.v.view(Layout::BHSD), rows);
  std::vector<double> o;
  EXPECT_NEAR(result.lse.back(),
              naiveRow(s, 0.1, in.q.view(Layout::BHSD), in.k.view(Layout::BHSD), in.v.view(Layout::BHSD), rows.back(), o), 1e-10);
  EXPECT_NEAR(result.o.back(), o.back(), 1e-12);
}

TEST(ErrorMeter, RelativeAbsoluteAndNonFinite) {
  ErrorMeter meter;
  EXPECT_EQ(meter.relative(), 0);
  meter.add(3.5, 3);
  meter.add(4, 4);
  EXPECT_DOUBLE_EQ(meter.relative(), 0.1);
  EXPECT_EQ(meter.maxAbsolute(), 0.5);
  meter.add(std::nan(""), std::nan(""));
  meter.add(kUnbounded, kUnbounded);
  EXPECT_EQ(meter.mismatched(), 0);
  meter.add(std::nan(""), 1);
  meter.add(1, std::nan(""));
  meter.add(-kUnbounded, kUnbounded);
  EXPECT_EQ(meter.mismatched(), 3);
  EXPECT_EQ(meter.nonFinite(), 4);
  EXPECT_EQ(meter.compared(), 2);
  ErrorMeter zero;
  zero.add(1, 0);
  EXPECT_EQ(zero.relative(), kUnbounded);
}

TEST(Metrics, CountsNonFiniteInputsAndTakesMedians) {
  HostTensor t = HostTensor::allocate(DType::F16, {10000});
  auto* bits = reinterpret_cast<std::uint16_t*>(t.data());
  bits[5] = bits[9999] = 0x7c00;
  bits[4096] = 0x7e00;
  const NonFinite n = countNonFinite(t, 2);
  EXPECT_EQ(n.infinities, 2);
  EXPECT_EQ(n.nans, 1);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({7}), 7);
}

}  // namespace
}  // namespace fattn::io
