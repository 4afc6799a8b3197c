// SPDX-License-Identifier: Apache-2.0
// Which configurations there are kernels for, and with what tile configuration by default.
#ifndef FATTN_KERNELS_ATTENTIONSUPPORT_H
#define FATTN_KERNELS_ATTENTIONSUPPORT_H

#include "fattn/Attention.h"
#include "fattn/Target.h"

namespace fattn::kernels {

/// Throws what supports() returns, but for what the compiler alone can say: whether a tile configuration fits a GPU.
void requireSupported(const AttentionConfig& config);

/// The configuration with head_dim_v and target filled in, and every choice of the tile that matters to the target; the defaults, not what
/// was tuned.
AttentionConfig resolve(const AttentionConfig& config);

/// The bytes of shared memory of a block on a GPU that holds Q and a ring of K and V, which is nearly all there is. What moves between
/// layouts comes on top, in f32 above all; supports() asks the compiler. `config` is resolved.
std::int64_t plainSharedBytes(const AttentionConfig& config, const TileConfig& tile);

/// Whether the caller left the tile configuration to us.
inline bool leavesTileOpen(const AttentionConfig& config) { return !config.tile || *config.tile == TileConfig{}; }

/// "attention f16 head_dim 64 causal for host": a resolved configuration for people.
std::string textOf(const AttentionConfig& resolved);

/// The tile configuration for a resolved target and head dimensions where the caller chose none.
TileConfig defaultTile(const AttentionConfig& config);

}  // namespace fattn::kernels

#endif
