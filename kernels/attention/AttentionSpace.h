// SPDX-License-Identifier: Apache-2.0
// The tile configurations that are worth trying for attention on a target, and which of them the machine cannot hold.
#ifndef FATTN_KERNELS_ATTENTIONSPACE_H
#define FATTN_KERNELS_ATTENTIONSPACE_H

#include <optional>
#include <string>
#include <vector>

#include "fattn/Attention.h"

namespace fattn::kernels {

/// Every combination of the target's choices, those next to the default first. `config` is resolved.
std::vector<TileConfig> attentionSpace(const AttentionConfig& config);

/// The orders of the main loop's work that the compiler would choose from for a tile configuration, as texts, best first. `config` is
/// resolved but for its tile. Takes the time of most of a compilation.
std::vector<std::string> offeredSchedules(const AttentionConfig& config, const TileConfig& tile);

/// The same configuration with each other order of the loop's work that is worth trying, once it is known to be good; none where the
/// target's compiler offers none. `config` is resolved.
std::vector<TileConfig> attentionVariants(const AttentionConfig& config, const TileConfig& tile);

/// Why a tile configuration cannot work, or can only waste, on `chip` for lengths of a shape's bucket, in one sentence; nothing where it
/// may work. It is an estimate from the machine table, made before compiling; what it lets through may still fail. `config` is resolved but
/// for its shape, of which 0 is unknown.
std::optional<std::string> attentionMisfit(const AttentionConfig& config, const TileConfig& tile, const std::string& chip);

}  // namespace fattn::kernels

#endif
