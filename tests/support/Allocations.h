// SPDX-License-Identifier: Apache-2.0
// Counts the allocations of a program that is linked with Allocations.cpp, so that a test can see that a function makes none.
#ifndef FATTN_TESTS_SUPPORT_ALLOCATIONS_H
#define FATTN_TESTS_SUPPORT_ALLOCATIONS_H

namespace fattn::test {

/// Calls of operator new by this thread so far.
long allocations();

}  // namespace fattn::test

#endif
