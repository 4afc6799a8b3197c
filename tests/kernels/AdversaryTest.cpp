// SPDX-License-Identifier: Apache-2.0
// The kernels compiled for GPUs have no faults in any order of warps and copies, and compute what they should in each.
#include "tests/kernels/KernelsTest.h"

namespace fattn::examples {

INSTANTIATE_TEST_SUITE_P(UnderAdversary, Kernels,
                         testing::Combine(testing::Values(Backend::Adversary), testing::Values(DType::F32, DType::F16, DType::BF16)),
                         nameOf);

}  // namespace fattn::examples
