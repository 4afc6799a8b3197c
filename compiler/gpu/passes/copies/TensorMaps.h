// SPDX-License-Identifier: Apache-2.0
// Which windows of global memory a copy engine can move as boxes of a tensor map.
//
// A tensor map describes an array to the engine: where it begins, its sizes and strides, and the box that a copy moves. A launch makes it
// from its arguments, before any program runs. So all of it has to follow from arguments: where a program computes a base from its number,
// as in base + batch * stride, each such product becomes a dimension of the array, along which the program gives the coordinate.
#ifndef FATTN_COMPILER_GPU_PASSES_COPIES_TENSORMAPS_H
#define FATTN_COMPILER_GPU_PASSES_COPIES_TENSORMAPS_H

#include <optional>

#include "compiler/dialect/Tile.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace fattn::tilegpu {

struct BulkWindow {
  mlir::DictionaryAttr map;  ///< as `tilegpu.tensor_maps` has them
  llvm::SmallVector<mlir::Value>
      coordinates;                         ///< i32, along the dimensions beyond the window's two; they dominate the block pointer's uses
  llvm::SmallVector<int64_t> nonNegative;  ///< arguments that must not be negative
};

/// Of a load of a two-dimensional tile whose last dimension is contiguous. `width`: bytes of a row of the box; `swizzle`: the same, or 0
/// where the engine lays rows as they are. Nothing where the engine cannot do exactly what the load says.
std::optional<BulkWindow> bulkWindow(tile::LoadOp load, int64_t width, int64_t swizzle);
/// Of such a tile.store or tile.accumulate, by boxes of so many rows. Nothing either where the program writes the same memory elsewhere, or
/// reads it behind, but for additions, which have no order.
std::optional<BulkWindow> bulkWindow(mlir::Operation* write, int64_t width, int64_t rows);

/// The most rows of a box for a tile with so many: boxes divide it, and lie evenly in the buffer (layout::swizzled).
int64_t mostRowsOfBox(int64_t rows);

/// The number of the map in the function's list, to which it is added if it is not there.
int64_t addTensorMap(mlir::Operation* function, const BulkWindow& window);

}  // namespace fattn::tilegpu

#endif
