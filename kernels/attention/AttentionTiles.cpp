// SPDX-License-Identifier: Apache-2.0
// Tile configurations where nothing is tuned. The figures behind the table: docs/performance.md, "Default tile configurations". On the
// machine they were measured on none of them spills.
#include <algorithm>
#include <vector>

#include "fattn/Target.h"
#include "kernels/attention/AttentionSupport.h"

namespace fattn::kernels {
namespace {

// Orders of the loop's work (docs/schedule.md): A and B are its dots, a and b the arithmetic behind them. One that does not fit the loop
// gives way to the compiler's first choice.
constexpr const char* kLateDot = "A B1 a b";                 // B of the iteration before, between A and its arithmetic
constexpr const char* kLateTail = "A a B1 b";                // B of the iteration before, behind A's arithmetic
constexpr const char* kLateDotDynamic = "A B1 a b dynamic";  // the first, and a block takes one program after another

// Best first; the last is for chips with little shared memory.
std::vector<TileConfig> candidates(DType dtype, std::int64_t width) {
  const bool padded = width % 16 != 0;  // columns of zeros and their checks take registers
  const bool grows = width % 32 == 24;  // to a multiple of 32 (-tilegpu-pad-tiles)
  if (dtype == DType::F32) {            // both parts of a split operand take registers
    const TileConfig narrow{.block_m = 64, .block_n = 16, .stages = 2, .warps = 4},
        shallow{.block_m = 128, .block_n = 8, .stages = 2, .warps = 8};
    if (width <= 96) return {narrow};
    if (width <= 112) return {shallow, narrow};
    if (width <= 136) return {narrow};
    if (width <= 200)
      return {{.block_m = 128, .block_n = 16, .stages = 2, .warps = 8}, {.block_m = 64, .block_n = 8, .stages = 2, .warps = 4}};
    return {{.block_m = 64, .block_n = 8, .stages = 2, .warps = 4}};
  }
  const TileConfig usual{.block_m = 128, .block_n = 64, .stages = 2, .warps = 4};
  if (width >= 48 && width <= 64) return {TileConfig{.block_m = 128, .block_n = 64, .stages = 2, .warps = 4, .schedule = kLateDot}};
  if (width == 88) return {TileConfig{.block_m = 128, .block_n = 64, .stages = 2, .warps = 4, .schedule = kLateTail}};
  if (width <= 80 || (width <= 128 && (!padded || grows))) return {usual};
  if (width <= 128) return {TileConfig{.block_m = 128, .block_n = 32, .stages = 2, .warps = 4, .schedule = kLateTail}};
  std::vector<TileConfig> wide = {{.block_m = 128, .block_n = 64, .stages = 2, .warps = 8},
                                  {.block_m = 128, .block_n = 32, .stages = 2, .warps = 8, .schedule = kLateTail},
                                  {.block_m = 64, .block_n = 32, .stages = 2, .warps = 4, .schedule = kLateTail}};
  if (width == 152 || width == 184) wide.erase(wide.begin());
  if (width == 160 || width == 192)
    wide.insert(wide.begin(), TileConfig{.block_m = 64, .block_n = 64, .stages = 2, .warps = 4, .schedule = kLateTail});
  return wide;
}

// Where a matrix unit reads shared memory by itself (wgmma): groups of four warps with 64 rows each. One block fills an SM: four groups
// where a head leaves them registers, up to 64 columns and, without a mask, 72; three below 128 and, without a mask, up to 168; else two.
// The model ranks orders as equal that differ by 10 % on an H200: these name the best. Three groups are faster than two wherever they have
// the registers, but at 128 columns with a mask (0.97 at 4096 rows, 1.02 at 16384), and where the last tile is long and hardly used (0.98
// to 0.99 at 1024 rows, where 2048 have 1.02 and 8192 have 1.05); at 136 to 168 columns they spill with a mask. Blocks take several
// programs, as the next one's operands arrive while this one ends: handed out as blocks are done. With four slots groups of up to 64
// columns whose rows end sooner begin the next program sooner.
std::vector<TileConfig> unitCandidates(std::int64_t width, bool isUneven, std::int64_t queries) {
  const TileConfig two{.block_m = 128, .block_n = 64, .stages = 2, .warps = 8, .schedule = kLateDotDynamic};
  TileConfig three{.block_m = 192, .block_n = 64, .stages = 2, .warps = 12, .schedule = kLateDotDynamic};
  const TileConfig four{.block_m = 256, .block_n = 64, .stages = 4, .warps = 16, .schedule = kLateDotDynamic};
  const TileConfig square{.block_m = 128, .block_n = 128, .stages = 2, .warps = 8, .schedule = kLateDotDynamic};
  const TileConfig fewKeys{.block_m = 128, .block_n = 32, .stages = 2, .warps = 8, .schedule = kLateDot};
  if (width <= (isUneven ? 64 : 72)) return {four, two};
  if (width < 128) return {three, two};
  const std::int64_t computed = (queries + three.block_m - 1) / three.block_m * three.block_m;
  if (width == 128 && (isUneven || 10 * computed > 11 * queries)) return {square, two};
  if (width > 168 || isUneven) return {two, fewKeys};
  if (width % 16 != 0) three.schedule = kLateDot;  // columns of zeros take the registers that several programs need
  return {three, two, fewKeys};
}

// Where copies go through registers, which is so on AMD's chips. No run on such a chip stands behind these: the model of time
// (docs/simulator.md) chose them at head dimensions 64 and 128 of 16-bit types, where no loop stores registers
// (tests/unit/kernels/DefaultTilesTest.cpp). Other head dimensions may. Waves of 64 lanes have twice the registers of those of 32.
TileConfig registerCopiesTile(const Machine& machine, DType dtype, std::int64_t width) {
  const bool isLarge = machine.warp_size == 64;
  if (dtype == DType::F32) return {.block_m = 64, .block_n = 32, .stages = 1, .warps = 8};
  if (width <= 128 && isLarge) return {.block_m = 128, .block_n = width <= 64 ? 32 : 64, .stages = 2, .warps = 4};
  // The next trip's loads run beside this one's products where there are registers for them.
  const int stages = width <= 64 || width % 32 == 0 ? 2 : 1;
  if (width <= 128) return {.block_m = 128, .block_n = 32, .stages = stages, .warps = 8};
  return isLarge ? TileConfig{.block_m = 64, .block_n = 32, .stages = 1, .warps = 8}
                 : TileConfig{.block_m = 64, .block_n = 16, .stages = 1, .warps = 16};
}

// A tenth more for what moves between layouts.
bool fits(const ForwardKind& kind, const TileConfig& tile, const Machine& machine) {
  return plainSharedBytes(kind, tile) * 11 / 10 <= machine.shared_bytes;
}

}  // namespace

TileConfig defaultTile(const ForwardKind& kind, const Machine& machine, bool isUneven, std::int64_t queries) {
  if (machine.isHost()) return {.block_m = 64, .block_n = 64};
  const std::int64_t width = std::max(kind.head_dim, kind.head_dim_v);
  if (!machine.async_copies) {
    TileConfig tile = registerCopiesTile(machine, kind.dtype, width);
    // Programs of one length are as fast in the grid's order, by a model without caches.
    if (isUneven && machine.dies > 1) tile.schedule = "dies";
    return tile;
  }
  const bool unit = machine.warp_groups && width >= 16 && sizeInBytes(kind.dtype) == 2;
  const std::vector<TileConfig> tiles = unit ? unitCandidates(width, isUneven, queries) : candidates(kind.dtype, width);
  auto found = std::ranges::find_if(tiles, [&](const TileConfig& tile) { return fits(kind, tile, machine); });
  return found == tiles.end() ? tiles.back() : *found;
}

}  // namespace fattn::kernels
