// SPDX-License-Identifier: Apache-2.0
// Random well-typed tile programs, the same for the same seed everywhere, with the data they run on.
//
// A program loads windows of arrays of odd extents, takes them through elementwise chains, casts, broadcasts, reductions, dots,
// transpositions, joins, loops, branches, lazy selections and gathers, and stores some of the results. Two correct implementations may
// round differently, so the generator keeps, for each value, a bound of its magnitude and of the difference that rounding can have made
// (first-order error analysis, an operation's relative error at most kUlps units of its element type); comparisons and conversions to
// integers, where a small difference would become a great one, only take values that have no error. Each output array thus comes with the
// tolerance that separates rounding from a defect.
#ifndef FATTN_TESTS_GENERATOR_GENERATOR_H
#define FATTN_TESTS_GENERATOR_GENERATOR_H

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace fattn::generator {

/// What a pointer argument points at.
struct Array {
  mlir::Type type;
  std::vector<char> bytes;
  /// How far two implementations may be apart in any element; 0 for integers and for what is only read.
  double tolerance = 0;
};

struct Program {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Name of the only function.
  std::string entry;
  /// A pointer or an i32 or i64 for each argument of the function.
  std::vector<std::variant<Array, int64_t>> arguments;
  std::array<int32_t, 3> grid = {1, 1, 1};
};

/// The context must have the dialects of tile programs.
Program generate(mlir::MLIRContext& context, uint64_t seed);

/// The first element in which an array differs by more than its tolerance, as a sentence; empty where there is none.
std::string compare(const Array& expected, const Array& actual);

}  // namespace fattn::generator

#endif
