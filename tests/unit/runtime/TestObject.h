// SPDX-License-Identifier: Apache-2.0
// Object files for the host made from LLVM IR written in a test.
#ifndef FATTN_TESTS_UNIT_RUNTIME_TESTOBJECT_H
#define FATTN_TESTS_UNIT_RUNTIME_TESTOBJECT_H

#include "runtime/base/Binary.h"

namespace fattn::test {

/// A binary for the host: `ir` defines void @kernel(ptr %args, ptr %grid, ptr %scratch) and takes `slots` arguments.
compiler::Binary hostBinary(const char* ir, int slots, std::int64_t scratchBytes = 0);

/// Adds 1 to element linear-program-id of the i32 array in slot 0.
compiler::Binary countingBinary();

}  // namespace fattn::test

#endif
