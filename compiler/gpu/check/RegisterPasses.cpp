// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/check/Passes.h"
#include "mlir/Pass/PassRegistry.h"

namespace fattn::check {

void registerPasses() {
  mlir::registerPass([] { return createRecordOrderPass(nullptr); });
  mlir::registerPass([] { return createCheckOrderPass(nullptr); });
}

}  // namespace fattn::check
