// SPDX-License-Identifier: Apache-2.0
// The forms in which dots read their operands.
//
//   F32:        vectors [k][lane] of f32, stride 1 along the lane; broadcast elements at any strides
//   Bf16Pairs:  vectors [k/2][lane] of (x[2k], x[2k+1]) in 32 bits; broadcast pairs, in place where k has stride 1
//
// Or both are read as vectors along the contraction: [row][k], stride 1 along k, pairs as they lie.
#ifndef FATTN_COMPILER_CPU_STATE_OPERANDFORM_H
#define FATTN_COMPILER_CPU_STATE_OPERANDFORM_H

#include <compare>

namespace fattn::cpu {

enum class DotKind { F32, Bf16Pairs, I32 };
/// One operand is read as vectors along the lanes of the result, elements of the other are broadcast; or both along the contraction.
enum class Role { Vectors, Broadcast, Along };

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

}  // namespace fattn::cpu

#endif
