// SPDX-License-Identifier: Apache-2.0
// How groups of warps share the columns of a product that has too few rows for all of them.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/gpu/passes/DotShapes.h"

namespace fattn::tilegpu {
namespace {

/// Groups and the columns of a part, for 16-bit operands on sm_90a; 0 and 0 where they cannot.
std::pair<std::int64_t, std::int64_t> shared(std::int64_t rows, std::int64_t columns, std::int64_t warps, bool alongRows = false) {
  const auto& table = gpu::findTarget("nvidia:sm_90a").matrix;
  const auto unit =
      std::ranges::find_if(table, [](const gpu::MatrixInstruction& row) { return row.asynchronous && row.takes(DType::BF16); });
  EXPECT_NE(unit, table.end());
  const auto found = sharedColumns({.m = rows, .n = columns, .k = 64}, *unit, warps, /*bits=*/16, alongRows);
  return found ? std::pair(found->groups, found->part) : std::pair<std::int64_t, std::int64_t>();
}

constexpr std::pair<std::int64_t, std::int64_t> kNone = {0, 0};

TEST(SharedColumns, WithEnoughRowsEachGroupHasAllOfThem) {
  EXPECT_EQ(shared(64, 160, 4), std::pair(int64_t{1}, int64_t{160}));
  EXPECT_EQ(shared(128, 192, 8), std::pair(int64_t{1}, int64_t{192}));
  EXPECT_EQ(shared(192, 24, 12), std::pair(int64_t{1}, int64_t{24}));
}

TEST(SharedColumns, APowerOfTwoLiesTogether) {
  EXPECT_EQ(shared(64, 256, 8), std::pair(int64_t{2}, int64_t{128}));
  EXPECT_EQ(shared(64, 64, 8), std::pair(int64_t{2}, int64_t{32}));
  EXPECT_EQ(shared(64, 256, 16), std::pair(int64_t{4}, int64_t{64}));
  EXPECT_EQ(shared(128, 128, 16), std::pair(int64_t{2}, int64_t{64}));
}

TEST(SharedColumns, OthersHavePartsThatAreColumnsOfSharedMemory) {
  EXPECT_EQ(shared(64, 192, 8), std::pair(int64_t{2}, int64_t{32}));
  EXPECT_EQ(shared(64, 192, 12), std::pair(int64_t{3}, int64_t{64}));
}

TEST(SharedColumns, PartsBelow64BytesAreNone) {
  EXPECT_EQ(shared(64, 32, 8), kNone);
  EXPECT_EQ(shared(64, 160, 8), kNone);
  EXPECT_EQ(shared(64, 224, 8), kNone);
  EXPECT_EQ(shared(96, 128, 8), kNone);  // no multiple of an instruction's rows
}

// Rows of the buffer, of which a descriptor may begin with each eighth.
TEST(SharedColumns, ColumnsThatAreRowsOfMemoryNeedNoParts) {
  EXPECT_EQ(shared(64, 160, 8, true), std::pair(int64_t{2}, int64_t{80}));
  EXPECT_EQ(shared(64, 48, 8, true), std::pair(int64_t{2}, int64_t{24}));
  EXPECT_EQ(shared(64, 24, 8, true), kNone);  // 12 columns are no instruction's
}

}  // namespace
}  // namespace fattn::tilegpu
