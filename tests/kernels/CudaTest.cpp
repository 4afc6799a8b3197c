// SPDX-License-Identifier: Apache-2.0
// The kernels compiled for a GPU; skipped, saying why, where there is none.
#include "tests/kernels/KernelsTest.h"

namespace fattn::examples {

INSTANTIATE_TEST_SUITE_P(All, Kernels,
                         testing::Combine(testing::Values(Backend::Cuda), testing::Values(DType::F32, DType::F16, DType::BF16)), nameOf);

}  // namespace fattn::examples
