// SPDX-License-Identifier: Apache-2.0
// The forward of attention against float64 on the whole grid: type x head dimension x causal, each compiled once and launched on every pair
// of a query and a key length, with and without grouped heads, in both layouts and as views with gaps. Prints the worst errors of each
// compiled kernel as a row of a Markdown table (docs/numerics.md quotes them):
//   | type | D | mask | relative error of O | largest absolute error of O | relative error of LSE | worst launch |
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include "fattn/fattn.h"
#include "tests/numerics/ForwardCase.h"
#include "tools/io/Metrics.h"
#include "tools/io/Random.h"
#include "tools/io/Reference.h"

namespace fattn::numerics {
namespace {

constexpr std::array<std::int64_t, 7> kLengths = {1, 7, 64, 127, 128, 129, 1000};
constexpr std::array<std::int64_t, 8> kHeadDims = {8, 40, 64, 72, 96, 128, 192, 256};
constexpr std::array kTypes = {DType::F32, DType::F16, DType::BF16};

std::string printWorst(DType dtype, std::int64_t dim, std::int64_t dimV, bool causal, const ForwardWorst& worst) {
  const std::string dims = dim == dimV ? fmt::format("{}", dim) : fmt::format("{} / {}", dim, dimV);
  return fmt::format("| {} | {} | {} | {:.2e} | {:.2e} | {:.2e} | {} |\n", fattn::name(dtype), dims, causal ? "causal" : "none", worst.o,
                     worst.oAbsolute, worst.lse, worst.where);
}

using Cell = std::tuple<DType, std::int64_t, bool>;

std::string cellName(const testing::TestParamInfo<Cell>& info) {
  const auto& [dtype, dim, causal] = info.param;
  return fmt::format("{}_D{}_{}", fattn::name(dtype), dim, causal ? "causal" : "full");
}

/// Skipped, saying why, where the device under test is missing.
class ForwardGrid : public testing::TestWithParam<Cell> {
 protected:
  void SetUp() override {
    if (std::string why = missingDevice(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(ForwardGrid, MatchesFloat64) {
  const auto& [dtype, dim, causal] = GetParam();
  const Kernel kernel = compile({.dtype = dtype, .head_dim = dim, .causal = causal, .target = testedTarget()});
  ForwardWorst worst;
  std::uint64_t stream = 0;
  for (const std::int64_t lenQ : kLengths)
    for (const std::int64_t lenKv : kLengths)
      for (const std::int64_t group : {1, 4}) {
        // Two batch entries where they are cheap.
        const std::int64_t batch = lenQ * lenKv <= 128 * 128 ? 2 : 1;
        const ForwardCase problem({batch, group == 1 ? 2 : 4, group == 1 ? 2 : 1, lenQ, lenKv, dim, dim, causal}, dtype, stream += 3);
        for (const Placement placement : kPlacements) problem.launch(openDevice(testedTarget()), kernel, placement, worst);
        if (HasFailure()) return;
      }
  fmt::print("{}", printWorst(dtype, dim, dim, causal, worst));
}

INSTANTIATE_TEST_SUITE_P(Grid, ForwardGrid, testing::Combine(testing::ValuesIn(kTypes), testing::ValuesIn(kHeadDims), testing::Bool()),
                         cellName);

/// Head dimensions of v that differ from that of q and k.
class ForwardValueDim : public testing::TestWithParam<std::tuple<DType, std::pair<std::int64_t, std::int64_t>>> {
 protected:
  void SetUp() override {
    if (std::string why = missingDevice(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(ForwardValueDim, MatchesFloat64) {
  const auto& [dtype, dims] = GetParam();
  const auto& [dim, dimV] = dims;
  const Kernel kernel = compile({.dtype = dtype, .head_dim = dim, .head_dim_v = dimV, .causal = true, .target = testedTarget()});
  ForwardWorst worst;
  for (const Placement placement : kPlacements) {
    ForwardCase({2, 4, 2, 129, 200, dim, dimV, true}, dtype, 1000).launch(openDevice(testedTarget()), kernel, placement, worst);
    ForwardCase({1, 2, 2, 65, 33, dim, dimV, true}, dtype, 2000).launch(openDevice(testedTarget()), kernel, placement, worst);
  }
  fmt::print("{}", printWorst(dtype, dim, dimV, true, worst));
}

INSTANTIATE_TEST_SUITE_P(Grid, ForwardValueDim,
                         testing::Combine(testing::ValuesIn(kTypes), testing::Values(std::pair<std::int64_t, std::int64_t>{192, 128},
                                                                                     std::pair<std::int64_t, std::int64_t>{64, 8},
                                                                                     std::pair<std::int64_t, std::int64_t>{40, 256})),
                         [](const auto& info) {
                           const auto& dims = std::get<1>(info.param);
                           return fmt::format("{}_D{}_Dv{}", fattn::name(std::get<0>(info.param)), dims.first, dims.second);
                         });

class ForwardViews : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string why = missingDevice(); !why.empty()) GTEST_SKIP() << why;
  }
};

/// Slices of one packed tensor [B, S, 3, H, D], as fused projections write it.
TEST_F(ForwardViews, PackedQkvMatchesSeparateTensors) {
  constexpr std::int64_t kBatch = 2, kLength = 131, kHeads = 3, kDim = 64;
  const Kernel kernel = compile({.dtype = DType::BF16, .head_dim = kDim, .causal = true, .target = testedTarget()});
  const io::HostTensor packed = drawTensor(DType::BF16, {kBatch, kLength, 3, kHeads, kDim}, 7);
  const TensorView whole(packed.data(), DType::BF16, packed.shape());
  const auto slice = [&](const std::byte* memory, std::int64_t part) {
    const auto* data = memory + part * kHeads * kDim * 2;
    return TensorView(data, DType::BF16, {kBatch, kHeads, kLength, kDim}, {whole.strides[0], kDim, whole.strides[1], 1});
  };
  const auto view = [&](std::int64_t part) {
    const TensorView t = slice(packed.data(), part);
    return io::View4{static_cast<std::byte*>(t.data),
                     DType::BF16,
                     {t.shape[0], t.shape[1], t.shape[2], t.shape[3]},
                     {t.strides[0], t.strides[1], t.strides[2], t.strides[3]}};
  };
  StridedTensor o(DType::BF16, {kBatch, kHeads, kLength, kDim}, Placement::Bhsd);
  StridedTensor copy(DType::BF16, {1, kBatch, kLength, 3 * kHeads * kDim}, Placement::Bhsd);
  copy.fill(packed);
  Device& device = openDevice(testedTarget());
  OnDevice dCopy(device, copy), dO(device, o);
  const auto* memory = static_cast<const std::byte*>(dCopy.view().data);
  kernel.launch({}, {.q = slice(memory, 0), .k = slice(memory, 1), .v = slice(memory, 2), .o = dO.view()});
  dO.fetch();
  const io::AttentionShape shape{kBatch, kHeads, kHeads, kLength, kLength, kDim, kDim, true};
  const io::Reference want = io::attentionReference(shape, 1 / std::sqrt(64.0), view(0), view(1), view(2), io::chooseRows(shape, 0));
  io::ErrorMeter errors;
  for (std::size_t i = 0; i < want.o.size(); ++i) errors.add(o.at(static_cast<std::int64_t>(i)), want.o[i]);
  EXPECT_EQ(errors.mismatched(), 0);
  EXPECT_LE(errors.relative(), forwardTolerance(DType::BF16));
}

/// Scores far beyond what exp takes: the running maximum keeps them in range.
TEST_F(ForwardViews, LargeScoresStayFinite) {
  const io::AttentionShape shape{1, 1, 1, 70, 300, 64, 64, false};
  for (const DType dtype : kTypes) {
    const Kernel kernel = compile({.dtype = dtype, .head_dim = 64, .target = testedTarget()});
    const io::HostTensor q = drawTensor(dtype, {1, 1, 70, 64}, 1), k = drawTensor(dtype, {1, 1, 300, 64}, 2),
                         v = drawTensor(dtype, {1, 1, 300, 64}, 3);
    StridedTensor sq(dtype, q.shape(), Placement::Bhsd), sk(dtype, k.shape(), Placement::Bhsd), sv(dtype, v.shape(), Placement::Bhsd);
    StridedTensor o(dtype, {1, 1, 70, 64}, Placement::Bhsd);
    sq.fill(q);
    sk.fill(k);
    sv.fill(v);
    Device& device = openDevice(testedTarget());
    OnDevice dq(device, sq), dk(device, sk), dv(device, sv), dO(device, o);
    const float scale = 40;  // scores of several hundred
    kernel.launch({}, {.q = dq.view(), .k = dk.view(), .v = dv.view(), .o = dO.view(), .scale = scale});
    dO.fetch();
    const io::Reference want = io::attentionReference(shape, scale, q.view(io::Layout::BHSD), k.view(io::Layout::BHSD),
                                                      v.view(io::Layout::BHSD), io::chooseRows(shape, 0));
    io::ErrorMeter errors;
    for (std::size_t i = 0; i < want.o.size(); ++i) errors.add(o.at(static_cast<std::int64_t>(i)), want.o[i]);
    EXPECT_EQ(errors.mismatched(), 0) << fattn::name(dtype);
    // A score of 1000 in f32 has an absolute error of 1e-4, which the exponential makes a relative one.
    EXPECT_LE(errors.relative(), dtype == DType::F32 ? 1e-4 : forwardTolerance(dtype)) << fattn::name(dtype);
  }
}

}  // namespace
}  // namespace fattn::numerics
