// SPDX-License-Identifier: Apache-2.0
// Recognizes the usual combine regions of tile.reduce.
#ifndef FATTN_COMPILER_CPU_NESTS_REDUCTION_H
#define FATTN_COMPILER_CPU_NESTS_REDUCTION_H

#include "compiler/dialect/Tile.h"

namespace fattn::cpu {

enum class ReductionKind { Add, Mul, Max, Min, MaxSigned, MinSigned, MaxUnsigned, MinUnsigned, And, Or, Xor, Custom };

/// What the combine region computes; Custom unless it is one commutative operation on its two arguments.
ReductionKind reductionKind(tile::ReduceOp op);
/// The value that changes nothing, for every kind but Custom.
mlir::TypedAttr identityOf(ReductionKind kind, mlir::Type element);

}  // namespace fattn::cpu

#endif
