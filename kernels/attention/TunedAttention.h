// SPDX-License-Identifier: Apache-2.0
// What tuning has found for attention: the key it is kept under, and the choice it gives.
#ifndef FATTN_KERNELS_TUNEDATTENTION_H
#define FATTN_KERNELS_TUNEDATTENTION_H

#include <optional>
#include <string>
#include <vector>

#include "fattn/Attention.h"
#include "kernels/attention/KernelCache.h"
#include "runtime/cache/Shipped.h"
#include "runtime/cache/TunedStore.h"

namespace fattn::kernels {

/// The store of this process.
cache::TunedStore& tunedStore();

/// The shape that a configuration is tuned for: what it does not tell is that of one prefill of 2048 tokens with 32 heads.
ShapeHint tunedShape(const AttentionConfig& config);
/// The same as the extents of a key.
cache::Shape tunedExtents(const AttentionConfig& config);

/// What a configuration tells of its shape; as many keys as queries where only these are told.
cache::Shape toldExtents(const AttentionConfig& config);

/// "attention_forward-bf16-d128-v128-causal": the kernel as people and folders call it.
std::string problemName(const AttentionConfig& config);
/// The folder of a device's shipped configurations, "host-avx512bf16" or "nvidia-sm_90a-h200", named after the code that it runs; of a chip
/// without a device how such folders begin, "nvidia-sm_90a-".
std::string shippedDevice(const std::string& target);

/// The problem of a supported configuration on its device. Traces the kernel (about a millisecond). Precondition: the target is a device.
cache::TuneKey tuneKey(const AttentionConfig& config);

/// Where a tile configuration comes from, in the order in which they are looked for.
enum class TunedRule : std::uint8_t { Exact, Nearest, Shipped, Default };

struct TunedLookup {
  TunedRule rule = TunedRule::Default;
  TileConfig tile;                                ///< complete
  std::optional<cache::TuneKey> key;              ///< what was looked for; none where the target is no device, or tuning is off
  std::vector<cache::TunedBucket> known;          ///< every tuning of this kernel: this machine's, then those shipped for other buckets
  std::vector<const cache::TunedBucket*> nearby;  ///< those of `known` that decided; none for Default
  std::string reason;                             ///< the rule, why it came to that, and the figures: one sentence without its end
};

/// Looks for the tile configuration of a supported configuration that leaves it open. Measures nothing.
TunedLookup lookUpTuned(const AttentionConfig& config);

/// The buckets of a look-up that have a configuration of their own.
std::vector<TunedShape> tunedShapes(const AttentionConfig& config, const TunedLookup& lookup);
/// Of each of them, on a line of its own, which configuration it has and whether this process has compiled it; "" where there is none.
std::string explainVariants(const AttentionConfig& config, const TunedLookup& lookup);

/// The same for fattn::compile. With FATTN_TUNE=on it tunes first, if nothing was for the shape.
TileChoice tunedChoice(const AttentionConfig& config);

}  // namespace fattn::kernels

#endif
