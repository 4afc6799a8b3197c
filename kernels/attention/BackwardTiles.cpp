// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/BackwardTiles.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/attention/BackwardParts.h"

namespace fattn::kernels::backward {
namespace {

std::int64_t widthOf(const Parameters& parameters) { return std::max(parameters.integer("head_dim"), parameters.integer("head_dim_v")); }

std::int64_t leastWidthOf(const Parameters& parameters) {
  return std::min(parameters.integer("head_dim"), parameters.integer("head_dim_v"));
}

// Where a matrix unit reads shared memory by itself (wgmma): groups of four warps with 64 rows each.
bool hasUnit(const Parameters& parameters, const Machine& machine) {
  return machine.warp_groups && sizeInBytes(parameters.dtype("dtype")) == 2;
}

TileConfig tileOf(std::int32_t m, std::int32_t n, std::int32_t warps, std::string schedule = "", std::int32_t stages = 2) {
  return {.block_m = m, .block_n = n, .stages = stages, .warps = warps, .schedule = std::move(schedule)};
}

// The engine copies aligned rows, and not to the end of a sequence alone.
bool hasBoxes(const Parameters& parameters) {
  return parameters.integer("alignment") >= 16 && (!isPacked(parameters) || parameters.flag("boxes"));
}

bool hasEqualWidths(const Parameters& parameters) { return parameters.integer("head_dim") == parameters.integer("head_dim_v"); }

// Rows of such a width fill whole columns of shared memory.
bool hasWholeRows(const Parameters& parameters) {
  const std::int64_t width = widthOf(parameters);
  return hasBoxes(parameters) && hasEqualWidths(parameters) && (width == 64 || width == 128);
}

// What is added to dQ is one warp group's, and comes a trip later; dK in its own trip, behind dV or before dV is waited for, in the next
// one, or from one into the other.
constexpr const char *kOwnersInTrip = "A B a C b c d D E1 e1 owners", *kOwnersAndBoth = "A B a C b c D d E1 e1 owners",
                     *kOwnersAndLateKeys = "D1 A B a C b c d E1 e1 owners", *kOwnersAndRunningKeys = "A B a C b c d D_ E1 e1 owners";

// Tiles and orders of the loop over queries that measured best (docs/backward.md): scores and their gradients begin together, and dV while
// dS is computed. With sums, what is added to dQ is one warp group's, and comes a trip later, when the other group's part of dS is old. Up
// to 64 columns 128 queries a trip halve what is read and added for a key; beyond, a third slot lets the two groups be most of a trip
// apart.
TileConfig tileWithSums(std::int64_t width) {
  if (width <= 64) return tileOf(128, 128, 8, width < 64 ? kOwnersInTrip : kOwnersAndBoth);
  return tileOf(64, 128, 8, kOwnersAndBoth, 3);
}

// Without sums dK runs on, or begins in the next trip, where there are registers, so that the scores do not wait for it.
TileConfig wholeRowsTile(const Parameters& parameters) {
  const std::int64_t width = widthOf(parameters);
  if (parameters.flag("sums")) return tileWithSums(width);
  if (width > 64) return tileOf(64, 128, 8, "A B a C b c D");
  return parameters.flag("causal") ? tileOf(64, 128, 8, "D1 A B a C b c") : tileOf(64, 128, 8, "A B a C b c D_", 3);
}

// Rows beyond 128 columns. A thread of the 128 keys that two groups share keeps half of dK's and dV's columns, and half as many numbers of
// S and dP each as a step has queries; it has 240 registers. Where the widths leave no room for 32 queries the groups share 64 keys, the
// columns of dK and dV, and, of equal widths, P and dS, which they exchange. The bounds are what ptxas keeps in registers.
std::vector<TileConfig> wideCandidates(const Parameters& parameters) {
  const std::int64_t columns = parameters.integer("head_dim") + parameters.integer("head_dim_v");
  const bool equal = hasEqualWidths(parameters);
  if (leastWidthOf(parameters) < 16) return {tileOf(32, 128, 8)};
  if (parameters.flag("sums")) return {tileOf(64, 64, 8, "A B a d C b c e f E g D")};
  if (equal && columns <= 272) return {tileOf(64, 128, 8)};
  if (columns <= (equal ? 352 : 320)) return {tileOf(32, 128, 8, "", 3), tileOf(32, 128, 8)};
  return {tileOf(64, 64, 8, equal ? "A B a c b d C D_ pairs" : "A B a d C b c e D")};
}

// Other widths. Below 16 the loop has other nodes, and the search decides.
TileConfig otherRowsTile(const Parameters& parameters) {
  const std::int64_t width = widthOf(parameters);
  const bool sums = parameters.flag("sums");
  if (!hasBoxes(parameters) || leastWidthOf(parameters) < 16) return tileOf(width <= 64 && !sums ? 64 : 32, 128, 8);
  if (sums) return tileWithSums(width);
  return tileOf(64, 128, 8, "A B a C b c D");
}

// The largest blocks whose loops keep their numbers in registers, or nearly so (docs/backward.md); the largest first, as shared memory
// differs. dK and dV take 2 BLOCK_N widths of registers, so that wide heads have few keys a program.
std::vector<TileConfig> keysCandidates(const Parameters& parameters, const Machine& machine) {
  const std::int64_t width = widthOf(parameters);
  const bool sums = parameters.flag("sums");
  if (parameters.dtype("dtype") == DType::F32) {  // both parts of a split operand take registers
    if (width <= 64) return {tileOf(16, 32, 8)};
    return {tileOf(8, 32, 4), tileOf(8, 16, 4), tileOf(8, 8, 4)};
  }
  if (hasUnit(parameters, machine) && hasWholeRows(parameters)) return {wholeRowsTile(parameters)};
  if (hasUnit(parameters, machine) && width <= 128) return {otherRowsTile(parameters)};
  if (hasUnit(parameters, machine) && hasBoxes(parameters)) return wideCandidates(parameters);
  if (sums && parameters.text("order") == "lanes") {
    if (width <= 64) return {tileOf(32, 128, 4), tileOf(16, 32, 8)};
    // With little shared memory one stage leaves room for two blocks on a multiprocessor, which wait for their copies in turns; wide heads
    // have more warps instead.
    if (width <= 128) return {tileOf(64, 128, 8), tileOf(64, 64, 4, "", 1), tileOf(16, 64, 4), tileOf(16, 32, 8)};
    // What is loaded for rows stands in front of the products; with a mask behind them, where the search puts it.
    return {tileOf(64, 64, 8, parameters.flag("causal") ? "" : "a b A B c C D E d", 1), tileOf(16, 64, 8), tileOf(16, 32, 8)};
  }
  if (width <= 64) return {sums ? tileOf(32, 64, 8) : tileOf(64, 128, 8)};
  if (width <= 128) return {sums ? tileOf(32, 64, 8) : tileOf(32, 128, 8), tileOf(16, 32, 8)};
  return {sums ? tileOf(16, 64, 8) : tileOf(64, 32, 8), tileOf(64, 32, 4, "", 1), tileOf(32, 32, 8), tileOf(16, 32, 8), tileOf(16, 16, 4)};
}

std::vector<TileConfig> queriesCandidates(const Parameters& parameters, const Machine& machine) {
  const std::int64_t width = widthOf(parameters);
  if (parameters.dtype("dtype") == DType::F32) return {tileOf(64, 16, 4), tileOf(32, 16, 4), tileOf(16, 16, 4), tileOf(16, 8, 4)};
  if (hasUnit(parameters, machine)) {
    const std::string order = hasWholeRows(parameters) ? "A B C1 a b c" : "";  // at most 1 % behind the best of 7
    if (width <= 64) return {order.empty() ? tileOf(64, 64, 4) : tileOf(128, 128, 8, order)};
    return {tileOf(128, 64, 8, order), tileOf(128, 32, 8)};
  }
  if (width <= 128) return {tileOf(128, 64, 8), tileOf(64, 32, 4)};
  return {tileOf(64, 32, 8), tileOf(64, 16, 4), tileOf(32, 16, 4), tileOf(16, 16, 4)};
}

std::int64_t keysBytes(const Parameters& parameters, const TileConfig& tile) {
  return ringBytes(parameters, tile.block_n, tile.block_m, tile.stages);
}
std::int64_t queriesBytes(const Parameters& parameters, const TileConfig& tile) {
  return ringBytes(parameters, tile.block_m, tile.block_n, tile.stages);
}

template <typename Bytes>
TileConfig firstThatFits(const std::vector<TileConfig>& tiles, const Parameters& parameters, const Machine& machine, Bytes bytes) {
  const auto found = std::ranges::find_if(tiles, [&](const TileConfig& tile) { return bytes(parameters, tile) <= machine.shared_bytes; });
  return found == tiles.end() ? tiles.back() : *found;
}

std::vector<TileConfig> loopSpace(const TileConfig& first, const Machine& machine) {
  const bool host = machine.isHost();
  std::vector<TileConfig> space = {first};
  for (const std::int32_t m : {32, 64, 128})
    for (const std::int32_t n : {32, 64, 128})
      for (const std::int32_t stages : host ? std::vector{0} : std::vector{1, 2, 3})
        for (const std::int32_t warps : host ? std::vector{0} : std::vector{4, 8, 16}) {
          const TileConfig tile{.block_m = m, .block_n = n, .stages = stages, .warps = warps};
          if (tile != first) space.push_back(tile);
        }
  return space;
}

std::optional<std::string> tooMuchShared(std::int64_t bytes, const Machine& machine) {
  if (machine.isHost() || bytes <= machine.shared_bytes) return std::nullopt;
  return "it needs about " + std::to_string(bytes) + " bytes of shared memory, a block has " + std::to_string(machine.shared_bytes);
}

}  // namespace

TileConfig keysTile(const Parameters& parameters, const Machine& machine) {
  if (machine.isHost()) return {.block_m = 64, .block_n = 64};
  return firstThatFits(keysCandidates(parameters, machine), parameters, machine, keysBytes);
}

TileConfig queriesTile(const Parameters& parameters, const Machine& machine) {
  if (machine.isHost()) return {.block_m = 64, .block_n = 64};
  return firstThatFits(queriesCandidates(parameters, machine), parameters, machine, queriesBytes);
}

TileConfig rowsTile(const Parameters&, const Machine& machine) {
  return machine.isHost() ? TileConfig{.block_m = 16} : TileConfig{.block_m = 16, .stages = 1, .warps = 4};
}

TileConfig roundTile(const Parameters& parameters, const Machine& machine) {
  TileConfig tile = rowsTile(parameters, machine);
  const std::int64_t width = parameters.integer("head_dim");
  if (!WorkspaceOrder(parameters).hasFragments(width)) return tile;
  // 16 numbers for a thread, so that it stores two rows of 16 bytes.
  constexpr std::int64_t kLanes = 32, kNumbers = 16;
  tile.block_m = std::max(tile.block_m, static_cast<std::int32_t>(tile.warps * kLanes * kNumbers / width));
  return tile;
}

bool hasPairs(const TileConfig& tile) { return (" " + tile.schedule + " ").contains(" pairs "); }

std::vector<TileConfig> keysSpace(const Parameters& parameters, const Machine& machine) {
  std::vector<TileConfig> space = loopSpace(keysTile(parameters, machine), machine);
  if (!parameters.flag("sums") || !hasUnit(parameters, machine) || !hasBoxes(parameters)) return space;
  for (const char* order : {kOwnersInTrip, kOwnersAndBoth, kOwnersAndLateKeys, kOwnersAndRunningKeys})
    for (const std::int32_t stages : {2, 3})
      if (const TileConfig tile = tileOf(64, 128, 8, order, stages); tile != space.front()) space.push_back(tile);
  if (const TileConfig tile = tileOf(128, 128, 8, kOwnersInTrip); tile != space.front()) space.push_back(tile);
  return space;
}

std::vector<TileConfig> queriesSpace(const Parameters& parameters, const Machine& machine) {
  return loopSpace(queriesTile(parameters, machine), machine);
}

namespace {

std::vector<TileConfig> blocksOfRows(const TileConfig& first, const Parameters& parameters, const Machine& machine) {
  std::vector<TileConfig> space = {first};
  for (std::int32_t m = WorkspaceOrder(parameters).hasFragments() ? kFragmentRows : 8; m <= 64; m *= 2)
    for (const std::int32_t warps : machine.isHost() ? std::vector{0} : std::vector{2, 4, 8}) {
      const TileConfig tile{.block_m = m, .stages = machine.isHost() ? 0 : 1, .warps = warps};
      if (tile != space.front()) space.push_back(tile);
    }
  return space;
}

}  // namespace

std::vector<TileConfig> rowsSpace(const Parameters& parameters, const Machine& machine) {
  return blocksOfRows(rowsTile(parameters, machine), parameters, machine);
}

std::vector<TileConfig> roundSpace(const Parameters& parameters, const Machine& machine) {
  return blocksOfRows(roundTile(parameters, machine), parameters, machine);
}

std::optional<std::string> keysMisfit(const Parameters& parameters, const TileConfig& tile, const Machine& machine,
                                      std::span<const std::int64_t>) {
  return tooMuchShared(keysBytes(parameters, tile), machine);
}

std::optional<std::string> queriesMisfit(const Parameters& parameters, const TileConfig& tile, const Machine& machine,
                                         std::span<const std::int64_t>) {
  return tooMuchShared(queriesBytes(parameters, tile), machine);
}

}  // namespace fattn::kernels::backward
