// SPDX-License-Identifier: Apache-2.0
// The tile configurations that are worth trying for attention on a target, and which of them the machine cannot hold.
#ifndef FATTN_KERNELS_ATTENTIONSPACE_H
#define FATTN_KERNELS_ATTENTIONSPACE_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fattn/Attention.h"
#include "fattn/Target.h"

namespace fattn::kernels {

/// Every combination of the target's choices, those next to the default first. `config` is resolved.
std::vector<TileConfig> attentionSpace(const AttentionConfig& config);

/// What asks the compiler (askCompiler()) for the orders of the main loop's work that it would choose from, as texts, best first.
using OfferedSchedules = std::function<std::vector<std::string>(const AttentionConfig& config, const TileConfig& tile)>;

/// The same configuration with each other order of the loop's work that is worth trying, once it is known to be good; none where the
/// target's compiler offers none. `config` is resolved.
std::vector<TileConfig> attentionVariants(const AttentionConfig& config, const TileConfig& tile, const OfferedSchedules& ask);

/// Why a tile configuration cannot work, or can only waste, on a machine for lengths of a shape's bucket, in one sentence; nothing where it
/// may work. It is an estimate from the machine table, made before compiling; what it lets through may still fail. `config` is resolved but
/// for its shape, of which 0 is unknown.
std::optional<std::string> attentionMisfit(const AttentionConfig& config, const TileConfig& tile, const Machine& machine);

}  // namespace fattn::kernels

#endif
