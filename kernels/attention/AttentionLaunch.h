// SPDX-License-Identifier: Apache-2.0
// From the operands of a launch to the argument slots of the kernel.
#ifndef FATTN_KERNELS_ATTENTION_ATTENTIONLAUNCH_H
#define FATTN_KERNELS_ATTENTION_ATTENTIONLAUNCH_H

#include <array>
#include <cstdint>
#include <span>

#include "fattn/Attention.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/attention/SlotTable.h"

namespace fattn::kernels {

/// Where each value of a launch goes, by the names that the program declared.
struct AttentionSlots {
  /// Throws Error{Internal} where the program declared other arguments than a launch packs.
  AttentionSlots(std::span<const dsl::Param> declared, DType dtype);

  static constexpr std::size_t kMost = 32;
  struct Operand {
    std::size_t base, batch, head, row;  ///< the pointer, and strides in elements
  };
  Operand q, k, v, o, lse;
  std::size_t heads, group, seqQ, seqK, scale, writeLse;
  std::size_t count;  ///< of all
};

/// What a device takes in one launch: programs along each axis, of so many rows.
struct LaunchLimits {
  std::array<std::int64_t, 3> grid;
  std::int32_t block;
};

/// How much memory each operand spans.
struct OperandBytes {
  std::int64_t q, k, v, o, lse;
};

struct AttentionLaunch {
  std::array<std::int64_t, 4> extents;  ///< of the template
  std::array<std::uint64_t, AttentionSlots::kMost> slots;
  OperandBytes bytes;
};

/// Throws Error{InvalidArgument} where the operands contradict the kernel or each other.
OperandBytes checkOperands(const ForwardKind& kind, const AttentionArgs& args);
/// Of that what depends on addresses: whether outputs share memory with others.
void checkApart(const AttentionArgs& args, const OperandBytes& bytes);

/// checkOperands(), and throws where the operands are more than a device takes. A stride along which there are no two entries does not
/// matter; its slot keeps the program's promises.
AttentionLaunch packAttention(const ForwardKind& kind, const AttentionSlots& slots, const AttentionArgs& args, const LaunchLimits& limits);

}  // namespace fattn::kernels

#endif
