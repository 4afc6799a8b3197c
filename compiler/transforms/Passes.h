// SPDX-License-Identifier: Apache-2.0
// Passes on the `tile` dialect that every target runs first, as Passes.td declares them.
#ifndef FATTN_COMPILER_TRANSFORMS_PASSES_H
#define FATTN_COMPILER_TRANSFORMS_PASSES_H

#include <memory>

#include "mlir/Pass/PassManager.h"

namespace fattn::transforms {

#define GEN_PASS_DECL
#include "compiler/transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/transforms/Passes.h.inc"

/// How the trips that need no mask are spared it.
enum class MaskedLoops {
  Split,  ///< they get a loop of their own: where starting a loop costs little
  Guard,  ///< they branch around it: where loops are pipelined
};

/// What every target runs, in order.
void buildTilePipeline(mlir::OpPassManager& pm, MaskedLoops masked);

}  // namespace fattn::transforms

#endif
