// SPDX-License-Identifier: Apache-2.0
// Registers upstream's general passes and those of the compiler's folders.
#include "tools/fattn-opt/RegisterPasses.h"

#include "mlir/Transforms/Passes.h"
#include "tools/fattn-opt/Interpret.h"

namespace fattn {

void registerAllPasses() {
  mlir::registerTransformsPasses();
  registerInterpretPass();
}

}  // namespace fattn
