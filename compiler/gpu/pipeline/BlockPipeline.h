// SPDX-License-Identifier: Apache-2.0
// The passes on tiles, in order; they are every GPU's.
#ifndef FATTN_COMPILER_GPU_PIPELINE_BLOCKPIPELINE_H
#define FATTN_COMPILER_GPU_PIPELINE_BLOCKPIPELINE_H

#include <memory>
#include <string>

#include "compiler/gpu/Target.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/schedule/ScheduledLoop.h"
#include "mlir/Pass/PassManager.h"

namespace fattn::check {
struct OrderRecord;
}

namespace fattn::gpu {

/// One point of what can be chosen.
struct PipelineOptions {
  std::string target = std::string(defaultTarget());
  int64_t warps = tilegpu::AssignLayoutsPassOptions().warps;
  int64_t stages = tilegpu::ScheduleLoopsPassOptions().stages;
  int64_t schedule = tilegpu::ScheduleLoopsPassOptions().schedule;  ///< which of the search's best
  std::string forced;             ///< "S PV1 E L": this order instead, with what its words ask for (schedule/OrderWords.h)
  ScheduledLoopSink onLoop = {};  ///< if set: is handed every loop as its schedule is chosen
  bool verify = false;            ///< layouts are verified again after the passes that rebuild much
  bool checkOrder = false;        ///< it is proven that scheduling, waits and barriers keep the program (gpu/check/CheckOrder.h)
  bool boxes = true;              ///< engines may copy whole boxes
  bool roles = true;              ///< where copies may be made by warps of their own, they are
  bool marks = false;             ///< warp groups note what they do and when, for debugging
  int64_t watchdog = 0;           ///< milliseconds that a wait on a barrier object may last, for debugging; 0 = for ever
  bool repeat = false;            ///< with roles, a block takes one program after another
  bool dynamic = false;           ///< these are handed out while the kernel runs
  bool cluster = false;           ///< with roles, and one program a block: two neighbouring blocks share the copies that they make alike
  /// If set: gets the program before scheduling, for check::checkOrder; accesses keep their labels unless checkOrder is set as well.
  std::shared_ptr<check::OrderRecord> order = {};
};

/// Appends the passes from `tile` to `tilegpu` with waits, barriers and places in shared memory: the program of a block, on tiles.
void buildBlockPipeline(mlir::OpPassManager& pm, const PipelineOptions& options);

}  // namespace fattn::gpu

#endif
