// SPDX-License-Identifier: Apache-2.0
// From the operands of a launch to the argument slots of the kernel.
#ifndef FATTN_KERNELS_ATTENTION_ATTENTIONLAUNCH_H
#define FATTN_KERNELS_ATTENTION_ATTENTIONLAUNCH_H

#include <array>
#include <cstdint>
#include <span>

#include "fattn/Attention.h"
#include "kernels/core/SlotTable.h"

namespace fattn::kernels {

/// Where each value of a launch goes, by the names that the program declared.
struct AttentionSlots {
  /// Throws Error{Internal} where the program declared other arguments than a launch packs.
  AttentionSlots(std::span<const compiler::ArgInfo> declared, DType dtype);

  static constexpr std::size_t kMost = 32;
  struct Operand {
    std::size_t base, batch, head, row;  ///< the pointer, and strides in elements
  };
  Operand q, k, v, o, lse;
  std::size_t heads, group, seqQ, seqK, scale, writeLse;
  std::size_t count;  ///< of all
};

struct AttentionLaunch {
  Grid grid;
  bool aligned = true;  ///< whether the operands are what config.alignment says
  std::array<std::uint64_t, AttentionSlots::kMost> slots;
};

/// Throws Error{InvalidArgument} where the operands contradict the resolved configuration or each other.
void checkOperands(const AttentionConfig& config, const AttentionArgs& args);

/// The same, and where the operands are more than `maxGrid` has room for.
AttentionLaunch packAttention(const AttentionConfig& config, const AttentionSlots& slots, const AttentionArgs& args,
                              const std::array<std::int64_t, 3>& maxGrid);

}  // namespace fattn::kernels

#endif
