// SPDX-License-Identifier: Apache-2.0
// The parts of -tilegpu-decompose-conversions.
#ifndef FATTN_COMPILER_GPU_PASSES_LAYOUTS_DECOMPOSECONVERSIONS_H
#define FATTN_COMPILER_GPU_PASSES_LAYOUTS_DECOMPOSECONVERSIONS_H

#include "compiler/gpu/dialect/TileGpu.h"

namespace fattn::tilegpu {

/// A reduction whose elements lie in several warps becomes one within each, a conversion, and one of the warps' results.
mlir::LogicalResult reduceAcrossWarps(tile::ReduceOp op);
/// A running sum over several warps becomes one within each, and one of the warps' totals.
mlir::LogicalResult sumWithinWarps(tile::CumsumOp op);

/// A part of a dimension: neighbouring bits, chosen by warps or not.
struct Part {
  int bits = 0;
  int64_t size = 1;
  bool byWarps = false;
};
/// The parts of dimension `axis`, lowest first; empty where it cannot be split.
llvm::SmallVector<Part> partsOf(const layout::LinearLayout& layout, int axis);
/// The same layout, with dimension `axis` as several: parts.back() first, as its numbers are the highest.
layout::LinearLayout splitDimension(const layout::LinearLayout& layout, int axis, llvm::ArrayRef<Part> parts);
/// The same layout, but for the numbers along `axis`: those bits that warps choose come above the others. A warp has as many elements of a
/// line as before, side by side.
layout::LinearLayout warpsOnTop(const layout::LinearLayout& layout, int axis, llvm::ArrayRef<Part> parts);
/// The tile's lines along `axis`, of `size` elements, in the registers of whoever holds a line in `lines`, the layout without that
/// dimension.
layout::LinearLayout wholeLines(const layout::LinearLayout& lines, int axis, int64_t size);
llvm::SmallVector<int64_t> without(llvm::ArrayRef<int64_t> shape, int64_t axis);
/// Each of the tiles in this layout.
llvm::SmallVector<mlir::Value> convert(mlir::OpBuilder& b, mlir::Location loc, llvm::ArrayRef<mlir::Value> values,
                                       const layout::LinearLayout& layout);

}  // namespace fattn::tilegpu

#endif
