// SPDX-License-Identifier: Apache-2.0
// Passes on the `tilegpu` dialect, the same for every GPU. Passes.td declares them with their options and defaults; of each there is here a
// function create...(), a struct of options, and its registration, registerPasses() for all. Each says in its file how it works.
#ifndef FATTN_COMPILER_GPU_PASSES_PASSES_H
#define FATTN_COMPILER_GPU_PASSES_PASSES_H

#include <memory>
#include <string>

#include "compiler/gpu/Target.h"
#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/gpu/schedule/ScheduledLoop.h"
#include "mlir/Pass/PassManager.h"

namespace fattn::tilegpu {

#define GEN_PASS_DECL
#include "compiler/gpu/passes/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/gpu/passes/Passes.h.inc"

/// `onLoop` is handed every loop that is looked at, as its schedule is chosen.
std::unique_ptr<mlir::Pass> createScheduleLoopsPass(ScheduleLoopsPassOptions options, gpu::ScheduledLoopSink onLoop);

}  // namespace fattn::tilegpu

#endif
