// SPDX-License-Identifier: Apache-2.0
// Bounds of integer tiles that are affine in loop variables: what is needed to see where a mask is known.
#ifndef FATTN_COMPILER_TRANSFORMS_AFFINETILES_H
#define FATTN_COMPILER_TRANSFORMS_AFFINETILES_H

#include <optional>

#include "mlir/IR/Value.h"

namespace fattn::transforms {

/// sum of coefficient * scalar + something between `low` and `high`: all elements of an integer tile (or a scalar) at once.
struct AffineBounds {
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 4> terms;
  int64_t low = 0, high = 0;

  void add(const AffineBounds& other, int64_t factor);
  int64_t coefficientOf(mlir::Value v) const;
};

/// Understands arange, splat, broadcasts and other shape operations, constants, sign extensions, +, - and multiplication by constants.
std::optional<AffineBounds> boundsOf(mlir::Value v);

}  // namespace fattn::transforms

#endif
