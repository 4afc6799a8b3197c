// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/Passes.h"

namespace fattn::tilegpu {

void registerPasses() {}

}  // namespace fattn::tilegpu
