// SPDX-License-Identifier: Apache-2.0
// Who decides whether the exact side of a tile.select_lazy runs: each warp, or the block.
//
// Where the condition does not hold either side is right, but a row's results have to come from one side. So a warp may decide alone if its
// rows are those whose conditions it holds, or if warps that share a row share all of their conditions, and if nothing in the region needs
// the other warps: no barrier, no shared memory written, no dot of several warps, no select_lazy that the block decides. Otherwise the
// block decides.
#ifndef FATTN_COMPILER_GPU_DIALECT_WARPDECISIONS_H
#define FATTN_COMPILER_GPU_DIALECT_WARPDECISIONS_H

#include "compiler/gpu/dialect/TileGpu.h"

namespace fattn::tilegpu {

/// Whether each warp decides by itself; else the warps of the block vote. The condition is a tile with a layout.
bool decidesWithinWarp(tile::SelectLazyOp op);

}  // namespace fattn::tilegpu

#endif
