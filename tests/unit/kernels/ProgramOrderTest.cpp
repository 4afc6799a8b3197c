// SPDX-License-Identifier: Apache-2.0
// The grids of passes whose programs differ: all programs are there, and a device that begins them in order ends everywhere at about the
// same time.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <set>
#include <vector>

#include "kernels/attention/ProgramOrder.h"
#include "runtime/base/DieOrder.h"

namespace fattn::kernels {
namespace {

TEST(ProgramOrder, EachHeadIsInOneGroup) {
  for (std::int64_t heads : {1, 2, 7, 12, 32, 71, 96})
    for (std::int64_t batch : {1, 3, 16, 4099})
      for (std::int64_t blocks : {1, 5, 64, 1000}) {
        const Grid grid = unevenGrid({.blocks = blocks, .heads = heads, .batch = batch});
        EXPECT_EQ(grid.x * grid.z, heads * batch);
        EXPECT_EQ(grid.y, blocks);
        EXPECT_LE(grid.z, 65535);
        EXPECT_TRUE(grid.x == 1 || grid.z == 1 || grid.x * blocks <= 176) << heads << " " << batch << " " << blocks;
      }
}

TEST(ProgramOrder, MoreGroupsThanALaunchTakesAreOne) {
  const Grid grid = unevenGrid({.blocks = 3, .heads = 1, .batch = 100'003});  // a prime
  EXPECT_EQ(grid.x, 100'003);
  EXPECT_EQ(grid.z, 1);
}

TEST(ProgramOrder, NoHeadsAreNoPrograms) {
  for (const BlockCounts& counts : {BlockCounts{4, 0, 2}, BlockCounts{4, 2, 0}, BlockCounts{0, 2, 2}}) {
    const Grid grid = unevenGrid(counts);
    EXPECT_EQ(grid.x * grid.y * grid.z, 0);
  }
}

/// The sum over eight dies of the heads of keys that their programs read, where so many heads of queries share one of keys.
std::size_t headsReadByDies(const Grid& sizes, bool isUneven, DieOrder order, std::uint32_t group) {
  constexpr std::uint32_t kDies = 8;
  const DieOrder::Place grid = {static_cast<std::uint32_t>(sizes.x), static_cast<std::uint32_t>(sizes.y),
                                static_cast<std::uint32_t>(sizes.z)};
  std::set<std::pair<std::uint32_t, std::uint32_t>> read;
  for (std::uint32_t block = 0; block < grid[0] * grid[1] * grid[2]; ++block) {
    const DieOrder::Place program = order.programOf({block % grid[0], block / grid[0] % grid[1], block / grid[0] / grid[1]}, grid);
    const std::uint32_t head = isUneven ? program[2] * grid[0] + program[0] : program[2] * grid[1] + program[1];
    read.emplace(block % kDies, head / group);
  }
  return read.size();
}

TEST(ProgramOrder, DiesReadFewHeadsOfKeys) {
  struct Row {
    std::int64_t blocks;
    std::uint32_t group;
    std::size_t even, uneven, gathered;
  };
  for (const Row& row : {Row{8, 1, 1024, 128, 128}, Row{32, 1, 1024, 256, 128}, Row{64, 1, 1024, 512, 128}, Row{32, 4, 256, 256, 32}}) {
    SCOPED_TRACE(testing::Message() << row.blocks << " blocks, " << row.group << " heads of queries for one of keys");
    const BlockCounts counts{.blocks = row.blocks, .heads = 128, .batch = 1};
    EXPECT_EQ(headsReadByDies(evenGrid(counts), false, {}, row.group), row.even);
    EXPECT_EQ(headsReadByDies(unevenGrid(counts), true, {}, row.group), row.uneven);
    EXPECT_EQ(headsReadByDies(evenGrid(counts), false, {.dies = 8, .first = 0}, row.group), row.gathered);
    EXPECT_EQ(headsReadByDies(unevenGrid(counts), true, {.dies = 8, .first = 1}, row.group), row.gathered);
  }
}

/// The mean time of `units` over the longest, where each takes the next program when it is done. The work of block y falls by one from
/// block to block, and each program takes one more.
double evenness(const Grid& grid, bool isBlockAlongX, int units) {
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ends;
  for (int unit = 0; unit < units; ++unit) ends.push(0);
  std::int64_t all = 0, longest = 0;
  for (std::int64_t z = 0; z < grid.z; ++z)
    for (std::int64_t y = 0; y < grid.y; ++y)
      for (std::int64_t x = 0; x < grid.x; ++x) {
        const std::int64_t work = 1 + (isBlockAlongX ? grid.x - x : grid.y - y), end = ends.top() + work;
        ends.pop();
        ends.push(end);
        all += work, longest = std::max(longest, end);
      }
  return static_cast<double>(all) / units / static_cast<double>(longest);
}

/// 16384 rows in batches of one length, blocks of 128 rows, 8 heads of 256 columns of 16 bits, on 132 multiprocessors.
TEST(ProgramOrder, LongProgramsDoNotComeLast) {
  for (std::int64_t length : {1024, 2048, 4096, 8192, 16384}) {
    const BlockCounts counts{.blocks = length / 128, .heads = 8, .batch = 16384 / length};
    EXPECT_GT(evenness(unevenGrid(counts), false, 132), 0.965) << length;
    if (length <= 8192) EXPECT_LT(evenness(evenGrid(counts), true, 132), 0.9) << length << ": one head after the other";
  }
}

}  // namespace
}  // namespace fattn::kernels
