// SPDX-License-Identifier: Apache-2.0
// The chart of a schedule: rows for the queues in use and the groups, spans inside of the two trips it shows.
#include <gtest/gtest.h>

#include "tools/fattn-dump/Chart.h"

namespace fattn::dump {
namespace {

gpu::CostedLoop forward() {
  gpu::LoopModel loop{.name = "forward", .groups = 2};
  loop.nodes = {{.name = "S", .kind = gpu::NodeKind::Dot, .dot = {.n = 128, .k = 128}, .registers = 64},
                {.name = "E", .work = {.exp2 = 8192}, .registers = 32},
                {.name = "PV", .kind = gpu::NodeKind::Dot, .dot = {.n = 128, .k = 128, .aInShared = false}}};
  loop.edges = {{.from = 0, .to = 1}, {.from = 1, .to = 2}, {.from = 2, .to = 2, .distance = 1, .chained = true}};
  return cost(loop, gpu::findTarget("nvidia:sm_90a"));
}

TEST(ChartTest, HasARowForTheDotsEachGroupAndEachBusyUnit) {
  const gpu::CostedLoop loop = forward();
  const auto chart = makeChart(loop, gpu::forceSchedule(loop, "S PV1 E"), false, {{"dot 64 x 128 x 128", 1, {{"k.cpp", 7}}}});
  ASSERT_TRUE(chart);
  EXPECT_EQ(chart->schedule, "S PV1 E");
  EXPECT_EQ(chart->rows, (std::vector<std::string>{"dots", "group 0", "group 1", "exp2"}));
  ASSERT_EQ(chart->nodes.size(), 3u);
  EXPECT_EQ(chart->nodes[0].sources[0].line, 7u);
  EXPECT_TRUE(chart->nodes[1].sources.empty());
  EXPECT_TRUE(chart->nodes[0].what.starts_with("dot 64 x 128 x 128, ")) << chart->nodes[0].what;
  EXPECT_NE(chart->note.find("cycles a trip of 2 groups; the busiest unit, tensor, works"), std::string::npos) << chart->note;
  bool dots = false, works = false;
  for (const Chart::Span& span : chart->spans) {
    EXPECT_GE(span.begin, chart->begin);
    EXPECT_LE(span.end, chart->end);
    EXPECT_LT(span.begin, span.end);
    EXPECT_FALSE(span.row == 0 && span.node == 1) << "arithmetic is no dot";
    dots |= span.row == 0 && span.node == 2;
    works |= span.row == 2 && span.node == 1 && !span.waits;
  }
  EXPECT_TRUE(dots && works);
}

}  // namespace
}  // namespace fattn::dump
