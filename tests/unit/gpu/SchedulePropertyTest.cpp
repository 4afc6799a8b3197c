// SPDX-License-Identifier: Apache-2.0
// Properties of enumeration and simulation on random loops, checked by definitions that share no code with what they check.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "compiler/gpu/schedule/Enumerate.h"
#include "compiler/gpu/schedule/Neighbours.h"
#include "compiler/gpu/schedule/Search.h"
#include "tests/unit/gpu/Loops.h"

namespace fattn::gpu {
namespace {

using Word = std::vector<std::pair<int, int>>;  // (node, stage) in the order of issue

Word word(const Schedule& s) {
  Word result;
  for (int place = 0; place < s.size; ++place) result.emplace_back(s.order[place], s.stage[s.order[place]]);
  return result;
}

/// Executes a few trips and looks whether every use comes after what it uses.
bool runsInOrder(const CostedLoop& loop, const Word& w) {
  const int iterations = 12;
  std::vector<std::vector<int>> when(loop.size(), std::vector<int>(iterations, -1));
  int clock = 0;
  for (int trip = 0; trip < iterations + kMaxStages; ++trip)
    for (const auto& [node, stage] : w) {
      if (const int iteration = trip - stage; iteration >= 0 && iteration < iterations) when[node][iteration] = clock;
      ++clock;
    }
  for (const Edge& edge : loop.edges)
    for (int i = edge.distance; i < iterations; ++i)
      if (when[edge.from][i - edge.distance] >= when[edge.to][i]) return false;
  return true;
}

/// All that the steady state shows: the smallest of the rotations, each with its lowest stage brought to 0.
Word steadyState(Word w) {
  Word least;
  for (std::size_t turn = 0; turn < w.size(); ++turn) {
    std::rotate(w.begin(), w.begin() + 1, w.end());  // the first node goes to the end: there it works a trip ahead
    --w.back().second;
    Word lifted = w;
    const int low = std::ranges::min(w, {}, &std::pair<int, int>::second).second;
    for (auto& [node, stage] : lifted) stage -= low;
    if (least.empty() || lifted < least) least = lifted;
  }
  return least;
}

TEST(ScheduleProperty, EveryEnumeratedScheduleIsLegalAndNoTwoAreRotations) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const CostedLoop loop = cost(randomLoop(seed, 6), findTarget("nvidia:sm_90a"));
    std::set<Word> seen;
    for (const Schedule& schedule : enumerate(loop, 1 + static_cast<int>(seed % 3), 3000).schedules) {
      ASSERT_TRUE(runsInOrder(loop, word(schedule))) << seed << ": " << print(loop, schedule);
      ASSERT_TRUE(seen.insert(steadyState(word(schedule))).second) << seed << ": " << print(loop, schedule);
      ASSERT_EQ(canonical(schedule), schedule);
      ASSERT_FALSE(illegalEdge(loop, schedule).has_value());
      ASSERT_EQ(parseSchedule(loop, print(loop, schedule)), schedule);
    }
    EXPECT_FALSE(seen.empty()) << "a DAG has a legal order";
  }
}

TEST(ScheduleProperty, NoSteadyStateIsMissing) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const CostedLoop loop = cost(randomLoop(seed, 4), findTarget("nvidia:sm_90a"));
    const int size = loop.size(), stages = 2;
    std::set<Word> found, expected;
    for (const Schedule& schedule : enumerate(loop, stages).schedules) found.insert(steadyState(word(schedule)));
    std::vector<int> order(size);
    std::iota(order.begin(), order.end(), 0);
    do {
      for (int code = 0; code < 1 << size; ++code) {
        Word w;
        for (const int node : order) w.emplace_back(node, code >> node & 1);
        if (w.front().second != 0) continue;  // some rotation of the same steady state begins with stage 0
        if (runsInOrder(loop, w)) expected.insert(steadyState(w));
      }
    } while (std::ranges::next_permutation(order).found);
    EXPECT_EQ(found, expected) << seed;
  }
}

TEST(ScheduleProperty, IllegalSchedulesAreToldFromLegalOnes) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const CostedLoop loop = cost(randomLoop(seed, 4), findTarget("nvidia:sm_90a"));
    std::vector<int> order(loop.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      for (int code = 0; code < 1 << loop.size(); ++code) {
        Schedule schedule{.size = loop.size()};
        for (int place = 0; place < loop.size(); ++place)
          schedule.order[place] = static_cast<std::uint8_t>(order[place]),
          schedule.stage[place] = static_cast<std::uint8_t>(code >> place & 1);
        ASSERT_EQ(!illegalEdge(loop, schedule).has_value(), runsInOrder(loop, word(schedule))) << seed << ": " << print(loop, schedule);
        ASSERT_EQ(steadyState(word(canonical(schedule))), steadyState(word(schedule)));
      }
    } while (std::ranges::next_permutation(order).found);
  }
}

TEST(ScheduleProperty, NeighboursAreLegalAndHaveAWayBack) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const CostedLoop loop = cost(randomLoop(seed, 6), findTarget("nvidia:sm_90a"));
    for (const Schedule& schedule : enumerate(loop, 2, 50).schedules) {
      const std::vector<Schedule> found = neighbours(loop, schedule, 2);
      std::set<Word> seen = {word(schedule)};
      for (const Schedule& next : found) {
        ASSERT_TRUE(runsInOrder(loop, word(next))) << seed << ": " << print(loop, next);
        ASSERT_EQ(canonical(next), next);
        ASSERT_TRUE(seen.insert(word(next)).second) << seed << ": " << print(loop, next) << " twice";
        const std::vector<Schedule> back = neighbours(loop, next, 2);
        ASSERT_TRUE(std::ranges::find(back, schedule) != back.end()) << seed << ": no way back from " << print(loop, next);
      }
    }
  }
}

/// A walk that looks at a third of the schedules finds mostly the best one, and none that is much worse (docs/schedule.md).
TEST(ScheduleProperty, AWalkFindsNearlyTheBest) {
  int compared = 0, best = 0;
  for (unsigned seed = 0; compared < 25 && seed < 3000; ++seed) {
    const CostedLoop loop = cost(randomLoop(seed, 10), findTarget("nvidia:sm_90a"));
    const std::size_t legal = enumerate(loop, 2, 10000).schedules.size();
    if (legal < 2000 || legal == 10000) continue;
    const SearchResult all = search(loop), walked = search(loop, {.limit = 1, .walk = legal / 3});
    ASSERT_TRUE(all.complete && !walked.complete);
    const double ratio = walked.best.front().score() / all.best.front().score();
    EXPECT_LE(ratio, 1.03) << seed << ": " << print(loop, walked.best.front().schedule);
    best += ratio < 1.0005 ? 1 : 0;
    ++compared;
  }
  EXPECT_EQ(compared, 25);
  EXPECT_GE(best, 20);
}

TEST(ScheduleProperty, TheSimulatorNeverBeatsTheBusiestUnitNorOneGroupAlone) {
  for (const char* target : {"nvidia:sm_90a", "nvidia:sm_80", "amd:gfx942"})
    for (unsigned seed = 0; seed < 150; ++seed) {
      const CostedLoop loop = cost(randomLoop(seed, 6), findTarget(target));
      for (const Schedule& schedule : enumerate(loop, 2, 40).schedules)
        for (const bool turns : {false, true}) {
          const Program program = makeProgram(loop, schedule, turns);
          for (const Overheads& overheads : {Overheads{}, Overheads{}.stressed()}) {
            const auto cycles = simulate(loop, program, overheads), alone = simulate(loop, program, overheads, 1);
            ASSERT_TRUE(alone.has_value());
            if (!cycles) continue;  // turns that cannot work
            ASSERT_GE(*cycles, loop.bound() * (1 - 1e-3)) << target << " " << seed << ": " << print(loop, schedule);
            ASSERT_GE(*cycles, *alone * (1 - 0.02)) << target << " " << seed << ": " << print(loop, schedule);
          }
        }
    }
}

}  // namespace
}  // namespace fattn::gpu
