// SPDX-License-Identifier: Apache-2.0
// Every name of the list is a layout; what the drawings promise.
#include "compiler/layout/Draw.h"
#include "compiler/layout/Named.h"
#include "tests/unit/layout/Support.h"

namespace fattn::layout {
namespace {

TEST(Named, EveryListedNameIsALayoutOntoItsTile) {
  int names = 0;
  for (const NameFamily& family : nameFamilies()) {
    for (const std::string& name : family.members) {
      NamedOptions options;
      if (family.needsShape) options.shape = {64, 64};
      NamedLayout layout = namedLayout(name, options);
      ++names;
      ASSERT_NE(layout.registers.has_value(), layout.shared.has_value()) << name;
      if (layout.registers) {
        EXPECT_TRUE(layout.registers->isSurjective()) << name;
      }
      Drawing drawing = draw(layout);
      EXPECT_EQ(drawing.rows.size(), layout.registers ? layout.registers->outputShape()[0] : 64) << name;
    }
  }
  EXPECT_GT(names, 80);
}

TEST(Named, OptionsReachTheLayout) {
  NamedLayout layout = namedLayout("mma.m16n8k16.c", {.shape = {64, 80}, .warps = {4, 1}});
  test::expectBijection(*layout.registers, {64, 80});
  EXPECT_EQ(layout.bits, 32) << "accumulators";
  EXPECT_EQ(namedLayout("mma.m16n8k16.a", {.bits = 8}).registers->inputSize("register"), 8);
  EXPECT_EQ(namedLayout("blocked", {.shape = {64, 64}, .warps = {2, 2}, .lanes = 64, .order = {0, 1}}).registers->inputSize("lane"), 64);
  EXPECT_EQ(namedLayout("rowmajor", {.shape = {8, 64}, .padInterval = 64, .padAmount = 8}).shared->offsetOf({1, 0}), 72);
}

TEST(Draw, TextIsATable) {
  std::string table = text(draw(namedLayout("ldmatrix.x1.trans"), 2, 3));
  EXPECT_EQ(table,
            "ldmatrix.x1.trans: 8 x 8 elements, 2 register(s) a lane, 32 lanes, 1 warp(s)\n"
            "cell = lane:register; first 2 of 8 rows, first 3 of 8 columns\n\n"
            "  |   0   1   2\n"
            "--+------------\n"
            "0 | 0:0 4:0 8:0\n"
            "1 | 0:1 4:1 8:1\n");
}

TEST(Draw, SharedMemoryFallsBackToNarrowerVectors) {
  // Padding by one element leaves vectors of one row intact; a column-major tile has none along the row.
  EXPECT_EQ(draw(namedLayout("rowmajor", {.shape = {4, 16}, .bits = 16})).columns.size(), 2U);
  SharedLayout columns(rowMajor({16, 4}).elements().transpose(std::vector{1, 0}));
  EXPECT_EQ(draw({.name = "columns", .bits = 16, .registers = {}, .shared = columns}).columns.size(), 16U);
}

}  // namespace
}  // namespace fattn::layout
