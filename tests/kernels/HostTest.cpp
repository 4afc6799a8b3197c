// SPDX-License-Identifier: Apache-2.0
// The kernels through the interpreter and compiled for the host.
#include "tests/kernels/KernelsTest.h"

namespace fattn::examples {

INSTANTIATE_TEST_SUITE_P(All, Kernels,
                         testing::Combine(testing::Values(Backend::Interpreter, Backend::Host),
                                          testing::Values(DType::F32, DType::F16, DType::BF16)),
                         nameOf);

}  // namespace fattn::examples
