// SPDX-License-Identifier: Apache-2.0
// Dots that are in flight from one trip of a loop to the next (kRunsOnAttr).
#ifndef FATTN_COMPILER_GPU_PASSES_SHARED_RUNON_H
#define FATTN_COMPILER_GPU_PASSES_SHARED_RUNON_H

#include "compiler/gpu/dialect/TileGpu.h"

namespace fattn::tilegpu {

/// Whether the wait is for a dot that may run on when its trip ends: the loop carries its result as its accumulator and nothing else uses
/// it, no operand in registers is carried, no trip stores what it reads, and a trip waits for another dot before.
bool canRunOn(DotWaitOp wait);

/// Carries the dot's result in flight. It is waited for behind the first wait for a dot of the next trip, which covers it, and what it read
/// of shared memory is released there. Returns the wait behind the loop, for the last trip's.
DotWaitOp runOn(DotWaitOp wait);

}  // namespace fattn::tilegpu

#endif
