// SPDX-License-Identifier: Apache-2.0
// The tile configurations that are worth trying for attention on a target, and which of them the machine cannot hold.
#ifndef FATTN_KERNELS_ATTENTIONSPACE_H
#define FATTN_KERNELS_ATTENTIONSPACE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/attention/AttentionSupport.h"

namespace fattn::kernels {

/// Rows of q and of k; 0 is unknown.
struct Lengths {
  std::int64_t q = 0, k = 0;
};

/// Every combination of the machine's choices, those next to the default first. `kind` is complete.
std::vector<TileConfig> attentionSpace(const ForwardKind& kind, const Machine& machine);

/// Why a tile configuration cannot work, or can only waste, on a machine for the bucket of some lengths, in one sentence; nothing where it
/// may work. It is an estimate from the machine table, made before compiling; what it lets through may still fail. `kind` is complete.
std::optional<std::string> attentionMisfit(const ForwardKind& kind, const TileConfig& tile, const Machine& machine, const Lengths& lengths);

}  // namespace fattn::kernels

#endif
