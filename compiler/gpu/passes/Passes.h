// SPDX-License-Identifier: Apache-2.0
// Passes on the `tilegpu` dialect, the same for every GPU, in the order in which a pipeline runs them. Each says in its file what it does.
#ifndef FATTN_COMPILER_GPU_PASSES_PASSES_H
#define FATTN_COMPILER_GPU_PASSES_PASSES_H

#include <memory>
#include <string>

#include "compiler/gpu/schedule/ScheduledLoop.h"
#include "mlir/Pass/PassManager.h"

namespace fattn::tilegpu {

struct AssignLayoutsOptions {
  std::string target;
  int64_t warps = 4;
};
struct ScheduleLoopsOptions {
  int64_t stages = 2;
  int64_t schedule = 0;                ///< which of the search's best
  std::string forced;                  ///< "A B1 a": this one instead
  gpu::ScheduledLoopSink onLoop = {};  ///< if set: is handed every loop that is looked at, as its schedule is chosen
  std::string waits = "together";      ///< for a trip's copies that are ahead; "apart": each where its data is read
};

std::unique_ptr<mlir::Pass> createPadTilesPass(const std::string& target);
std::unique_ptr<mlir::Pass> createWidenDotsPass(const std::string& target);
std::unique_ptr<mlir::Pass> createAssignLayoutsPass(const AssignLayoutsOptions& options);
std::unique_ptr<mlir::Pass> createRemoveConversionsPass();
/// Changes nothing: fails where a layout does not follow from its neighbours'; see VerifyLayouts.cpp.
std::unique_ptr<mlir::Pass> createVerifyLayoutsPass();
std::unique_ptr<mlir::Pass> createDeferReductionsPass();
std::unique_ptr<mlir::Pass> createPlaceCopiesPass(bool boxes = true);
std::unique_ptr<mlir::Pass> createScheduleLoopsPass(const ScheduleLoopsOptions& options);
std::unique_ptr<mlir::Pass> createRematerializeLazyPass();
std::unique_ptr<mlir::Pass> createFoldLazyPass();
std::unique_ptr<mlir::Pass> createAsyncDotsPass();
std::unique_ptr<mlir::Pass> createSliceDotsPass();
std::unique_ptr<mlir::Pass> createCarryLastStepPass();
std::unique_ptr<mlir::Pass> createDecomposeConversionsPass();
std::unique_ptr<mlir::Pass> createPlaceWaitsPass();
std::unique_ptr<mlir::Pass> createPlaceFencesPass();
std::unique_ptr<mlir::Pass> createPlaceBarriersPass();
std::unique_ptr<mlir::Pass> createReleaseOperandsPass();
std::unique_ptr<mlir::Pass> createAllocateSharedPass();
std::unique_ptr<mlir::Pass> createSplitRolesPass();
std::unique_ptr<mlir::Pass> createRepeatProgramsPass();
std::unique_ptr<mlir::Pass> createPlaceTurnsPass();

/// Makes them known to command-line tools.
void registerPasses();

}  // namespace fattn::tilegpu

#endif
