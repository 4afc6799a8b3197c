// SPDX-License-Identifier: Apache-2.0
// The backward pass on AMD's chips, simulated.
#include "tests/backward/BackwardTest.h"

namespace fattn::backward {
namespace {

class Simulated : public BackwardOnDevice {};

// A few shapes: the simulator takes thousands of cycles of the CPU for one of a chip.
TEST_P(Simulated, BackwardAgreesWithFloat64) {
  expectRight({.headsQ = 4, .headsKv = 2, .queries = 40, .keys = 50, .dim = 32, .dimV = 32, .causal = true, .hasDlse = true});
  expectRight({.headsQ = 1, .headsKv = 1, .queries = 50, .keys = 33, .dim = 64, .dimV = 24});
}

INSTANTIATE_TEST_SUITE_P(Amd, Simulated,
                         testing::Values(BackwardCase("simulated:gfx942", DType::F32), BackwardCase("simulated:gfx950", DType::BF16),
                                         BackwardCase("simulated:gfx1100", DType::F16), BackwardCase("simulated:gfx1201", DType::BF16)),
                         backwardCaseName);

}  // namespace
}  // namespace fattn::backward
