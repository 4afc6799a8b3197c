// SPDX-License-Identifier: Apache-2.0
// Random well-typed tile programs, the same for the same seed everywhere, with the data they run on.
//
// A program loads windows of arrays of odd extents, takes them through elementwise chains, casts, broadcasts, reductions, dots,
// transpositions, joins, loops, branches, lazy selections and gathers, and stores some of the results; two arguments may be the same
// memory. It has one meaning: programs of the grid write apart, except for atomic additions. Two correct implementations may round
// differently, so the generator keeps, for each value, a bound of its magnitude and of the difference that rounding can have made
// (first-order error analysis, an operation's relative error at most kUlps units of its element type); comparisons and conversions to
// integers, where a small difference would become a great one, only take values that have no error. Each output array thus comes with the
// tolerance that separates rounding from a defect.
#ifndef FATTN_TESTS_GENERATOR_GENERATOR_H
#define FATTN_TESTS_GENERATOR_GENERATOR_H

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tests/generator/Choices.h"

namespace fattn::generator {

/// What an array holds before the program runs.
struct Fill {
  /// Zeros where there is none.
  std::optional<uint64_t> seed;
  /// Integers are in [low, high], floating-point numbers in [-2, 2].
  int64_t low = -8, high = 8;
  /// Floating-point numbers are multiples of a quarter: sums of their products are exact, in any order.
  bool coarse = false;
};

/// What a pointer argument points at.
struct Array {
  mlir::Type type;
  std::vector<char> bytes;
  /// How far two implementations may be apart in any element; 0 for integers and for what is only read.
  double tolerance = 0;
  /// The first element lies so many bytes behind an address that 256 divides; a multiple of the element's size below 256. Whoever runs the
  /// program has to place it there: the program may promise the alignment, and an unaligned array is to be tried unaligned.
  int64_t misalignment = 0;
  /// What `bytes` were made from.
  Fill fill = {};
};

/// An array of `count` elements.
Array makeArray(mlir::Type type, int64_t count, const Fill& fill);

enum class Alignment : uint8_t {
  Mixed,      ///< each array as it is drawn
  Aligned,    ///< every base and row at a multiple of 16 bytes, and the program promises it
  Unaligned,  ///< no base or row so, where the element type leaves a choice; no promises
};

struct Options {
  Alignment alignment = Alignment::Mixed;
};

/// On a pointer argument: the number of an earlier one that is the same memory. Its own array is then empty.
inline constexpr llvm::StringLiteral kSameAttr = "tile.same";

struct Program {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Name of the only function.
  std::string entry;
  /// A pointer or an i32 or i64 for each argument of the function.
  std::vector<std::variant<Array, int64_t>> arguments;
  std::array<int32_t, 3> grid = {1, 1, 1};
  /// Which of featureNames() the program has in code that its outputs depend on.
  std::set<std::string> features;
  /// What replay() makes the program again from, and its parts; empty for a program that was read from a text.
  std::vector<uint64_t> choices;
  std::vector<Span> spans;
};

/// The context must have the dialects of tile programs.
Program generate(mlir::MLIRContext& context, uint64_t seed, const Options& options = {});

/// The program that a stream of choices makes; any stream makes one. Changed choices may be read as others than they were recorded for.
Program replay(mlir::MLIRContext& context, std::vector<uint64_t> choices, const Options& options = {});

/// The earlier argument whose memory an argument is, too.
std::optional<size_t> sameAs(mlir::func::FuncOp function, size_t argument);
std::optional<size_t> sameAs(const Program& program, size_t argument);

/// The same program again, for those who change it.
Program clone(const Program& program);

/// What a program may have that is worth counting, such as "loop.carries-memory".
const std::vector<std::string>& featureNames();

/// The first element in which an array differs by more than its tolerance, as a sentence; empty where there is none.
std::string compare(const Array& expected, const Array& actual);

}  // namespace fattn::generator

#endif
