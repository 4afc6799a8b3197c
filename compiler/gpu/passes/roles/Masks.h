// SPDX-License-Identifier: Apache-2.0
// What a mask of a loop's trip compares: the numbers of a range beside one that rises with the trips, with a bound.
#ifndef FATTN_COMPILER_GPU_PASSES_ROLES_MASKS_H
#define FATTN_COMPILER_GPU_PASSES_ROLES_MASKS_H

#include "compiler/gpu/dialect/TileGpu.h"

namespace fattn::tilegpu {

/// n + c < bound, or n + c <= bound where it is not strict, as signed numbers, for the numbers c of a range from `least` to `greatest`,
/// which are not negative.
struct MaskComparison {
  mlir::Value n;  ///< null: 0
  std::int64_t least = 0, greatest = 0;
  bool strict = false;
  mlir::Value number, tile;  ///< the bound: one of the two
};

/// The scalar that all elements of a tile are; else null.
mlir::Value scalarOf(mlir::Value tile);
/// The comparisons whose conjunction a mask is; nothing where it is something else, or another kind of comparison is among them.
std::optional<mlir::SmallVector<MaskComparison>> comparisonsOf(mlir::Value mask);

}  // namespace fattn::tilegpu

#endif
