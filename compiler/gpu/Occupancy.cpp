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

namespace {

/// The SMs that a block is spread over, as one.
Target together(const Target& target) {
  Target one = target;
  one.maxWarps *= target.smsOfBlock;
  one.registers.perSM *= target.smsOfBlock;
  one.shared.bytesPerSM *= target.smsOfBlock;
  return one;
}

int warpsOfSimd(const Target& target, int warps) {
  const int simds = target.simds * target.smsOfBlock;
  return (warps + simds - 1) / simds;
}

}  // namespace

int mostWarpsOfSimd(const Target& target, const BlockNeeds& needs) {
  return target.simds == 0 ? 0 : warpsOfSimd(target, occupancyOf(together(target), needs).blocks * needs.warps);
}

std::optional<WarpBound> boundForOneMore(const Target& target, const BlockNeeds& needs) {
  if (target.simds == 0) return std::nullopt;
  BlockNeeds other = needs;
  other.registers = 0;
  const int now = occupancyOf(together(target), needs).blocks;
  if (now >= occupancyOf(together(target), other).blocks) return std::nullopt;
  const int warps = warpsOfSimd(target, (now + 1) * needs.warps);
  const auto each = static_cast<int>(target.registers.perSM / target.simds / target.warpSize / warps);
  return WarpBound{.warps = warps,
                   .registers = std::min(target.registers.perThread, each / target.registers.granule * target.registers.granule)};
}

}  // namespace fattn::gpu
