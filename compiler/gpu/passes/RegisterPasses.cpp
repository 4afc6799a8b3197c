// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/Target.h"
#include "compiler/gpu/passes/Passes.h"

namespace fattn::tilegpu {

void registerPasses() {
  mlir::registerPass([] { return createPadTilesPass(std::string(gpu::defaultTarget())); });
  mlir::registerPass([] { return createWidenDotsPass(std::string(gpu::defaultTarget())); });
  mlir::registerPass([] { return createAssignLayoutsPass({.target = std::string(gpu::defaultTarget())}); });
  mlir::registerPass([] { return createRemoveConversionsPass(); });
  mlir::registerPass([] { return createVerifyLayoutsPass(); });
  mlir::registerPass([] { return createDeferReductionsPass(); });
  mlir::registerPass([] { return createPlaceCopiesPass(); });
  mlir::registerPass([] { return createScheduleLoopsPass({}); });
  mlir::registerPass([] { return createRematerializeLazyPass(); });
  mlir::registerPass([] { return createFoldLazyPass(); });
  mlir::registerPass([] { return createAsyncDotsPass(); });
  mlir::registerPass([] { return createSliceDotsPass(); });
  mlir::registerPass([] { return createCarryLastStepPass(); });
  mlir::registerPass([] { return createDecomposeConversionsPass(); });
  mlir::registerPass([] { return createPlaceWaitsPass(); });
  mlir::registerPass([] { return createReleaseOperandsPass(); });
  mlir::registerPass([] { return createAllocateSharedPass(); });
  mlir::registerPass([] { return createPlaceFencesPass(); });
  mlir::registerPass([] { return createPlaceBarriersPass(); });
  mlir::registerPass([] { return createSplitRolesPass(); });
  mlir::registerPass([] { return createRepeatProgramsPass(); });
  mlir::registerPass([] { return createPlaceTurnsPass(); });
}

}  // namespace fattn::tilegpu
