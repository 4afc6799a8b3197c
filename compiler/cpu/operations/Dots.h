// SPDX-License-Identifier: Apache-2.0
// Decisions about matrix products: how they are computed, in which register blocks, and how often operands are read for that.
#ifndef FATTN_COMPILER_CPU_OPERATIONS_DOTS_H
#define FATTN_COMPILER_CPU_OPERATIONS_DOTS_H

#include "compiler/cpu/HostTarget.h"
#include "compiler/cpu/state/OperandForm.h"
#include "compiler/dialect/Tile.h"

namespace fattn::cpu {

class LaneAssignment;

/// One register block: rows x vectors accumulators.
struct Tiling {
  int64_t rows, vectors;
};

DotKind dotKind(const HostTarget& host, tile::DotOp op);
/// What registers hold: f32, or 32 bits.
mlir::Type computeType(mlir::MLIRContext* context, DotKind kind);
/// Of the two operands, number 0 and 1: the tile with its contracted dimension, and how the dot reads it.
std::pair<mlir::Value, int> operandOf(tile::DotOp op, int number);
Role roleOf(tile::DotOp op, int number, const LaneAssignment& lanes);

/// Rows and columns of a block along the contraction, whose sums fill one vector: as few reads as possible.
struct SumBlock {
  int64_t rows, columns;
};
SumBlock chooseSumBlock(const HostTarget& host, int64_t rows);

/// The register block with the fewest cycles for the whole product.
Tiling chooseTiling(const HostTarget& host, int64_t rows, int64_t laneVectors);
/// Rows and vectors of the whole product.
Tiling productSize(const HostTarget& host, tile::DotOp op, const LaneAssignment& lanes);
/// How often a dot's register blocks read each element of an operand.
int64_t readsOf(const HostTarget& host, tile::DotOp op, int number, const LaneAssignment& lanes);

}  // namespace fattn::cpu

#endif
