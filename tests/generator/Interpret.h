// SPDX-License-Identifier: Apache-2.0
// Random programs in the interpreter.
#ifndef FATTN_TESTS_GENERATOR_INTERPRET_H
#define FATTN_TESTS_GENERATOR_INTERPRET_H

#include "compiler/interpreter/Interpreter.h"
#include "tests/generator/Generator.h"

namespace fattn::generator {

/// Runs the program; its arrays then hold what it wrote. Throws Error where the program is at fault.
void interpret(Program& program, const interpreter::Options& options = {});

}  // namespace fattn::generator

#endif
