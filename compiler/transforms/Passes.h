// SPDX-License-Identifier: Apache-2.0
// Passes on the `tile` dialect that every target runs first.
#ifndef FATTN_COMPILER_TRANSFORMS_PASSES_H
#define FATTN_COMPILER_TRANSFORMS_PASSES_H

#include <memory>

#include "mlir/Pass/PassManager.h"

namespace fattn::transforms {

/// `-tile-fold-advances`: see FoldAdvances.cpp.
std::unique_ptr<mlir::Pass> createFoldAdvancesPass();
/// `-tile-split-loops`: see SplitLoops.cpp.
std::unique_ptr<mlir::Pass> createSplitLoopsPass();
/// `-tile-guard-masks`: see GuardMasks.cpp.
std::unique_ptr<mlir::Pass> createGuardMasksPass();
/// `-tile-fold-scales`: see FoldScales.cpp.
std::unique_ptr<mlir::Pass> createFoldScalesPass();

/// `-tile-sink-lazy`: see SinkLazy.cpp. For targets that branch around an exact side: not one of the pipeline below.
std::unique_ptr<mlir::Pass> createSinkLazyPass();

/// How the trips that need no mask are spared it.
enum class MaskedLoops {
  Split,  ///< they get a loop of their own: where starting a loop costs little
  Guard,  ///< they branch around it: where loops are pipelined
};

/// What every target runs, in order.
void buildTilePipeline(mlir::OpPassManager& pm, MaskedLoops masked);
/// Makes them known to command-line tools.
void registerPasses();

}  // namespace fattn::transforms

#endif
