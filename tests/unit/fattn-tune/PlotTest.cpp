// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tools/fattn-tune/Plot.h"

namespace fattn::tuner {
namespace {

using Status = cache::TunePoint::Status;

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

cache::TuneRecord record() {
  cache::TuneRecord made;
  made.key = {
      .target = "t", .device = "a <fast> & \"small\" GPU", .driver = "CUDA 13.0", .compiler = "0.1.0 abc", .kernel = "k", .shape = {}};
  for (int stages : {1, 2})
    for (int m : {32, 64})
      for (int n : {32, 64})
        made.points.push_back({.tile = {.block_m = m, .block_n = n, .stages = stages, .warps = 4},
                               .medianUs = 100.0 + m + n - stages,
                               .samples = 3,
                               .timeMs = 1763683200000,
                               .run = "r"});
  made.points[1].status = Status::Failed;
  made.points[1].reason = "a < b";
  made.points[2].status = Status::Pruned;
  made.points.pop_back();
  made.winner = cache::TuneWinner{.tile = made.points[4].tile, .medianUs = 1, .timeMs = 1, .run = "r"};
  return made;
}

TEST(Plot, DrawsAPanelForEachPipelineAndACellForEachPoint) {
  std::string svg = drawLandscape(record(), "the <title>", record().points[0].tile);
  EXPECT_EQ(count(svg, "class=\"panel\""), 2u);
  EXPECT_NE(svg.find(">warps 4, stages 1<"), std::string::npos);
  EXPECT_NE(svg.find(">warps 4, stages 2<"), std::string::npos);
  EXPECT_EQ(count(svg, "<title>"), 7u) << "a text for each point when it is pointed at";
  EXPECT_EQ(count(svg, "class=\"failed\""), 1u + 1) << "and one in the legend";
  EXPECT_EQ(count(svg, "class=\"pruned\""), 1u + 1);
  EXPECT_EQ(count(svg, "class=\"untried\""), 1u + 1);
  EXPECT_EQ(count(svg, "class=\"best\""), 1u + 1);
  EXPECT_EQ(count(svg, "class=\"default\""), 1u + 1);
  EXPECT_NE(svg.find("failed: a &lt; b"), std::string::npos);
  EXPECT_NE(svg.find("a &lt;fast> &amp; &quot;small&quot; GPU"), std::string::npos);
  EXPECT_NE(svg.find("the &lt;title>"), std::string::npos);
  EXPECT_NE(svg.find("2025-11-21"), std::string::npos);
}

TEST(Plot, CellsSayHowMuchSlowerTheyAre) {
  cache::TuneRecord made = record();
  made.winner.reset();
  std::string svg = drawLandscape(made, "", {});
  EXPECT_EQ(count(svg, ">162 us<"), 1u) << "the fastest";
  EXPECT_NE(svg.find(">+0.6%<"), std::string::npos) << "163 us";
  EXPECT_NE(svg.find(">+20%<"), std::string::npos) << "194 us";
  EXPECT_NE(svg.find("not finished, so far: BLOCK_M=32,BLOCK_N=32,STAGES=2,WARPS=4"), std::string::npos);
}

TEST(Plot, TheBestIsNoPaleCellWhereItsFirstMeasurementWasSlow) {
  cache::TuneRecord made = record();
  made.points[0].medianUs = 90'000;
  made.winner = cache::TuneWinner{.tile = made.points[0].tile, .medianUs = 36'989, .timeMs = 1, .run = "r"};
  const std::string svg = drawLandscape(made, "", {});
  const std::size_t text = svg.find(">37.0 ms<"), cell = svg.rfind("fill=", text);
  ASSERT_NE(text, std::string::npos) << "the time of the ranking, in as many digits as there is room for";
  EXPECT_EQ(svg.substr(cell, 14), "fill=\"#08405c\"") << "the darkest color";
  EXPECT_NE(svg.find("36.989 ms when the best were ranked; at first 90.000 ms"), std::string::npos) << svg;
}

TEST(Plot, TextsOfCellsCanBeReadOnEveryColor) {
  cache::TuneRecord made = record();
  made.winner.reset();
  made.points.resize(1);
  // A middle tone, #62ad91: white on it has a contrast of 2.7 to 1, the dark text has 5.
  made.points.push_back(made.points[0]);
  made.points[1].tile.block_n = 64;
  made.points[1].medianUs = made.points[0].medianUs * 1.27;
  const std::string svg = drawLandscape(made, "", {});
  EXPECT_EQ(count(svg, "class=\"cell on-light\">+27%<"), 1u) << svg;
}

}  // namespace
}  // namespace fattn::tuner
