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

}  // namespace fattn
