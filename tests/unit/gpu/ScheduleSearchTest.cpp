// SPDX-License-Identifier: Apache-2.0
// The search on loops whose best schedules are known from hand-written kernels.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "compiler/gpu/schedule/Enumerate.h"
#include "compiler/gpu/schedule/Gantt.h"
#include "compiler/gpu/schedule/Search.h"
#include "tests/unit/gpu/Loops.h"

namespace fattn::gpu {
namespace {

using Lines = std::vector<std::string>;

CostedLoop hopper(const LoopModel& loop) { return cost(loop, findTarget("nvidia:sm_90a")); }

Lines lines(const CostedLoop& loop, const std::vector<Schedule>& schedules) {
  Lines result;
  for (const Schedule& schedule : schedules) result.push_back(print(loop, schedule));
  return result;
}
Lines lines(const CostedLoop& loop, const SearchResult& found) {
  Lines result;
  for (const Candidate& c : found.best) result.push_back(print(loop, c.schedule));
  return result;
}

Lines sorted(Lines text) {
  std::ranges::sort(text);
  return text;
}

template <typename Function>
std::string messageOf(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ScheduleSearch, TheForwardLoopHasSevenOrders) {
  const CostedLoop loop = hopper(forwardLoop(128, 128, 2));
  EXPECT_EQ(sorted(lines(loop, enumerate(loop).schedules)),
            sorted({"S E L PV", "S E L1 PV1", "S E PV1 L", "S PV1 E L", "S L1 E PV1", "S L1 PV1 E", "S E1 L1 PV1"}));
}

TEST(ScheduleSearch, SixForwardOrdersFillTheTensorCoresAndTheProvenOneIsTiedFirst) {
  for (const bool turns : {false, true})
    for (const auto& [d, n, groups] : {std::tuple{128, 128, 2}, {128, 80, 3}, {64, 128, 3}, {256, 80, 2}}) {
      const CostedLoop loop = hopper(forwardLoop(d, n, groups));
      const SearchResult found = search(loop, {.turns = turns});
      EXPECT_EQ(found.fitting, 6U) << "the seventh holds two tiles of S at once";
      const Candidate proven = evaluate(loop, forceSchedule(loop, "S PV1 E L"), {.turns = turns});
      EXPECT_EQ(std::round(proven.score()), std::round(found.best.front().score())) << d << " " << n << " " << groups;
      const auto near = std::ranges::count_if(found.best, [&](const Candidate& c) { return c.cycles <= 1.04 * found.best.front().cycles; });
      EXPECT_GE(near, d == 64 ? 5 : 6) << d << " " << n << " " << groups;
    }
}

// The exponentials are kept in 32 bits until they are packed: a schedule that starts the next S before the packing needs both.
TEST(ScheduleSearch, WithTheExponentialsRegistersCountedTheProvenForwardOrderIsFirst) {
  for (const auto& [d, n, groups] : {std::tuple{128, 128, 2}, {128, 80, 3}, {64, 128, 3}, {256, 80, 2}}) {
    const CostedLoop loop = hopper(forwardLoop(d, n, groups, true));
    EXPECT_EQ(lines(loop, search(loop)).front(), "S PV1 E L") << d << " " << n << " " << groups;
  }
}

TEST(ScheduleSearch, AMatrixProductHasThreeOrders) {
  const CostedLoop loop = hopper(gemmLoop(128, 64, 2));
  EXPECT_EQ(sorted(lines(loop, enumerate(loop).schedules)), sorted({"C X", "C X1", "X C"}));
  EXPECT_EQ(search(loop).best.front().cycles, 512);
}

TEST(ScheduleSearch, TheBackwardLoopHas6144OrdersTheKnownOnesAmongThem) {
  const CostedLoop loop = hopper(backwardLoop(128, 64, 2));
  const Enumeration all = enumerate(loop);
  EXPECT_EQ(all.schedules.size(), 6144U);
  const auto known = lines(loop, all.schedules);
  EXPECT_EQ(std::ranges::count(known, "S dP P dV dS dK dQ Qo"), 1);  // dvearly
  EXPECT_EQ(std::ranges::count(known, "S dP P dS dV dQ Qo dK"), 1);  // fa3
  EXPECT_EQ(std::ranges::count(known, "S dP P dS dV dK dQ Qo"), 1);  // fa3, dQ last
  EXPECT_EQ(std::ranges::count(known, "S dP P dV dS dK dQ1 Qo1"), 1) << "alt: dQ of the tile before";
}

// The fastest hand-written order works on dQ of the tile before; dS waits for it in shared memory, not in registers.
TEST(ScheduleSearch, TheFastestBackwardOrderFitsIfItsOperandIsInSharedMemory) {
  LoopModel model = backwardLoop(128, 64, 2);
  const char* const fastest = "S dP P dV dS dK dQ1 Qo1";
  EXPECT_EQ(resources(hopper(model), forceSchedule(hopper(model), fastest)).registers, 248);
  model.nodes[4].registers = 0;
  model.nodes[4].shared = 16384;
  const CostedLoop loop = hopper(model);
  const Candidate candidate = evaluate(loop, forceSchedule(loop, fastest));
  EXPECT_LE(candidate.resources.registers, 240);
  EXPECT_EQ(candidate.resources.shared, 2 * 16384) << "two buffers";
  EXPECT_EQ(candidate.cycles, 2560);
}

TEST(ScheduleSearch, TheBackwardLoopReachesTheTensorBound) {
  const CostedLoop loop = hopper(backwardLoop(128, 64, 2));
  const SearchResult found = search(loop);
  EXPECT_EQ(found.busiest, Unit::Tensor);
  EXPECT_EQ(found.bound, 2560);
  ASSERT_EQ(found.best.size(), 8U);
  for (const Candidate& c : found.best) EXPECT_EQ(c.cycles, 2560);
}

TEST(ScheduleSearch, PruningLeavesOutNothingThatIsAmongTheBest) {
  std::vector<CostedLoop> loops = {hopper(forwardLoop(128, 128, 2)), hopper(backwardLoop(128, 64, 2)), hopper(backwardLoop(64, 64, 3))};
  for (unsigned seed = 0; seed < 60; ++seed)
    loops.push_back(cost(randomLoop(seed, 5), findTarget(seed % 2 == 0 ? "nvidia:sm_90a" : "nvidia:sm_80")));
  for (const CostedLoop& loop : loops) {
    const SearchResult quick = search(loop, {.best = 5}), all = search(loop, {.best = 5, .exhaustive = true});
    EXPECT_EQ(lines(loop, quick), lines(loop, all));
    EXPECT_LE(quick.simulated, all.simulated);
  }
}

TEST(ScheduleSearch, NothingFitsSaysWhatTheSmallestNeeds) {
  LoopModel model = forwardLoop(256, 128, 2);
  try {
    search(hopper(model));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    EXPECT_EQ(error.constraint(),
              "no schedule fits on nvidia:sm_90a: the smallest, `S E L PV`, needs 248 registers a thread and 0 bytes of shared memory; the "
              "limits are 240 and 232448");
    EXPECT_EQ(error.hint(), "take smaller tiles, or fewer groups with more registers each");
  }
}

TEST(ScheduleSearch, OptionsOutOfRangeAreNamed) {
  const CostedLoop loop = hopper(gemmLoop(128, 64, 2));
  EXPECT_EQ(messageOf([&] { search(loop, {.best = 0}); }), "0 schedules to keep\n  hint: keep at least 1");
  EXPECT_EQ(messageOf([&] { search(loop, {.best = 0}); }), "0 schedules to keep\n  hint: keep at least 1");
  EXPECT_EQ(messageOf([&] { search(loop, {.stages = 5}); }), "schedules of 5 stages\n  hint: legal are 1 to 4");
}

TEST(ScheduleSearch, AnEnumerationCutShortSaysSo) {
  const CostedLoop loop = hopper(backwardLoop(128, 64, 2));
  const Enumeration some = enumerate(loop, 2, 100);
  EXPECT_EQ(some.schedules.size(), 100U);
  EXPECT_FALSE(some.complete);
  EXPECT_TRUE(enumerate(loop).complete);
}

TEST(ScheduleSearch, AWalkEndsAndSaysThatItLookedAtAPart) {
  const CostedLoop loop = hopper(randomLoop(6, 15));
  ASSERT_EQ(loop.size(), 15);
  const SearchResult found = search(loop);
  EXPECT_FALSE(found.complete);
  EXPECT_EQ(found.best.size(), 8U);
  EXPECT_LE(found.simulated, 300U + 200U) << "the neighbours of one schedule are all looked at";
  EXPECT_LE(found.legal, 2000U + 200U);
  for (const Candidate& c : found.best) {
    EXPECT_FALSE(illegalEdge(loop, c.schedule).has_value()) << print(loop, c.schedule);
    EXPECT_LE(found.best.front().score(), c.score() + 1);
  }
}

/// Prints what docs/schedule.md quotes. The limit is loose, as processors differ.
TEST(ScheduleSearch, AWalkOfFifteenNodesIsFast) {
  double most = 0, sum = 0;
  int loops = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const CostedLoop loop = hopper(randomLoop(seed, 15));
    if (loop.size() != 15) continue;
    const std::clock_t begin = std::clock();
    EXPECT_FALSE(search(loop).complete) << seed;
    const double ms = 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    most = std::max(most, ms), sum += ms, ++loops;
  }
  ASSERT_GT(loops, 5);
  fmt::print("{} loops of 15 nodes: {:.0f} ms of CPU time in the mean, {:.0f} at most\n", loops, sum / loops, most);
  EXPECT_LT(most, 250);
}

TEST(ScheduleSearch, AWalkThatFindsNothingThatFitsSaysWhatTheSmallestNeeds) {
  LoopModel model = randomLoop(6, 15);
  model.registerLimit = 1;
  EXPECT_TRUE(
      messageOf([&] { search(hopper(model)); }).starts_with("no schedule that was looked at fits on nvidia:sm_90a: the smallest, `"));
}

TEST(ScheduleSearch, MoreStagesContainTheOrdersOfFewer) {
  const CostedLoop loop = hopper(forwardLoop(128, 128, 2));
  std::size_t before = 0;
  std::set<std::string> smaller;
  for (int stages = 1; stages <= 3; ++stages) {
    const auto now = lines(loop, enumerate(loop, stages).schedules);
    const std::set<std::string> larger(now.begin(), now.end());
    EXPECT_TRUE(std::ranges::includes(larger, smaller));
    EXPECT_GT(larger.size(), before);
    before = larger.size();
    smaller = larger;
  }
}

// Copies: prefetching one needs a stage of its own; with a long latency that is what the search finds.
TEST(ScheduleSearch, ACopyIsIssuedTripsAheadIfTheSlotsFit) {
  LoopModel model{.name = "copy", .groups = 1, .fixedRegisters = 40};
  model.nodes = {Node{.name = "K", .kind = NodeKind::Copy, .bytes = 16384, .shared = 16384}, dotNode("C", 128, 64, true, 0),
                 workNode("X", {.latency = 20})};
  model.edges = {{0, 1, 0}, {1, 2, 1}, {1, 1, 1, true}};
  model.copyBytesPerCycle = 100;
  const CostedLoop loop = hopper(model);
  const SearchResult found = search(loop, {.stages = 4});
  const Candidate& best = found.best.front();
  EXPECT_GE(best.schedule.stage[1], 2) << print(loop, best.schedule);
  EXPECT_GE(best.resources.shared, 3 * 16384);
  const Candidate none = evaluate(loop, forceSchedule(loop, "K C X"));
  EXPECT_GT(none.cycles, 2 * best.cycles);
}

TEST(ScheduleSearch, SynchronousDotsAreWorkOfTheirGroup) {
  const CostedLoop loop = cost(forwardLoop(64, 64, 2), findTarget("nvidia:sm_80"));
  const Candidate plain = evaluate(loop, forceSchedule(loop, "S E L PV"));
  EXPECT_GE(plain.cycles, loop.bound());
  EXPECT_EQ(loop.unpriced, Lines{"conversions of L"});
  EXPECT_FALSE(canTakeTurns(loop));
}

TEST(ScheduleGantt, DrawsQueuesAndGroups) {
  const CostedLoop loop = hopper(gemmLoop(128, 64, 2));
  const std::string text = drawGantt(loop, forceSchedule(loop, "C X1"), false, {}, 64);
  EXPECT_NE(text.find("1024 cycles in 64 columns"), std::string::npos) << text;
  EXPECT_NE(text.find("dots "), std::string::npos) << text;
  EXPECT_NE(text.find("|C:1"), std::string::npos) << text;
  EXPECT_NE(text.find("group 1 "), std::string::npos) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 4);
}

}  // namespace
}  // namespace fattn::gpu
