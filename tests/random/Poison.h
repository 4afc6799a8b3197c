// SPDX-License-Identifier: Apache-2.0
// Marks what a program has to write.
#ifndef FATTN_TESTS_RANDOM_POISON_H
#define FATTN_TESTS_RANDOM_POISON_H

#include "tests/generator/Generator.h"

namespace fattn::random {

/// Fills the arrays that the program only stores to with bytes that are no result: an element that should have been written and was not
/// then differs, and so does one that should not have been.
void poisonOutputs(generator::Program& program);

}  // namespace fattn::random

#endif
