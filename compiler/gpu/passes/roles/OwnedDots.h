// SPDX-License-Identifier: Apache-2.0
// Results that are only added to memory, which one warp group can own.
#ifndef FATTN_COMPILER_GPU_PASSES_ROLES_OWNEDDOTS_H
#define FATTN_COMPILER_GPU_PASSES_ROLES_OWNEDDOTS_H

#include <optional>

#include "compiler/dialect/Tile.h"
#include "compiler/gpu/dialect/TileGpu.h"

namespace fattn::tilegpu {

/// From a tile to its addition to memory.
struct AddedTile {
  /// Waits, conversions, other orders of the elements, and arithmetic with numbers, one behind the other; none has another use.
  llvm::SmallVector<mlir::Operation*, 4> chain;
  tile::AccumulateOp add;
};

/// Nothing where the tile has another use, or arithmetic takes other tiles than ones of a single number. All stands in one block.
std::optional<AddedTile> onlyAdded(mlir::Value tile);

/// Whether a dot may have one warp group as its owner: it stands in an innermost loop, starts from zeros, multiplies what the loop
/// computes, and its result is only added to memory.
bool mayHaveOwner(tile::DotOp dot);

}  // namespace fattn::tilegpu

#endif
