// SPDX-License-Identifier: Apache-2.0
// The backward pass on the first NVIDIA GPU; skipped, with the reason, where there is none.
#include "tests/backward/BackwardTest.h"
#include "tests/backward/PackedTest.h"

namespace fattn::backward {

INSTANTIATE_TEST_SUITE_P(Cuda, BackwardOnDevice,
                         testing::Combine(testing::Values("cuda"), testing::Values(DType::F32, DType::F16, DType::BF16)), backwardCaseName);

INSTANTIATE_TEST_SUITE_P(Cuda, PackedBackward,
                         testing::Combine(testing::Values("cuda"), testing::Values(DType::F32, DType::F16, DType::BF16)), backwardCaseName);

}  // namespace fattn::backward
