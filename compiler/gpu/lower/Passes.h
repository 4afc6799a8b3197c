// SPDX-License-Identifier: Apache-2.0
// Passes on the programs of single threads, the same for every GPU.
#ifndef FATTN_COMPILER_GPU_LOWER_PASSES_H
#define FATTN_COMPILER_GPU_LOWER_PASSES_H

#include <memory>

#include "mlir/Pass/PassManager.h"

namespace fattn::gpu {

#define GEN_PASS_DECL
#include "compiler/gpu/lower/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/gpu/lower/Passes.h.inc"

}  // namespace fattn::gpu

#endif
