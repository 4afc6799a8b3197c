// SPDX-License-Identifier: Apache-2.0
// The first NVIDIA GPU; skipped, saying why, where there is none.
#include "tests/conformance/Conformance.h"

namespace fattn::conformance {

INSTANTIATE_TEST_SUITE_P(Cuda, Conformance, testing::Values("cuda"), caseName);

}  // namespace fattn::conformance
