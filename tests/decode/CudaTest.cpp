// SPDX-License-Identifier: Apache-2.0
// Decode on the first NVIDIA GPU; skipped, with the reason, where there is none.
#include "tests/decode/DecodeTest.h"

namespace fattn::decode {

INSTANTIATE_TEST_SUITE_P(Cuda, OnDevice, testing::Combine(testing::Values("cuda"), testing::Values(DType::F32, DType::F16, DType::BF16)),
                         deviceCaseName);

}  // namespace fattn::decode
