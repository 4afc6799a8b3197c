// SPDX-License-Identifier: Apache-2.0
// Which matrix instruction a dot takes, and what its sizes have to be multiples of.
#ifndef FATTN_COMPILER_GPU_PASSES_DOTSHAPES_H
#define FATTN_COMPILER_GPU_PASSES_DOTSHAPES_H

#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/layout/Shared.h"

namespace fattn::tilegpu {

/// What rows, columns and depth of a dot are, or are multiples of.
struct DotShape {
  int64_t m = 1, n = 1, k = 1;
};
DotShape sizeOf(tile::DotOp dot);
/// What an instruction's sizes have to divide; the depth is that of its shallowest form.
DotShape granuleOf(const gpu::MatrixInstruction& row);

/// The rows of the machine for these types of operands that take both from registers. Any dot of a fitting size can become each of them,
/// and the layouts of the dot's tiles are its fragments.
llvm::SmallVector<const gpu::MatrixInstruction*> instructionsFor(mlir::Type a, mlir::Type b, const gpu::Target& target);
/// Of these the one that a dot of this size fills best, the first of several; null if there is none.
const gpu::MatrixInstruction* instructionFor(mlir::Type a, mlir::Type b, const DotShape& size, const gpu::Target& target);
const gpu::MatrixInstruction* instructionFor(tile::DotOp dot, const gpu::Target& target);
/// The error at a dot for which there is none; it lists the machine's types.
mlir::LogicalResult noInstruction(tile::DotOp dot, const gpu::Target& target);

/// The instruction that a dot becomes: a row of the machine table, and how it is used.
struct DotInstruction {
  const gpu::MatrixInstruction* row = nullptr;
  int64_t depth = 0;                      ///< of one instruction
  bool sharedA = false, sharedB = false;  ///< which operands it reads from shared memory
};
/// What -tilegpu-assign-layouts recorded on the dot; without a record instructionFor(), and nothing where there is none whose depth divides
/// the dot's.
std::optional<DotInstruction> instructionOf(tile::DotOp dot);

/// Whether the dot's operand 0 (a) or 1 (b) is read from shared memory by the matrix unit.
bool isReadFromShared(tile::DotOp dot, unsigned operand);

/// The layouts of a tile in shared memory that asynchronous matrix instructions read it in, those with the longest rows first; empty where
/// there are none. One instruction reads `rowsTogether` rows of the tile, which have to lie evenly. Rows of 128, 64 or 32
/// bytes, swizzled in pieces of 16 (layout::swizzled).
std::vector<layout::SharedLayout> matrixUnitLayouts(llvm::ArrayRef<int64_t> shape, int elementBits, int64_t rowsTogether);

/// How many rows one instruction of the dot reads of the tile in shared memory that operand 0 (a) or 1 (b) is, or is the transpose of.
int64_t rowsTogether(tile::DotOp dot, unsigned operand, bool transposed);

}  // namespace fattn::tilegpu

#endif
