// SPDX-License-Identifier: Apache-2.0
// Bounds of integer tiles that are affine in loop variables: what is needed to see where a mask is known.
#ifndef FATTN_COMPILER_TRANSFORMS_AFFINETILES_H
#define FATTN_COMPILER_TRANSFORMS_AFFINETILES_H

#include <optional>

#include "mlir/IR/Value.h"

namespace fattn::transforms {

/// sum of coefficient * scalar + something between `low` and `high`: all elements of an integer tile (or a scalar) at once, in integers
/// that do not wrap around.
struct AffineBounds {
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 4> terms;
  int64_t low = 0, high = 0;

  /// Adds `factor` times the other. False where a number would leave kLimit: the sum is then void.
  [[nodiscard]] bool add(const AffineBounds& other, int64_t factor);
  int64_t coefficientOf(mlir::Value v) const;
  /// Whether no sum over the terms leaves kLimit: scalars of at most 32 bits have any value, wider ones at most kMostScalar.
  bool fits() const;

  /// Of every coefficient, bound and sum, so that 64-bit integers hold all of them.
  static constexpr int64_t kLimit = int64_t{1} << 62;
  /// The magnitude that wider scalars are taken to have. Who relies on it has to ask for it at run time.
  static constexpr int64_t kMostScalar = int64_t{1} << 48;
};

/// What an operation that may wrap around computes on the way to a value, and the number of bits it has for it.
struct IntegerResult {
  AffineBounds bounds;
  unsigned bits;

  /// The magnitude of scalars up to which the result lies within its bits; negative where it may not with any.
  int64_t mostScalar() const;
};

/// What holds for all elements of a tile while `slack` >= 0 (its bounds from below), if each of `computed` lies within its bits.
struct AffineCondition {
  AffineBounds slack;
  llvm::SmallVector<IntegerResult, 0> computed;  ///< on the way to the slack
};

/// Understands arange, splat, broadcasts and other shape operations, constants, sign extensions, +, - and multiplication by constants.
/// The bounds hold if each of the `results`, which the call appends to, lies within its bits.
std::optional<AffineBounds> boundsOf(mlir::Value v, llvm::SmallVectorImpl<IntegerResult>& results);

}  // namespace fattn::transforms

#endif
