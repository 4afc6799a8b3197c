// SPDX-License-Identifier: Apache-2.0
// Whether warp groups compute products of their own (the word `pairs`), where nobody says so.
#ifndef FATTN_COMPILER_GPU_PIPELINE_CHOOSEPAIRS_H
#define FATTN_COMPILER_GPU_PIPELINE_CHOOSEPAIRS_H

#include <functional>
#include <memory>
#include <string>

#include "compiler/gpu/schedule/ScheduledLoop.h"
#include "mlir/Pass/PassManager.h"

namespace fattn::gpu {

/// Appends the passes from -tilegpu-assign-layouts to -tilegpu-schedule-loops, with pairs or without.
using BuildUpToSchedules = std::function<void(mlir::OpPassManager&, bool pairs, ScheduledLoopSink)>;

/// -tilegpu-choose-pairs: each function with products that groups could share out is scheduled twice, with pairs and without, and gets the
/// attribute `tilegpu.pairs` where the search's best order with them takes fewer cycles.
std::unique_ptr<mlir::Pass> createChoosePairsPass(std::string target, int64_t warps, BuildUpToSchedules build);

}  // namespace fattn::gpu

#endif
