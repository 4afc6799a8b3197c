// SPDX-License-Identifier: Apache-2.0
// Nodes that begin together, and tiles that warp groups exchange within a trip.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/gpu/schedule/Enumerate.h"
#include "compiler/gpu/schedule/Neighbours.h"
#include "compiler/gpu/schedule/Search.h"
#include "tests/unit/gpu/Loops.h"

namespace fattn::gpu {
namespace {

/// The backward loop without dQ: S and dP begin together, P is written for dS and dV, and dS for dK.
CostedLoop pairs(bool kept) {
  const double e = 64.0 * 64;
  LoopModel model{.name = "pairs", .fixedRegisters = 150};
  model.nodes = {dotNode("S", 64, 256, true, 16),       dotNode("dP", 64, 256, true, 16),     workNode("P", {.exp2 = e, .fma = e}),
                 workNode("p", {.sharedBytes = e * 2}), workNode("dS", {.fma = e, .add = e}), workNode("d", {.sharedBytes = e * 2}),
                 dotNode("dV", 128, 64, false, 0),      dotNode("dK", 128, 64, false, 0)};
  model.edges = {{0, 2, 0}, {2, 3, 0}, {1, 4, 0}, {4, 5, 0}};
  for (const auto& [from, to] : {std::pair(3, 4), {3, 6}, {5, 7}}) model.edges.push_back({.from = from, .to = to, .order = true});
  if (kept) {
    model.together = {{0, 1}};
    model.oneTrip = {{4, 6}, {7}, {0, 1, 3, 5}};
  }
  return cost(model, findTarget("nvidia:sm_90a"));
}

// Each of two groups reads the 64 rows of `a`, which takes longer than its 32 columns: 32 instructions of 24 cycles instead of 16 of 32.
TEST(ScheduleGroups, ADotWhoseColumnsGroupsShareTakesWhatSharedMemoryTakes) {
  const auto cyclesOf = [](int parts) {
    LoopModel model{.name = "dot", .nodes = {dotNode("S", 64, 256, true, 16)}};
    model.nodes.front().dot.columnParts = parts;
    return cost(model, findTarget("nvidia:sm_90a")).nodes.front().cycles;
  };
  EXPECT_EQ(cyclesOf(1), 512);
  EXPECT_EQ(cyclesOf(2), 768);
}

TEST(ScheduleGroups, ThoseThatKeepThemAreFoundAndNoOthers) {
  const CostedLoop loop = pairs(true);
  const std::vector<Schedule> all = enumerate(pairs(false), 2).schedules, found = enumerate(loop, 2).schedules;
  EXPECT_EQ(std::ranges::count_if(all, [&](const Schedule& one) { return keepsGroups(loop, one); }), std::ssize(found));
  EXPECT_FALSE(found.empty());
  EXPECT_LT(found.size(), all.size());
  for (const Schedule& one : found) EXPECT_TRUE(keepsGroups(loop, one)) << print(loop, one);
}

TEST(ScheduleGroups, AWalkKeepsThemAndMovesThemTogether) {
  const CostedLoop loop = pairs(true);
  std::vector<Schedule> seen = {enumerate(loop, 2, 1).schedules.front()};
  for (std::size_t i = 0; i < seen.size(); ++i)
    for (const Schedule& next : neighbours(loop, seen[i], 2)) {
      ASSERT_TRUE(keepsGroups(loop, next)) << print(loop, next);
      ASSERT_FALSE(illegalEdge(loop, next)) << print(loop, next);
      if (std::ranges::find(seen, next) == seen.end()) seen.push_back(next);
    }
  EXPECT_GT(seen.size(), 10U);
}

TEST(ScheduleGroups, TheSearchChoosesOneThatKeepsThem) {
  const CostedLoop loop = pairs(true);
  for (const Candidate& candidate : search(loop).best)
    EXPECT_TRUE(keepsGroups(loop, candidate.schedule)) << print(loop, candidate.schedule);
}

std::string refusedGroups(const char* text) {
  try {
    forceSchedule(pairs(true), text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ScheduleGroups, AnOrderThatBreaksThemIsRefused) {
  EXPECT_EQ(refusedGroups("S dP P p dS d dV dK"), "no error");
  EXPECT_EQ(refusedGroups("S dP dK1 P p dS d dV"), "no error") << "only dK reads dS";
  EXPECT_EQ(refusedGroups("S P dP p dS d dV dK"),
            "schedule `S P dP p dS d dV dK` is illegal: S and dP, which warp groups begin together, are apart\n"
            "  hint: put dP right behind S, with the same stage");
  EXPECT_EQ(refusedGroups("S dP dV1 P p dS d dK"),
            "schedule `S dP dV1 P p dS d dK` is illegal: dS and dV are of different trips, between which warp groups exchange nothing\n"
            "  hint: give dS and dV the same stage");
}

}  // namespace
}  // namespace fattn::gpu
