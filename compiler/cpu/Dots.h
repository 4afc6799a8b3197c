// SPDX-License-Identifier: Apache-2.0
// Decisions about matrix products: how they are computed, in which register blocks, and in which form their operands are read.
//
//   F32:        vectors [k][lane] of f32, stride 1 along the lane; broadcast elements at any strides
//   Bf16Pairs:  vectors [k/2][lane] of (x[2k], x[2k+1]) in 32 bits; broadcast pairs, in place where k has stride 1
#ifndef FATTN_COMPILER_CPU_DOTS_H
#define FATTN_COMPILER_CPU_DOTS_H

#include <compare>

#include "compiler/cpu/HostTarget.h"
#include "compiler/dialect/Tile.h"

namespace fattn::cpu {

class LaneAssignment;

enum class DotKind { F32, Bf16Pairs, I32 };
/// One operand is read as vectors along the lanes of the result, elements of the other are broadcast.
enum class Role { Vectors, Broadcast };

/// One register block: rows x vectors accumulators.
struct Tiling {
  int64_t rows, vectors;
};

/// How a dot wants to read an operand. `kDim`: the contracted dimension.
struct OperandForm {
  DotKind kind;
  Role role;
  int kDim;
  auto operator<=>(const OperandForm&) const = default;
};

/// An operand in a form, as the key of those that were packed.
struct PackedOperand {
  void* operand;
  OperandForm form;
  auto operator<=>(const PackedOperand&) const = default;
};

DotKind dotKind(const HostTarget& host, tile::DotOp op);
/// What registers hold: f32, or 32 bits.
mlir::Type computeType(mlir::MLIRContext* context, DotKind kind);
/// The operand that a dot reads in this role, and its contracted dimension.
std::pair<mlir::Value, int> operandOf(tile::DotOp op, Role role, const LaneAssignment& lanes);

/// The register block with the fewest cycles for the whole product.
Tiling chooseTiling(const HostTarget& host, int64_t rows, int64_t laneVectors);
/// Rows and vectors of the whole product.
Tiling productSize(const HostTarget& host, tile::DotOp op, const LaneAssignment& lanes);
/// How often a dot's register blocks read each element of an operand.
int64_t readsOf(const HostTarget& host, tile::DotOp op, Role role, const LaneAssignment& lanes);

}  // namespace fattn::cpu

#endif
