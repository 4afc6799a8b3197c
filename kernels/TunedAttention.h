// SPDX-License-Identifier: Apache-2.0
// What tuning has found for attention: the key it is kept under, and the choice it gives.
#ifndef FATTN_KERNELS_TUNEDATTENTION_H
#define FATTN_KERNELS_TUNEDATTENTION_H

#include <optional>

#include "fattn/Attention.h"
#include "runtime/cache/TunedStore.h"

namespace fattn::kernels {

/// The store of this process.
cache::TunedStore& tunedStore();

/// The problem of a supported configuration on its device. Of its shape what is unknown is that of one prefill of 2048 tokens with 32
/// heads. Traces the kernel (about a millisecond).
cache::TuneKey tuneKey(const AttentionConfig& config);

/// What the store has for a supported configuration, of what supports() accepts. Nothing with FATTN_TUNE=off.
std::optional<cache::TunedChoice> tunedChoice(const AttentionConfig& config);
std::optional<TileConfig> tunedTile(const AttentionConfig& config);

}  // namespace fattn::kernels

#endif
