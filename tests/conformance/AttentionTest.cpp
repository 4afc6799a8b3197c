// SPDX-License-Identifier: Apache-2.0
// Attention's forward at one odd shape, against float64: the whole way from a configuration to a result.
#include "tests/conformance/Conformance.h"
#include "tests/numerics/ForwardCase.h"

namespace fattn::conformance {
namespace {

TEST_P(Conformance, AttentionAgreesWithFloat64) {
  const Kernel kernel = compile({.dtype = DType::F16, .head_dim = 64, .causal = true, .target = target()});
  numerics::ForwardWorst worst;
  const numerics::ForwardCase problem({1, 2, 1, 33, 77, 64, 64, true}, DType::F16, 1);
  problem.launch(device(), kernel, numerics::Placement::Gaps, worst);
  EXPECT_GT(worst.o, 0) << "the errors of f16 were measured";
  EXPECT_EQ(kernel.info().config.target, device().name());
}

// Launches that differ in addresses alone are made again as they were prepared, where a device does that.
TEST_P(Conformance, LaunchesOnOtherOperandsOfTheSameShapesReadAndWriteTheirOwn) {
  constexpr std::int64_t kRows = 40, kWidth = 64;
  constexpr std::size_t kSets = 3, kCount = kRows * kWidth;
  const Kernel kernel = compile({.dtype = DType::F16, .head_dim = kWidth, .target = target()});
  // All rows of v are the same number, and so is every weighted mean of them.
  const auto halves = [](std::size_t number) {
    return std::vector<std::uint16_t>(kCount, static_cast<std::uint16_t>(0x3c00 + 0x400 * number));
  };
  const Array<std::uint16_t> q(device(), halves(0)), k(device(), halves(0));
  std::vector<Array<std::uint16_t>> v, o;
  for (std::size_t i = 0; i < kSets; ++i) v.emplace_back(device(), halves(i)), o.emplace_back(device(), kCount);
  const auto view = [](const Array<std::uint16_t>& of) { return TensorView(of.data(), DType::F16, {1, 1, kRows, kWidth}); };
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < kSets; ++i) device().fill(o[i].data(), 0xff, kCount * sizeof(std::uint16_t));
    for (std::size_t i = 0; i < kSets; ++i) kernel.launch({}, {.q = view(q), .k = view(k), .v = view(v[i]), .o = view(o[i])});
    device().synchronize();
    for (std::size_t i = 0; i < kSets; ++i) EXPECT_EQ(o[i].read(), halves(i)) << "set " << i << " of round " << round;
  }
}

}  // namespace
}  // namespace fattn::conformance
