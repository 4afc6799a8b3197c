// SPDX-License-Identifier: Apache-2.0
// The calls on a GPU; skipped, saying why, where there is none.
#include "tests/library/LibraryTest.h"

namespace fattn {

INSTANTIATE_TEST_SUITE_P(Cuda, LibraryTest, testing::Combine(testing::Values("cuda"), testing::Values(DType::F32, DType::F16, DType::BF16)),
                         libraryCaseName);

}  // namespace fattn
