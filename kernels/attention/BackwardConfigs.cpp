// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/BackwardConfigs.h"

#include <algorithm>

#include "kernels/attention/AttentionBackward.h"
#include "kernels/attention/BackwardParts.h"
#include "kernels/attention/OperandChecks.h"

namespace fattn::kernels::backward {
namespace {

constexpr int kBoxAlignment = 16;  // bytes

/// Whether the blocks of rows consist of whole fragments, as NVIDIA's instructions leave results of 16-bit types (BackwardParts.h).
bool hasFragments(const BackwardConfig& config, const Machine& machine) {
  const auto fits = [](const std::optional<TileConfig>& tile) { return !tile || tile->block_m % kFragmentRows == 0; };
  return machine.chip.starts_with("nvidia:") && sizeInBytes(config.dtype) == 2 && config.head_dim % kFragmentRows == 0 &&
         fits(config.tile) && fits(config.tile_dq);
}

/// Whether dQ from a kernel of its own is faster than dQ from sums, so that who allows sums gets none (docs/backward.md has the figures).
/// On the host an atomic addition of f32 takes longer than computing scores again, and AMD's were not compared. In f32 products take so
/// long that NVIDIA's additions hide behind them. Sums of 16-bit types are worth it where an engine adds boxes, up to 128 columns: above,
/// blocks of keys are small, and each of them adds to all rows of dQ. Without Hopper's instructions they are worth it where a warp adds 128
/// bytes at once.
bool sumsAreSlower(const BackwardConfig& config) {
  if (namesHost(config.target)) return true;
  const Machine machine = machineOf(config.target);
  if (!machine.chip.starts_with("nvidia:")) return true;
  if (sizeInBytes(config.dtype) != 2) return false;
  const std::int64_t width = std::max(config.head_dim, config.head_dim_v);
  if (machine.warp_groups) return config.alignment < kBoxAlignment || width > 128;
  const bool byLanes = hasFragments(config, machine) && hasWholeFragments(config.head_dim);
  return !byLanes;
}

/// The order of the workspace (BackwardParts.h).
std::string workspaceOrder(const BackwardConfig& config) {
  const Machine machine = machineOf(config.target);
  if (!hasFragments(config, machine)) return "rows";
  if (machine.warp_groups) return "vectors";
  return config.deterministic ? "rows" : "lanes";
}

BackwardConfig completedBackward(BackwardConfig config) {
  config.target = resolveTarget(config.target);
  config.alignment = completedAlignment(config.target, config.dtype, config.alignment);
  if (config.head_dim_v == 0) config.head_dim_v = config.head_dim;
  if (!config.tile || namesHost(config.target)) config.deterministic |= sumsAreSlower(config);
  return config;
}

void requireTile(const char* member, const TileConfig& tile) {
  tile.validate();
  if (tile.block_k != 0)
    throw Error(ErrorCode::InvalidArgument, std::string(member) + ": BLOCK_K is no choice of the backward pass",
                "its choices are BLOCK_M, BLOCK_N, STAGES, WARPS, SCHEDULE");
}

/// Statistics and sums are blocks of 128 rows: a larger block of queries would add to the next head's sums, or read the next sequence's
/// statistics.
void requireWholeStatistics(const BackwardConfig& config) {
  if (!config.tile || config.tile->block_m == 0 || kStatisticsRows % config.tile->block_m == 0) return;
  if (!config.deterministic || config.packed)
    throw Error(ErrorCode::InvalidArgument, "tile: BLOCK_M is " + std::to_string(config.tile->block_m) + "; where " +
                                                (config.packed ? "sequences are packed" : "the mode is not deterministic") +
                                                ", it must divide 128");
}

/// Whether an engine copies blocks, which ends them with a tensor, not with a sequence of it. Blocks that threads copy end anywhere.
bool readsOn(const BackwardConfig& config) {
  return machineOf(config.target).warp_groups && sizeInBytes(config.dtype) == 2 && config.alignment >= kBoxAlignment;
}

}  // namespace

BackwardConfig legalBackward(const BackwardConfig& given) {
  requireTarget(given.target);
  requireAlignment(given.dtype, given.alignment);
  BackwardConfig config = completedBackward(given);
  if (config.tile) requireTile("tile", *config.tile);
  if (config.tile_dq) requireTile("tile_dq", *config.tile_dq);
  if (config.tile_dq && !config.deterministic)
    throw Error(ErrorCode::InvalidArgument, "tile_dq: only the deterministic mode has a kernel for dQ that it could be for",
                "set deterministic, or leave tile_dq out");
  requireWholeStatistics(config);
  return config;
}

Parameters parametersOf(const BackwardConfig& config, bool hasCausal, bool hasSums) {
  Parameters parameters = {{"dtype", std::string(name(config.dtype))},
                           {"head_dim", config.head_dim},
                           {"head_dim_v", config.head_dim_v},
                           {"alignment", std::int64_t{config.alignment}},
                           {"order", workspaceOrder(config)}};
  if (hasCausal) parameters.set("causal", config.causal);
  if (hasSums) parameters.set("sums", !config.deterministic);
  if (config.packed) parameters.set("boxes", readsOn(config));
  return parameters;
}

}  // namespace fattn::kernels::backward
