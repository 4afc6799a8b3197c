// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/AttentionSpace.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include "kernels/attention/AttentionSupport.h"

namespace fattn::kernels {
namespace {

bool onHost(const Machine& machine) { return machine.isHost(); }
bool copiesAhead(const Machine& machine) { return machine.async_copies; }
bool copiesByRegisters(const Machine& machine) { return !machine.isHost() && !machine.async_copies; }
bool multipliesByGroups(const Machine& machine) { return machine.warp_groups; }

// Rows for kinds of machines; a machine has what all of its rows say. 0 leaves a choice to the compiler, as where it ignores it.
struct SpaceRow {
  bool (*serves)(const Machine& machine);
  std::vector<std::int32_t> blockM, blockN, stages, warps;
  std::vector<std::int32_t> narrow;  // more of blockN for f32, both parts of whose operands take registers
};

const std::vector<SpaceRow>& rows() {
  static const std::vector<SpaceRow> table = {
      {onHost, {1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256}, {16, 32, 64, 96, 128, 192, 256}, {0}, {0}, {}},
      {copiesAhead, {16, 32, 64, 128, 256}, {32, 64, 96, 128}, {1, 2, 3, 4}, {1, 2, 4, 8}, {8, 16}},
      {multipliesByGroups, {192, 256}, {64, 80, 96, 128}, {2, 3}, {12, 16}, {}},  // three and four groups of four warps
      {copiesByRegisters, {32, 64, 128, 256}, {32, 64, 96, 128}, {1, 2, 3}, {2, 4, 8}, {}}};
  return table;
}

// Doublings between two choices.
double steps(std::int32_t a, std::int32_t b) { return a > 0 && b > 0 ? std::abs(std::log2(static_cast<double>(a) / b)) : 0; }

double distance(const TileConfig& a, const TileConfig& b) {
  return steps(a.block_m, b.block_m) + steps(a.block_n, b.block_n) + steps(a.stages, b.stages) + steps(a.warps, b.warps);
}

std::int64_t roundUp(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

// Blocks that are longer than the lengths compute on padding only.
std::optional<std::string> beyondLengths(const Lengths& lengths, const TileConfig& tile) {
  constexpr std::int64_t kSmallest = 16;
  auto beyond = [&](const char* name, std::int32_t block, const char* what, std::int64_t length) -> std::optional<std::string> {
    if (length <= 0) return std::nullopt;
    auto bucket = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(length)));
    if (block <= std::max(bucket, kSmallest)) return std::nullopt;
    return fmt::format("{}={} is more than the {} {} of this bucket of lengths", name, block, bucket, what);
  };
  if (auto reason = beyond("BLOCK_M", tile.block_m, "queries", lengths.q)) return reason;
  return beyond("BLOCK_N", tile.block_n, "keys", lengths.k);
}

// Blocks of few rows are for few queries: each block reads all keys and values.
std::optional<std::string> beneathLengths(const Lengths& lengths, const TileConfig& tile, std::int64_t fewRows) {
  constexpr std::int64_t kMostBlocks = 8;
  const std::int64_t blocks = tile.block_m > 0 ? lengths.q / tile.block_m : 0;
  if (tile.block_m >= fewRows || blocks <= kMostBlocks) return std::nullopt;
  return fmt::format("BLOCK_M={} would read the keys {} times for {} queries", tile.block_m, blocks, lengths.q);
}

// The plain scheme of a block: Q and a ring of K and V in shared memory; the scores, their rounded copy and the accumulator in registers.
std::optional<std::string> beyondMachine(const ForwardKind& kind, const TileConfig& tile, const Machine& machine) {
  constexpr std::int64_t kOtherRegisters = 40;  // addresses, maxima, sums, loop control
  constexpr std::int64_t kSlack = 4;            // it is an estimate: a quarter above the limit is still tried
  const std::int64_t warps = std::max(tile.warps, 1), threads = warps * machine.warp_size;
  const std::int64_t rows = machine.dotRows(kind.dtype);
  if (rows != 0 && tile.warps != 0 && tile.block_m % (rows * warps) != 0)
    return fmt::format("BLOCK_M={} is no multiple of {} rows for each of {} warps", tile.block_m, rows, warps);
  const std::int64_t shared = plainSharedBytes(kind, tile), widthV = roundUp(kind.head_dim_v, 16);
  if (shared > machine.shared_bytes) return fmt::format("it needs {} bytes of shared memory, a block has {}", shared, machine.shared_bytes);
  if (tile.warps == 0) return std::nullopt;
  const std::int64_t values = tile.block_m * widthV + tile.block_m * tile.block_n * 3 / 2;
  const std::int64_t registers = (values + threads - 1) / threads + kOtherRegisters;
  const int limit = machine.registers(static_cast<int>(threads));
  if (registers > limit + limit / kSlack) return fmt::format("it needs about {} registers a thread, which has {}", registers, limit);
  return std::nullopt;
}

}  // namespace

std::vector<TileConfig> attentionSpace(const ForwardKind& kind, const Machine& machine) {
  std::vector<TileConfig> space;
  for (const SpaceRow& row : rows()) {
    if (!row.serves(machine)) continue;
    std::vector<std::int32_t> blockN = row.blockN;
    if (kind.dtype == DType::F32) blockN.insert(blockN.end(), row.narrow.begin(), row.narrow.end());
    for (std::int32_t m : row.blockM)
      for (std::int32_t n : blockN)
        for (std::int32_t stages : row.stages)
          for (std::int32_t warps : row.warps) space.push_back({.block_m = m, .block_n = n, .stages = stages, .warps = warps});
  }
  const TileConfig safe = defaultTile(kind, machine);
  std::ranges::sort(space, {}, [&](const TileConfig& tile) {
    return std::tuple(distance(tile, safe), tile.block_m, tile.block_n, tile.stages, tile.warps);
  });
  if (space.empty() || space.front() != safe) space.insert(space.begin(), safe);
  return space;
}

std::optional<std::string> attentionMisfit(const ForwardKind& kind, const TileConfig& tile, const Machine& machine,
                                           const Lengths& lengths) {
  if (std::optional<std::string> reason = beyondLengths(lengths, tile)) return reason;
  constexpr std::int64_t kFewOnHost = 16, kFewOnGpu = 64;  // rows of a block
  if (std::optional<std::string> reason = beneathLengths(lengths, tile, machine.isHost() ? kFewOnHost : kFewOnGpu)) return reason;
  if (machine.isHost()) return std::nullopt;
  return beyondMachine(kind, tile, machine);
}

}  // namespace fattn::kernels
