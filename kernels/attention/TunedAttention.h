// SPDX-License-Identifier: Apache-2.0
// Attention as a problem of tuning: its name, its extents, what is typical where a caller does not tell.
#ifndef FATTN_KERNELS_ATTENTION_TUNEDATTENTION_H
#define FATTN_KERNELS_ATTENTION_TUNEDATTENTION_H

#include <string>

#include "fattn/Attention.h"
#include "kernels/core/TunedLookup.h"
#include "kernels/core/Tuning.h"

namespace fattn::kernels {

/// The shape that a configuration is tuned for: what it does not tell is that of one prefill of 2048 tokens with 32 heads.
ShapeHint tunedShape(const AttentionConfig& config);
/// The same as the extents of a key.
cache::Shape tunedExtents(const AttentionConfig& config);

/// What a configuration tells of its shape; as many keys as queries where only these are told.
cache::Shape toldExtents(const AttentionConfig& config);

/// "attention_forward-bf16-d128-v128-causal": the kernel as people and folders call it.
std::string problemName(const AttentionConfig& config);

/// The orders of the main loop's work that the compiler would choose from for a tile configuration, as texts, best first. `config` is
/// resolved but for its tile. Takes the time of most of a compilation.
std::vector<std::string> askCompiler(const AttentionConfig& config, const TileConfig& tile);

/// A supported configuration that leaves its tile open.
TuneProblem problemOf(const AttentionConfig& config);

/// The same questions about it as about any problem. planTuning() throws what supports() returns.
TunePlan planTuning(const AttentionConfig& config);
inline cache::TuneKey tuneKey(const AttentionConfig& config) { return tuneKey(problemOf(config)); }
inline TunedLookup lookUpTuned(const AttentionConfig& config) { return lookUpTuned(problemOf(config)); }

}  // namespace fattn::kernels

#endif
