// SPDX-License-Identifier: Apache-2.0
// Executes a function of the `tile` dialect directly: the executable semantics every back end is compared with.
//
// Values are held in float64 (integers in 64 bits); each operation's result is rounded to nearest even in its element type, integers wrap
// at their width. A dot or cumsum sums in float64 and rounds once. Programs of a grid run one after the other, x fastest. Everything that
// the reference calls undefined and that can be seen here (an access outside a buffer, a window outside its array in an unchecked
// dimension, a broken promise of assume_divisible, division by zero) is an fattn::Error that begins with the operation's location.
//
//   float x[8] = {...}, y[8];
//   interpreter::run(function, {interpreter::Buffer{x, sizeof x}, interpreter::Buffer{y, sizeof y}, int64_t{8}}, {2, 1, 1});
#ifndef FATTN_COMPILER_INTERPRETER_INTERPRETER_H
#define FATTN_COMPILER_INTERPRETER_INTERPRETER_H

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "fattn/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fattn::interpreter {

/// Memory a pointer argument points at. Only these bytes may be accessed through it.
struct Buffer {
  void* data = nullptr;
  int64_t bytes = 0;
};

/// A pointer, an integer (i1, i8, ... index) or a floating-point number, as the function's argument type asks.
using Argument = std::variant<Buffer, int64_t, double>;

/// Extents of the grid, or a place in it: x, y, z.
using Grid = std::array<int32_t, 3>;

struct Options {
  /// select_lazy takes the exact side in all rows: a kernel that keeps its promise gives the same answers.
  bool takeExactEverywhere = false;
  /// How many elements may be computed in one run before it is given up, for programs that may not end.
  int64_t maxSteps = INT64_MAX;
  /// Receives each line of tile.device_print, without the newline; stdout where it is empty.
  std::function<void(const std::string& line)> print;
};

/// Runs one program. Throws fattn::Error: InvalidArgument for arguments that do not fit the function and for undefined behaviour,
/// Unsupported for an operation the interpreter does not know and for a run that exceeds maxSteps.
void runProgram(mlir::func::FuncOp function, const std::vector<Argument>& arguments, Grid id, Grid grid, const Options& options = {});

/// Runs every program of the grid.
void run(mlir::func::FuncOp function, const std::vector<Argument>& arguments, Grid grid, const Options& options = {});

}  // namespace fattn::interpreter

#endif
