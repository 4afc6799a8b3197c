// SPDX-License-Identifier: Apache-2.0
// Decode on AMD's chips, simulated.
#include "tests/decode/DecodeTest.h"

namespace fattn::decode {

// Each chip, and each type on a CDNA chip and, but for products of f32, which RDNA's matrix instructions do not take, on an RDNA chip.
INSTANTIATE_TEST_SUITE_P(Simulated, OnDevice,
                         testing::Values(DeviceCase("simulated:gfx942", DType::F32), DeviceCase("simulated:gfx942", DType::BF16),
                                         DeviceCase("simulated:gfx950", DType::F16), DeviceCase("simulated:gfx1100", DType::F16),
                                         DeviceCase("simulated:gfx1201", DType::BF16)),
                         deviceCaseName);

}  // namespace fattn::decode
