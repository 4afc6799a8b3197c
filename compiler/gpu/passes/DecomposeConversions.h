// SPDX-License-Identifier: Apache-2.0
// The parts of -tilegpu-decompose-conversions.
#ifndef FATTN_COMPILER_GPU_PASSES_DECOMPOSECONVERSIONS_H
#define FATTN_COMPILER_GPU_PASSES_DECOMPOSECONVERSIONS_H

#include "compiler/gpu/dialect/TileGpu.h"

namespace fattn::tilegpu {

/// A reduction whose elements lie in several warps becomes one within each, a conversion, and one of the warps' results.
mlir::LogicalResult reduceAcrossWarps(tile::ReduceOp op);
/// A running sum over several threads becomes one over registers, between two conversions.
mlir::LogicalResult sumInOneThread(tile::CumsumOp op);

}  // namespace fattn::tilegpu

#endif
