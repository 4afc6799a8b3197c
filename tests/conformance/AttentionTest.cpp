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

}  // namespace
}  // namespace fattn::conformance
