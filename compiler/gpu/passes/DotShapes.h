// SPDX-License-Identifier: Apache-2.0
// Which matrix instruction a dot takes, and what its sizes have to be multiples of.
#ifndef FATTN_COMPILER_GPU_PASSES_DOTSHAPES_H
#define FATTN_COMPILER_GPU_PASSES_DOTSHAPES_H

#include "compiler/gpu/dialect/TileGpu.h"

namespace fattn::tilegpu {

/// The first row of the machine for the types of these operands whose fragments AssignLayouts knows; null if there is none.
const gpu::MatrixInstruction* instructionFor(mlir::Type a, mlir::Type b, const gpu::Target& target);

/// The same, with an error at the dot that lists the machine's types.
mlir::FailureOr<const gpu::MatrixInstruction*> instructionFor(tile::DotOp dot, const gpu::Target& target);

/// What rows, columns and depth of a dot are multiples of. The depth is that of the shallowest instruction: half of the row's, where the
/// type has such an instruction.
struct DotShape {
  int64_t m = 1, n = 1, k = 1;
};
DotShape granuleOf(tile::DotOp dot, const gpu::MatrixInstruction& row);

}  // namespace fattn::tilegpu

#endif
