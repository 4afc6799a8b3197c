// SPDX-License-Identifier: Apache-2.0
// From the operands of a launch to the argument slots of the kernel.
#ifndef FATTN_KERNELS_ATTENTIONLAUNCH_H
#define FATTN_KERNELS_ATTENTIONLAUNCH_H

#include <array>
#include <cstdint>

#include "fattn/Attention.h"

namespace fattn::kernels {

/// The slots, in the order of traceAttentionForward's parameters: pointers q k v o lse; strides in elements (batch, heads, rows)
/// of q k v o lse; heads, heads of q for each of k, rows of q, rows of k; scale; whether lse is written.
inline constexpr std::size_t kAttentionSlots = 26;

struct AttentionLaunch {
  Grid grid;
  bool aligned = true;  ///< whether the operands are what config.alignment says
  std::array<std::uint64_t, kAttentionSlots> slots;
};

/// `config` is resolved. Throws Error{InvalidArgument} where the operands contradict it, each other or `maxGrid`.
AttentionLaunch packAttention(const AttentionConfig& config, const AttentionArgs& args, const std::array<std::int64_t, 3>& maxGrid);

}  // namespace fattn::kernels

#endif
