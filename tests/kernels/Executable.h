// SPDX-License-Identifier: Apache-2.0
// A traced program, ready to run on matrices in host memory: through the interpreter, or compiled for the host.
#ifndef FATTN_TESTS_KERNELS_EXECUTABLE_H
#define FATTN_TESTS_KERNELS_EXECUTABLE_H

#include <array>
#include <memory>
#include <ostream>
#include <variant>
#include <vector>

#include "fattn/dsl/Dsl.h"
#include "tests/kernels/Matrix.h"

namespace fattn::examples {

enum class Backend : std::uint8_t { Interpreter, Host };
inline void PrintTo(Backend backend, std::ostream* stream) { *stream << (backend == Backend::Host ? "host" : "interpreter"); }

using Argument = std::variant<Matrix*, std::int64_t, double>;
using Extents = std::array<std::int32_t, 3>;

class Executable {
 public:
  virtual ~Executable() = default;
  /// Runs a grid with one argument for each parameter; a matrix goes where a pointer is wanted.
  virtual void run(Extents grid, const std::vector<Argument>& arguments) = 0;
};

std::unique_ptr<Executable> load(dsl::Program program, Backend backend);

}  // namespace fattn::examples

#endif
