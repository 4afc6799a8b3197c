// SPDX-License-Identifier: Apache-2.0
// Recognizes the usual combine regions of tile.reduce, and small vector helpers.
#ifndef FATTN_COMPILER_CPU_REDUCTION_H
#define FATTN_COMPILER_CPU_REDUCTION_H

#include "compiler/dialect/Tile.h"

namespace fattn::cpu {

enum class ReductionKind { Add, Mul, Max, Min, MaxSigned, MinSigned, MaxUnsigned, MinUnsigned, And, Or, Xor, Custom };

/// What the combine region computes; Custom unless it is one commutative operation on its two arguments.
ReductionKind reductionKind(tile::ReduceOp op);
/// The value that changes nothing, for every kind but Custom.
mlir::TypedAttr identityOf(ReductionKind kind, mlir::Type element);
/// vector<width x i64> of first, first + 1, ...
mlir::Value laneIndices(mlir::OpBuilder& b, mlir::Location loc, mlir::Value first, int64_t width);

}  // namespace fattn::cpu

#endif
