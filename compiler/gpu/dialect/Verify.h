// SPDX-License-Identifier: Apache-2.0
// What verifiers of `tilegpu` share. Each emits an error of the operation that names what is legal.
#ifndef FATTN_COMPILER_GPU_DIALECT_VERIFY_H
#define FATTN_COMPILER_GPU_DIALECT_VERIFY_H

#include "compiler/gpu/dialect/TileGpu.h"

namespace fattn::tilegpu {

/// A tile with a home in registers.
mlir::LogicalResult verifyHome(mlir::Operation* op, mlir::Type type);
mlir::LogicalResult verifySameTile(mlir::Operation* op, llvm::StringRef what, llvm::ArrayRef<int64_t> shape, mlir::Type element,
                                   llvm::ArrayRef<int64_t> otherShape, mlir::Type otherElement);
/// A box of `shape` at `offsets` in a tile of `whole`, aligned to its own size.
mlir::LogicalResult verifyBox(mlir::Operation* op, llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> shape,
                              llvm::ArrayRef<int64_t> whole);
/// One extent for each dimension of a tile, within its size; `name` is the attribute's.
mlir::LogicalResult verifyExtents(mlir::Operation* op, llvm::StringRef name, llvm::ArrayRef<int64_t> extents,
                                  llvm::ArrayRef<int64_t> shape);
/// The elements within extents.
int64_t countOf(llvm::ArrayRef<int64_t> extents);

}  // namespace fattn::tilegpu

#endif
