// SPDX-License-Identifier: Apache-2.0
// The grid of Triton's fused-attention tutorial (python/tutorials/06-fused-attention.py, test_op): f16, normal(0, 0.5) inputs, scale 0.5,
// every element within 1e-2, on a GPU. Rows are compared with float64 in a sample; all bytes of the output are poisoned and have to
// be written.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "fattn/fattn.h"
#include "tests/numerics/OnDevice.h"
#include "tools/io/Convert.h"
#include "tools/io/Random.h"
#include "tools/io/Reference.h"

namespace fattn::numerics {
namespace {

constexpr double kTolerance = 1e-2;
constexpr float kScale = 0.5f, kDeviation = 0.5f;

io::HostTensor draw(const std::vector<std::int64_t>& shape, std::uint64_t stream) {
  io::HostTensor wide = io::HostTensor::allocate(DType::F32, shape), t = io::HostTensor::allocate(DType::F16, shape);
  io::fillNormal(wide, 2026, stream, 0);
  const std::size_t elements = static_cast<std::size_t>(wide.bytes()) / sizeof(float);
  auto* values = reinterpret_cast<float*>(wide.data());
  for (std::size_t i = 0; i < elements; ++i) values[i] *= kDeviation;
  io::fromFloat(DType::F16, values, t.data(), elements);
  return t;
}

using TutorialCell = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool>;

std::string tutorialCellName(const TutorialCell& cell) {
  const auto& [z, h, n, d, causal] = cell;
  return fmt::format("Z{}_H{}_N{}_D{}_{}", z, h, n, d, causal ? "causal" : "full");
}

class TutorialGrid : public testing::TestWithParam<TutorialCell> {
 protected:
  void SetUp() override {
    if (testedTarget() == "host") GTEST_SKIP() << "the tutorial is a GPU's: set FATTN_NUMERICS_TARGET=cuda";
    if (std::string why = missingDevice(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(TutorialGrid, IsWithinItsTolerance) {
  const auto& [z, h, n, d, causal] = GetParam();
  const std::vector<std::int64_t> dims = {z, h, n, d};
  const io::HostTensor q = draw(dims, 1), k = draw(dims, 2), v = draw(dims, 3);
  StridedTensor sq(DType::F16, dims, Placement::Bhsd), sk(DType::F16, dims, Placement::Bhsd), sv(DType::F16, dims, Placement::Bhsd);
  StridedTensor o(DType::F16, dims, Placement::Bhsd);
  sq.fill(q);
  sk.fill(k);
  sv.fill(v);
  const Kernel kernel = compile({.dtype = DType::F16, .head_dim = d, .causal = causal, .target = testedTarget()});
  Device& device = openDevice(testedTarget());
  OnDevice dq(device, sq), dk(device, sk), dv(device, sv), dO(device, o);
  kernel.launch({}, {.q = dq.view(), .k = dk.view(), .v = dv.view(), .o = dO.view(), .scale = kScale});
  dO.fetch();

  const io::AttentionShape shape{z, h, h, n, n, d, d, causal};
  const std::vector<std::int64_t> rows = io::chooseRows(shape, 0);
  const io::Reference want =
      io::attentionReference(shape, kScale, q.view(io::Layout::BHSD), k.view(io::Layout::BHSD), v.view(io::Layout::BHSD), rows);
  double worst = 0;
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t c = 0; c < d; ++c) {
      const double error = std::abs(o.at(rows[r] * d + c) - want.o[r * static_cast<std::size_t>(d) + static_cast<std::size_t>(c)]);
      ASSERT_LE(error, kTolerance) << "row " << rows[r] << ", column " << c;
      worst = std::max(worst, error);
    }
  std::int64_t unwritten = 0;
  for (std::int64_t i = 0; i < z * h * n * d; ++i) unwritten += std::isfinite(o.at(i)) ? 0 : 1;
  EXPECT_EQ(unwritten, 0) << "elements of O that were not written, or are not finite";
  EXPECT_EQ(o.touchedGapBytes(), 0);
  fmt::print("| {} | {} | {} | {} | {} | {:.1e} | {} |\n", z, h, n, d, causal ? "causal" : "none", worst, rows.size());
}

INSTANTIATE_TEST_SUITE_P(Grid, TutorialGrid,
                         testing::Combine(testing::Values(1, 4), testing::Values(2, 48), testing::Values(128, 1024, 4096),
                                          testing::Values(64, 128), testing::Bool()),
                         [](const testing::TestParamInfo<TutorialCell>& info) { return tutorialCellName(info.param); });

}  // namespace
}  // namespace fattn::numerics
