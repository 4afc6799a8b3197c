// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/Occupancy.h"

#include <algorithm>

namespace fattn::gpu {

Occupancy occupancyOf(const Target& target, const BlockNeeds& needs) {
  if (needs.sharedBytes > target.shared.bytesPerBlock) return {0, "shared memory"};
  Occupancy result{target.maxWarps / needs.warps, "warps"};
  const auto limit = [&](std::int64_t blocks, std::string_view by) {
    if (blocks < result.blocks) result = {static_cast<int>(blocks), by};
  };
  if (needs.registers > 0) {
    const std::int64_t granule = target.registers.granule;
    const std::int64_t ofWarp = (needs.registers + granule - 1) / granule * granule * target.warpSize;
    limit(target.registers.perSM / (ofWarp * needs.warps), "registers");
  }
  limit(target.shared.bytesPerSM / std::max<std::int64_t>(needs.sharedBytes + target.shared.reservedPerBlock, 1), "shared memory");
  return result;
}

}  // namespace fattn::gpu
