// SPDX-License-Identifier: Apache-2.0
// What the exact side of a select_lazy computes again instead of keeping it in registers (-tilegpu-rematerialize-lazy), for whoever counts
// registers before that pass.
#ifndef FATTN_COMPILER_GPU_PASSES_LAZY_REMATERIALIZELAZY_H
#define FATTN_COMPILER_GPU_PASSES_LAZY_REMATERIALIZELAZY_H

#include "compiler/gpu/dialect/TileGpu.h"

namespace fattn::tilegpu {

/// Whether the exact side of `lazy` will compute `value`, which it uses, again.
bool isComputedAgain(mlir::Value value, tile::SelectLazyOp lazy);

}  // namespace fattn::tilegpu

#endif
