// SPDX-License-Identifier: Apache-2.0
// Computed first operands that a matrix unit reads from shared memory.
#ifndef FATTN_COMPILER_GPU_PASSES_DOTS_EXCHANGEDOPERAND_H
#define FATTN_COMPILER_GPU_PASSES_DOTS_EXCHANGEDOPERAND_H

#include <optional>

#include "compiler/dialect/Tile.h"
#include "compiler/gpu/dialect/TileGpu.h"

namespace fattn::tilegpu {

/// What warps would exchange through shared memory to have it in registers, and what the unit can as well read there.
struct ExchangedOperand {
  mlir::Value source;                              ///< as it was computed
  llvm::SmallVector<mlir::Operation*, 2> chain{};  ///< renamings and conversions from there to the dot; none has another use
  bool transposed = false;                         ///< the operand is the source's transpose
  layout::LinearLayout home;                       ///< of a buffer of the source's shape
};

/// Of the first operand of a dot whose instruction takes the second one from shared memory and the first one from registers; none where no
/// warp needs another one's part, or where no layout of the source suits the unit.
std::optional<ExchangedOperand> exchangedOperand(tile::DotOp dot);

/// Lets the matrix unit read the dot's first operand, a tile of this type or its transpose, from a slot of the buffer.
void readFromBuffer(tile::DotOp dot, mlir::RankedTensorType type, mlir::Value buffer, mlir::Value slot, bool transposed);

}  // namespace fattn::tilegpu

#endif
