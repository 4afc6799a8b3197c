// SPDX-License-Identifier: Apache-2.0
// The names of NVIDIA's passes on command lines.
#include "compiler/nvidia/Passes.h"
#include "mlir/Pass/PassRegistry.h"

namespace fattn::nvidia {

void registerPasses() { mlir::registerPass(createLowerTensorsPass); }

}  // namespace fattn::nvidia
