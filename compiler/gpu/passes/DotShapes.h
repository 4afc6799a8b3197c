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

/// What instructions of the matrix unit ask of a tile in shared memory that they read.
struct UnitReads {
  static constexpr int64_t kLine = 128;  ///< bytes of the widest columns
  int64_t rowsTogether = 8;              ///< rows that one instruction reads, which have to lie evenly
  int64_t columnBytes = kLine;           ///< the widest columns that it may lie in

  /// What both ask.
  UnitReads with(const UnitReads& other) const;
};
/// Of one instruction of the dot, of the tile that operand 0 (a) or 1 (b) is, or is the transpose of. Where groups of warps share the
/// columns of a result that has a layout, their parts begin with columns (gpu::GroupGrid).
UnitReads unitReadsOf(tile::DotOp dot, unsigned operand, bool transposed);

/// The layouts of a tile in shared memory that asynchronous matrix instructions read it in, those with the widest columns first; empty
/// where there are none. Columns of 128, 64 or 32 bytes, swizzled in pieces of 16 (layout::swizzled).
std::vector<layout::SharedLayout> matrixUnitLayouts(llvm::ArrayRef<int64_t> shape, int elementBits, const UnitReads& reads);

/// How groups of warps share the columns of a product of a matrix unit's that has too few rows for all of them.
struct SharedColumns {
  int64_t groups = 1;  ///< with a part of the columns each
  int64_t part = 0;    ///< columns that lie together: the power of two in those of a group, or all of them
};
/// The fewest groups that have to share the columns so that all of them have whole instructions; nothing where that does not work out.
/// `alongRows`: the second operand lies in memory as the transpose of it does, so that its rows are the product's columns.
std::optional<SharedColumns> sharedColumns(const DotShape& size, const gpu::MatrixInstruction& row, int64_t warps, int bits,
                                           bool alongRows);

}  // namespace fattn::tilegpu

#endif
