// SPDX-License-Identifier: Apache-2.0
// What tuning has found for a kernel: the key it is kept under, and the choice it gives. docs/tuning.md has the rules.
#ifndef FATTN_KERNELS_CORE_TUNEDLOOKUP_H
#define FATTN_KERNELS_CORE_TUNEDLOOKUP_H

#include <optional>
#include <string>
#include <vector>

#include "kernels/core/CodeCache.h"
#include "kernels/core/TuneProblem.h"
#include "runtime/cache/Shipped.h"
#include "runtime/cache/TunedStore.h"

namespace fattn::kernels {

/// The store of this process.
cache::TunedStore& tunedStore();

/// The folder of a device's shipped configurations, "host-avx512bf16" or "nvidia-sm_90a-h200", named after the code that it runs; of a chip
/// without a device how such folders begin, "nvidia-sm_90a-".
std::string shippedDevice(const ResolvedTarget& target);

/// The key of a problem on its device. Traces the kernel (about a millisecond). Precondition: the target is a device.
cache::TuneKey tuneKey(const TuneProblem& problem);

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

/// Looks for the tile configuration where it is left open. Measures nothing.
TunedLookup lookUpTuned(const TuneProblem& problem);

/// The buckets of a look-up that have a configuration of their own.
std::vector<TunedShape> tunedShapes(const TuneProblem& problem, const TunedLookup& lookup);
/// Of each of them, on a line of its own, which configuration it has and whether this process has compiled it; "" where there is none.
std::string explainVariants(const std::vector<TunedShape>& shapes, const Variants* variants);

/// The same for a compilation. With FATTN_TUNE=on it tunes first, if nothing was for the shape.
TileChoice tunedChoice(const TuneProblem& problem);

}  // namespace fattn::kernels

#endif
