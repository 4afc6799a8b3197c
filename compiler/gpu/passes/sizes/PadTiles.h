// SPDX-License-Identifier: Apache-2.0
// The parts of -tilegpu-pad-tiles.
#ifndef FATTN_COMPILER_GPU_PASSES_SIZES_PADTILES_H
#define FATTN_COMPILER_GPU_PASSES_SIZES_PADTILES_H

#include "compiler/gpu/dialect/TileGpu.h"

namespace fattn::tilegpu {

/// A tile's shape before it was padded.
using Extents = llvm::SmallVector<int64_t>;

/// True (i1) for the elements of a tile of this shape whose indices along `dims` are below the extents there. Cheap: made wherever needed.
mlir::Value elementsBelow(mlir::OpBuilder& b, mlir::Location loc, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims,
                          llvm::ArrayRef<int64_t> extents);
/// `tile` with zeros where dimension `dim` is at or beyond `extent`.
mlir::Value zeroedBeyond(mlir::OpBuilder& b, mlir::Value tile, int64_t dim, int64_t extent);

/// An operation whose tiles have grown, with the shapes that its operands and results had (none for what is no tile).
struct PaddedOp {
  mlir::Operation* op = nullptr;
  llvm::SmallVector<Extents> operands, results;
};
/// Makes the operation do with padded tiles what it did before, on the elements that there were. What it leaves in the others is
/// unspecified.
void adaptToPadding(const PaddedOp& padded);

}  // namespace fattn::tilegpu

#endif
