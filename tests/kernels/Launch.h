// SPDX-License-Identifier: Apache-2.0
// Runs a traced program on matrices in host memory: through the interpreter.
#ifndef FATTN_TESTS_KERNELS_LAUNCH_H
#define FATTN_TESTS_KERNELS_LAUNCH_H

#include <array>
#include <variant>
#include <vector>

#include "fattn/dsl/Dsl.h"
#include "tests/kernels/Matrix.h"

namespace fattn::examples {

enum class Backend : std::uint8_t { Interpreter };

using Argument = std::variant<Matrix*, std::int64_t, double>;

/// Runs a grid of `program` with one argument for each of its parameters; a matrix goes where a pointer is wanted.
void launch(const dsl::Program& program, Backend backend, std::array<std::int32_t, 3> grid, const std::vector<Argument>& arguments);

}  // namespace fattn::examples

#endif
