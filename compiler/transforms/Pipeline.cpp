// SPDX-License-Identifier: Apache-2.0
// What every target does to a tile program first, in order.
#include "compiler/transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

namespace fattn::transforms {

void buildTilePipeline(mlir::OpPassManager& pm, MaskedLoops masked) {
  pm.addPass(mlir::createCanonicalizerPass());
  pm.addPass(mlir::createCSEPass());
  // Block pointers carried through loops become offsets from the induction variable: their strides are known in the loop.
  pm.addPass(createFoldAdvancesPass());
  // Trips that know a mask do without it.
  pm.addPass(masked == MaskedLoops::Split ? createSplitLoopsPass() : createGuardMasksPass());
  // x * c - m becomes one fma.
  pm.addPass(createFoldScalesPass());
  pm.addPass(mlir::createCanonicalizerPass());
  pm.addPass(mlir::createCSEPass());
}

}  // namespace fattn::transforms
