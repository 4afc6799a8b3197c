// SPDX-License-Identifier: Apache-2.0
// What the types of values say: is it a tile, and what do its elements become in a register?
#ifndef FATTN_COMPILER_CPU_BUILDER_TILETYPE_H
#define FATTN_COMPILER_CPU_BUILDER_TILETYPE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace fattn::cpu {

inline bool isTile(mlir::Value value) { return mlir::isa<mlir::RankedTensorType>(value.getType()); }
/// The type of a tile; null for other values.
inline mlir::RankedTensorType tileType(mlir::Value value) { return mlir::dyn_cast<mlir::RankedTensorType>(value.getType()); }
/// A vector of `width` elements, or the element itself where that is 1.
inline mlir::Type vectorOr(mlir::Type element, int64_t width) {
  return width == 1 ? element : mlir::Type(mlir::VectorType::get({width}, element));
}

}  // namespace fattn::cpu

#endif
