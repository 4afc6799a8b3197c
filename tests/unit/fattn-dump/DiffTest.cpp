// SPDX-License-Identifier: Apache-2.0
// What passes change between two modules, and pictures of the layouts that these name.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tools/fattn-dump/Diff.h"
#include "tools/fattn-dump/LayoutPictures.h"

namespace fattn::dump {
namespace {

/// Kept, removed and added lines have to make both texts.
void expectCovers(const std::vector<DiffRun>& runs, int before, int after) {
  for (const DiffRun& run : runs) before -= run.kept + run.removed, after -= run.kept + run.added;
  EXPECT_EQ(before, 0);
  EXPECT_EQ(after, 0);
}

TEST(Diff, NumbersOfValuesAndAliasesAreNoChange) {
  EXPECT_EQ(diffOf("#regs = #tilegpu.regs<\"a\">\n%0 = f : t<#regs>\n%1 = g %0\n^bb1:\n",
                   "#regs4 = #tilegpu.regs<\"a\">\n%7 = f : t<#regs4>\n%9 = g %7\n^bb2:\n"),
            (std::vector<DiffRun>{{4, 0, 0}}));
  EXPECT_EQ(diffOf("#regs = #tilegpu.regs<\"a\">\n%0 = f : t<#regs>\n", "#regs = #tilegpu.regs<\"b\">\n%0 = f : t<#regs>\n"),
            (std::vector<DiffRun>{{0, 2, 2}}))
      << "the same alias for another layout";
  EXPECT_EQ(diffText("%0 = f\n", "%1 = f\n"), "no change\n");
  EXPECT_EQ(diffText("%c0_i64 = f %arg1, %cst\n", "%c0_i64_3 = f %arg4, %cst_12\n"), "no change\n");
  EXPECT_NE(diffText("%c0_i64 = f\n", "%c1_i64 = f\n"), "no change\n");
}

TEST(Diff, WhatIsMovedAddedAndRemoved) {
  EXPECT_EQ(diffOf("a\nb\nc\nd\n", "a\nc\nd\ne\n"), (std::vector<DiffRun>{{1, 1, 0}, {2, 0, 1}}));
  EXPECT_EQ(diffOf("", "a\n"), (std::vector<DiffRun>{{0, 0, 1}}));
  EXPECT_EQ(diffOf("a\n", ""), (std::vector<DiffRun>{{0, 1, 0}}));
  EXPECT_TRUE(diffOf("", "").empty());
  // Lines that repeat have no anchors: the table finds what both have.
  EXPECT_EQ(diffOf("x\ny\nx\ny\n", "x\nx\ny\n"), (std::vector<DiffRun>{{1, 1, 0}, {2, 0, 0}}));
}

TEST(Diff, LongTextsAreCoveredWhole) {
  std::string before, after;
  for (int i = 0; i < 3000; ++i) {
    before += fmt::format("line {}\nsame\n", i);
    after += i % 7 == 0 ? fmt::format("other {}\n", i) : fmt::format("line {}\nsame\n", i);
  }
  const std::vector<DiffRun> runs = diffOf(before, after);
  expectCovers(runs, 6000, 429 + 2571 * 2);
  EXPECT_EQ(runs.size(), 429u + 1);
  expectCovers(diffOf(before, std::string(4000, '\n')), 6000, 4000);
}

TEST(Diff, TextShowsThreeLinesAroundAChange) {
  std::string before;
  for (int i = 0; i < 20; ++i) before += fmt::format("l{}l\n", i);
  std::string after = before;
  after.replace(after.find("l9l"), 3, "new");
  EXPECT_EQ(diffText(before, after), "@@ -7 +7 @@\n l6l\n l7l\n l8l\n-l9l\n+new\n l10l\n l11l\n l12l\n");
}

TEST(LayoutPictures, AliasesOfRegistersAndSharedMemoryAreDrawn) {
  std::map<std::string, layout::Drawing> pictures;
  addLayouts(
      "#regs = #tilegpu.regs<\"register: 1 -> (0,1); lane: 1 -> (1,0), 2 -> (2,0); warp: 1 | dim0: 4, dim1: 2\">\n"
      "#cube = #tilegpu.regs<\"register: 1 -> (0,0,1); lane: 1 -> (1,0,0); warp: 1 | dim0: 2, dim1: 1, dim2: 2\">\n"
      "#shared3 = #tilegpu.shared<\"offset: 1 -> (0,1), 2 -> (1,1) | dim0: 2, dim1: 2\">\n"
      "#unused = #tilegpu.shared<\"offset: 1 -> (0,1) | dim0: 1, dim1: 2\">\n"
      "module {\n  %0 = tilegpu.alloc : !tilegpu.buffer<1 x 2x2xbf16, #shared3>\n}\n",
      pictures);
  ASSERT_EQ(pictures.size(), 2u) << "none of three dimensions, none of a buffer whose type nobody says";
  const layout::Drawing& registers = pictures.begin()->second;
  EXPECT_EQ(registers.title, "registers: 4 x 2 elements, 2 register(s) a lane, 4 lanes, 1 warp(s)");
  EXPECT_EQ(registers.cells, (std::vector<std::vector<std::string>>{{"0:0", "0:1"}, {"1:0", "1:1"}, {"2:0", "2:1"}, {"3:0", "3:1"}}));
  EXPECT_EQ(pictures.rbegin()->second.title, "shared memory: 2 x 2 elements of 16 bits, 8 bytes of shared memory");
}

}  // namespace
}  // namespace fattn::dump
