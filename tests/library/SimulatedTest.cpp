// SPDX-License-Identifier: Apache-2.0
// The calls on AMD's chips, simulated.
#include "tests/library/LibraryTest.h"

namespace fattn {

// Each chip, and each type on a CDNA chip and, but for products of f32, which RDNA's matrix instructions do not take, on an RDNA chip.
INSTANTIATE_TEST_SUITE_P(Simulated, LibraryTest,
                         testing::Values(LibraryCase("simulated:gfx942", DType::F32), LibraryCase("simulated:gfx942", DType::BF16),
                                         LibraryCase("simulated:gfx950", DType::F16), LibraryCase("simulated:gfx1100", DType::F16),
                                         LibraryCase("simulated:gfx1201", DType::BF16)),
                         libraryCaseName);

namespace {

class GatheredPrograms : public LibraryTest {};

// 5 x 3 programs on 8 dies.
TEST_P(GatheredPrograms, GemmAgreesWithFloat64) {
  constexpr std::int64_t kM = 150, kN = 90, kK = 64;
  examples::Matrix a(dtype(), kM, kK), b(dtype(), kK, kN), out(dtype(), kM, kN);
  a.fill(1), b.fill(2), out.fillZero();
  const std::string type(name(dtype()));
  const TemplateKernel kernel =
      compile(*findTemplate("gemm"), {{"dtype", type}, {"out", type}, {"alignment", std::int64_t{1}}},
              {.target = target(), .tile = TileConfig::parse("BLOCK_M=32,BLOCK_N=32,BLOCK_K=32,WARPS=4,SCHEDULE=dies")});
  kernel.launch({}, {kM, kN, kK}, {{"a", view(a)}, {"b", view(b)}, {"out", view(out)}});
  fetch();
  std::vector<double> want;
  for (std::int64_t i = 0; i < kM; ++i)
    for (std::int64_t j = 0; j < kN; ++j) {
      want.push_back(0);
      for (std::int64_t p = 0; p < kK; ++p) want.back() += a.at(i, p) * b.at(p, j);
    }
  EXPECT_LT(out.relativeError(want), tolerance());
}

INSTANTIATE_TEST_SUITE_P(Simulated, GatheredPrograms,
                         testing::Values(LibraryCase("simulated:gfx942", DType::BF16), LibraryCase("simulated:gfx950", DType::F16)),
                         libraryCaseName);

}  // namespace

}  // namespace fattn
