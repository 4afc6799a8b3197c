// SPDX-License-Identifier: Apache-2.0
// A traced program, ready to run on matrices in host memory: through the interpreter, or compiled for a device.
#ifndef FATTN_TESTS_KERNELS_EXECUTABLE_H
#define FATTN_TESTS_KERNELS_EXECUTABLE_H

#include <array>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "fattn/Device.h"
#include "fattn/TileConfig.h"
#include "fattn/dsl/Dsl.h"
#include "tests/kernels/Matrix.h"

namespace fattn::examples {

enum class Backend : std::uint8_t {
  Interpreter,
  Host,
  Cuda,
  Adversary,  ///< compiled for NVIDIA chips, and what comes out executed with the worst orders of warps and copies; needs no GPU
};
/// "interpreter", "host", "cuda", "adversary".
std::string_view name(Backend backend);
inline void PrintTo(Backend backend, std::ostream* stream) { *stream << name(backend); }

/// Why this machine has no such back end; "" where it has.
std::string missing(Backend backend);

/// A matrix stands for three arguments: its pointer, its row stride and its column stride.
using Argument = std::variant<Matrix*, std::int64_t, double>;
using Extents = std::array<std::int32_t, 3>;

class Executable {
 public:
  virtual ~Executable() = default;
  /// Runs a grid.
  virtual void run(Extents grid, const std::vector<Argument>& arguments) = 0;
};

/// `config` and `schedule` (CompileOptions has both) are for compiled programs. Throws what compile() throws; what the adversary makes
/// throws Error where it runs and has faults.
std::unique_ptr<Executable> load(dsl::Program program, Backend backend, const TileConfig& config = {}, int schedule = 0);
/// The same for any device.
std::unique_ptr<Executable> load(const dsl::Program& program, Device& device, const TileConfig& config = {}, int schedule = 0);

}  // namespace fattn::examples

#endif
