// SPDX-License-Identifier: Apache-2.0
// How a tile lies in the buffer that it is copied to, and what that costs a warp: slots of issue and of the banks.
#ifndef FATTN_COMPILER_GPU_PASSES_COPIES_BUFFERLAYOUT_H
#define FATTN_COMPILER_GPU_PASSES_COPIES_BUFFERLAYOUT_H

#include "compiler/gpu/Target.h"
#include "compiler/layout/Shared.h"
#include "llvm/ADT/ArrayRef.h"

namespace fattn::tilegpu {

/// Layouts for a buffer that threads read in these ways.
std::vector<layout::SharedLayout> candidateLayouts(llvm::ArrayRef<layout::LinearLayout> reads, const layout::LinearLayout& write, int bits,
                                                   const layout::Banks& banks, int inOrder);

/// A layout of a buffer, and the slots that a warp takes for all accesses to it.
struct PricedLayout {
  layout::LinearLayout layout;
  int64_t slots = 0;
};

/// The layout of the buffer: of all candidates that keep the elements in order that the writer moves at once, the one with the fewest
/// instructions and passes of the banks for everybody. The writer's are those of `write`, or `writes` in any layout where that is given.
std::optional<PricedLayout> chooseLayout(llvm::ArrayRef<layout::SharedLayout> candidates, llvm::ArrayRef<layout::LinearLayout> reads,
                                         const layout::LinearLayout& write, int bits, const layout::Banks& banks, int inOrder,
                                         std::optional<int64_t> writes = {});

/// A copy by an engine that puts a warp's lanes' vectors next to each other in shared memory.
struct DirectCopy {
  layout::LinearLayout write, home;
  int64_t slots = 0;  ///< as above, and those that the engine takes for each tile
};
/// The best of these with vectors of so many bytes, as `vectors` has them; nothing where the block's warps do not divide the tile.
std::optional<DirectCopy> chooseDirectCopy(llvm::ArrayRef<layout::LinearLayout> reads, const layout::LinearLayout& vectors, int bits,
                                           int64_t bytes, int64_t warps, const gpu::Target& target);

}  // namespace fattn::tilegpu

#endif
