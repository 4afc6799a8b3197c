// SPDX-License-Identifier: Apache-2.0
// Layouts of what one warp group has.
#ifndef FATTN_COMPILER_GPU_PASSES_ROLES_GROUPLAYOUTS_H
#define FATTN_COMPILER_GPU_PASSES_ROLES_GROUPLAYOUTS_H

#include "compiler/gpu/dialect/TileGpu.h"

namespace fattn::tilegpu {

/// What all groups hold together, in one group of so many warps: each of its threads has the registers of its counterparts in the others,
/// in the order of the groups.
layout::LinearLayout inOneGroup(const layout::LinearLayout& layout, int64_t groupWarps);

/// A tile of each of so many groups, one below the other; `own` is what a group has of its own.
layout::LinearLayout onePerGroup(const layout::LinearLayout& own, int64_t groups);

}  // namespace fattn::tilegpu

#endif
