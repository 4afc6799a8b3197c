// SPDX-License-Identifier: Apache-2.0
// Which configurations there are kernels for, and with what tile configuration by default.
#ifndef FATTN_KERNELS_ATTENTIONSUPPORT_H
#define FATTN_KERNELS_ATTENTIONSUPPORT_H

#include "fattn/Attention.h"

namespace fattn::kernels {

/// The name of the device compile() takes for target "".
const std::string& defaultTarget();

/// Whether a target names a chip, for which code can be made without a device.
bool namesChip(std::string_view target);
/// What the compiler is asked for to run on a resolved target: that of the device, or the newest chip it knows whose code the device runs.
std::string codeTarget(const std::string& target);

/// Throws what supports() returns.
void requireSupported(const AttentionConfig& config);

/// The configuration with head_dim_v and target filled in, and every choice of the tile that matters to the target; the defaults, not what
/// was tuned.
AttentionConfig resolve(const AttentionConfig& config);

/// Whether the caller left the tile configuration to us.
inline bool leavesTileOpen(const AttentionConfig& config) { return !config.tile || *config.tile == TileConfig{}; }

/// The tile configuration for a resolved target and head dimensions where the caller chose none.
TileConfig defaultTile(const AttentionConfig& config);

}  // namespace fattn::kernels

#endif
