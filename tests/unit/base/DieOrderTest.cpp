// SPDX-License-Identifier: Apache-2.0
// Which program a block takes: on grids of many sizes each program once, and on each die programs that follow each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/DieOrder.h"

namespace fattn {
namespace {

using Place = DieOrder::Place;

std::vector<Place> gridsToTry() {
  std::vector<Place> grids = {{1, 1, 1}, {304, 1, 1}, {1, 1, 77}, {64, 16, 4}, {5, 32, 13}, {17, 9, 1}};
  for (std::uint32_t x = 1; x <= 40; ++x) grids.push_back({x, 1, 1});
  for (std::uint32_t x = 1; x <= 9; ++x)
    for (std::uint32_t y = 1; y <= 9; ++y)
      for (std::uint32_t z : {1U, 2U, 3U, 8U}) grids.push_back({x, y, z});
  return grids;
}

/// A place's number where `first` is the axis that is numbered first, and then the others from x on.
std::uint32_t numberOf(const Place& place, const Place& grid, std::size_t first) {
  std::vector<std::size_t> axes = {0, 1, 2};
  axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(first)), axes.insert(axes.begin(), first);
  return place[axes[0]] + grid[axes[0]] * (place[axes[1]] + grid[axes[1]] * place[axes[2]]);
}

/// The numbers of the programs that the blocks take, in the blocks' order.
std::vector<std::uint32_t> programsOf(const DieOrder& order, const Place& grid) {
  std::vector<std::uint32_t> programs;
  for (std::uint32_t z = 0; z < grid[2]; ++z)
    for (std::uint32_t y = 0; y < grid[1]; ++y)
      for (std::uint32_t x = 0; x < grid[0]; ++x) {
        const Place program = order.programOf({x, y, z}, grid);
        EXPECT_EQ(order.blockOf(program, grid), (Place{x, y, z}));
        programs.push_back(numberOf(program, grid, order.first));
      }
  return programs;
}

TEST(DieOrder, EachDieGetsProgramsThatFollowEachOtherAndAllOfThemOnce) {
  for (const Place& grid : gridsToTry())
    for (std::uint8_t dies : {2, 6, 8})
      for (std::uint8_t first : {0, 1, 2}) {
        SCOPED_TRACE(testing::Message() << grid[0] << " x " << grid[1] << " x " << grid[2] << ", " << int{dies} << " dies, axis "
                                        << int{first});
        const std::vector<std::uint32_t> programs = programsOf({.dies = dies, .first = first}, grid);
        std::uint32_t next = 0;
        for (std::size_t die = 0; die < dies; ++die)
          for (std::size_t block = die; block < programs.size(); block += dies) ASSERT_EQ(programs[block], next++) << "block " << block;
        ASSERT_EQ(next, programs.size());
      }
}

TEST(DieOrder, OneDieChangesNothing) {
  const Place grid = {3, 5, 2};
  const std::vector<std::uint32_t> programs = programsOf({}, grid);
  EXPECT_TRUE(std::ranges::is_sorted(programs));
}

TEST(DieOrder, LaunchesWhoseBlocksHaveNoNumberOf32BitsKeepTheirOrder) {
  const DieOrder order{.dies = 8};
  const Place place = {3, 2, 1};
  for (const Place& grid : {Place{1U << 16, 1U << 16, 1}, Place{0x7fffffff, 0xffff, 0xffff}, Place{1U << 31, 2, 1}}) {
    EXPECT_EQ(order.programOf(place, grid), place);
    EXPECT_EQ(order.blockOf(place, grid), place);
  }
  const Place most = {0xffffffff, 1, 1};
  EXPECT_EQ(order.programOf({1, 0, 0}, most), (Place{0x20000000, 0, 0})) << "the second die begins behind an eighth";
}

}  // namespace
}  // namespace fattn
