// SPDX-License-Identifier: Apache-2.0
// Packed sequences on the first NVIDIA GPU; skipped, with the reason, where there is none.
#include "tests/varlen/VarlenTest.h"

namespace fattn::varlen {

INSTANTIATE_TEST_SUITE_P(Cuda, PackedSequences,
                         testing::Values(DeviceCase("cuda", DType::F32), DeviceCase("cuda", DType::F16), DeviceCase("cuda", DType::BF16)),
                         deviceCaseName);

}  // namespace fattn::varlen
