// SPDX-License-Identifier: Apache-2.0
// Schedules forced from text and loop models out of range: every message, word by word.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/gpu/schedule/OrderWords.h"
#include "compiler/gpu/schedule/Program.h"
#include "compiler/gpu/schedule/Resources.h"
#include "compiler/gpu/schedule/Schedule.h"
#include "compiler/gpu/schedule/ScheduledLoop.h"
#include "tests/unit/gpu/Loops.h"

namespace fattn::gpu {
namespace {

CostedLoop forward() { return cost(forwardLoop(128, 128, 2), findTarget("nvidia:sm_90a")); }

template <typename Function>
std::string errorOf(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}
std::string forced(const char* text) {
  return errorOf([&] { forceSchedule(forward(), text); });
}

TEST(ScheduleText, ALineIsReadAndPrinted) {
  const CostedLoop loop = forward();
  EXPECT_EQ(print(loop, forceSchedule(loop, " S  PV1 E L ")), "S PV1 E L");
}

TEST(ScheduleText, ARotationIsKept) {
  const CostedLoop loop = forward();
  EXPECT_EQ(print(loop, forceSchedule(loop, "L1 S PV1 E")), "L1 S PV1 E");
  EXPECT_EQ(print(loop, canonical(forceSchedule(loop, "L1 S PV1 E"))), "S PV1 E L");
  EXPECT_EQ(print(loop, forceSchedule(loop, "S1 PV2 E1 L1")), "S PV1 E L") << "no node works on this iteration";
}

TEST(ScheduleText, AnIllegalEdgeIsNamedWithARemedy) {
  EXPECT_EQ(forced("E S L PV"),
            "schedule `E S L PV` is illegal: E needs S of the same iteration, which is issued later in the trip\n"
            "  hint: put S before E with stage 0 of E, or give E stage 1 or more");
  EXPECT_EQ(forced("S1 E L1 PV1"),
            "schedule `S1 E L1 PV1` is illegal: E needs S of the same iteration, which is issued 1 trip later\n"
            "  hint: put S before E with stage 1 of E, or give E stage 2 or more");
  EXPECT_EQ(forced("S E L PV1"),
            "schedule `S E L PV1` is illegal: L needs PV of the iteration before, which is issued later in the trip\n"
            "  hint: put PV before L with stage 0 of L, or give L stage 1 or more");
}

TEST(ScheduleText, WhatIsNoScheduleIsRefused) {
  EXPECT_EQ(forced("S Q E L PV"), "schedule `S Q E L PV`: there is no node 'Q'\n  hint: the nodes are S, E, L, PV");
  EXPECT_EQ(forced("S E L"), "schedule `S E L`: PV is missing\n  hint: every node is issued once a trip: S, E, L, PV");
  EXPECT_EQ(forced("S E L S1 PV"), "schedule `S E L S1 PV`: S stands there twice\n  hint: every node is issued once a trip");
  EXPECT_EQ(forced("S E L PV4"), "schedule `S E L PV4`: PV has stage 4\n  hint: stages are 0 to 3");
  EXPECT_EQ(forced("S E L PV12"), "schedule `S E L PV12`: PV has stage 12\n  hint: stages are 0 to 3");
}

std::string backwardForced(const char* text) {
  const CostedLoop loop = cost(backwardLoop(128, 64, 2), findTarget("nvidia:sm_90a"));
  std::string printed;
  const std::string error = errorOf([&] { printed = print(loop, forceSchedule(loop, text)); });
  return printed.empty() ? error : printed;
}

TEST(ScheduleText, ADotRunsOnWhereNothingUsesItAndAnEarlierOneIsWaitedFor) {
  EXPECT_EQ(backwardForced("S dP P dV dS dQ Qo dK_"), "S dP P dV dS dQ Qo dK_");
  EXPECT_EQ(forced("S E L PV_"), "schedule `S E L PV_`: PV cannot run on: L uses it\n  hint: only dots that add to what they carry run on");
  EXPECT_EQ(forced("S E_ L PV"),
            "schedule `S E_ L PV`: E cannot run on: no matrix unit computes it by itself\n  hint: `_` stands behind such dots");
  EXPECT_EQ(
      backwardForced("dK1_ S dP P dV dS dQ Qo"),
      "schedule `dK1_ S dP P dV dS dQ Qo`: dK cannot run on: nothing in front of it waits for a dot of its trip\n  hint: leave `_` out");
  EXPECT_EQ(forced("S E L PV__"), "schedule `S E L PV__`: there is no node 'PV_'\n  hint: the nodes are S, E, L, PV");
}

TEST(ScheduleText, ADotThatRunsOnIsNotWaitedForInItsTrip) {
  LoopModel model = backwardLoop(128, 64, 2);
  model.dotsEndInTrip = true;
  const CostedLoop loop = cost(model, findTarget("nvidia:sm_90a"));
  const auto waitsFor = [&](const char* text, std::string_view node) {
    const Program program = makeProgram(loop, forceSchedule(loop, text), false);
    return std::ranges::count_if(program, [&](const Step& step) { return step.kind == StepKind::Wait && loop.names[step.node] == node; });
  };
  EXPECT_EQ(waitsFor("S dP P dV dS dQ Qo dK", "dK"), 1);
  EXPECT_EQ(waitsFor("S dP P dV dS dQ Qo dK_", "dK"), 0);
}

TEST(ScheduleResources, RegistersOfTheForwardOrders) {
  const CostedLoop loop = forward();
  EXPECT_EQ(resources(loop, forceSchedule(loop, "S PV1 E L")).registers, 184);
  EXPECT_EQ(resources(loop, forceSchedule(loop, "S E L PV")).registers, 184);
  EXPECT_EQ(resources(loop, forceSchedule(loop, "S E1 L1 PV1")).registers, 248);
  EXPECT_EQ(resources(loop, forceSchedule(loop, "S E1 L1 PV1")).moves, 64);
}

// A dot's result lives to its last use, not to what only comes behind it in memory.
TEST(ScheduleResources, AnOrderOfMemoryKeepsNothing) {
  LoopModel model = forwardLoop(128, 128, 2);
  const auto registersOf = [&] { return resources(cost(model, findTarget("nvidia:sm_90a")), textOrder(4)).registers; };
  const int before = registersOf();
  model.edges.push_back({.from = 0, .to = 3, .distance = 0, .order = true});
  EXPECT_EQ(registersOf(), before);
  model.edges.back().order = false;
  EXPECT_GT(registersOf(), before);
}

std::string verified(LoopModel loop) {
  return errorOf([&] { loop.verify(); });
}

TEST(LoopModelVerify, NamesWhatIsWrong) {
  LoopModel loop = forwardLoop(128, 128, 2);
  EXPECT_EQ(verified(loop), "no error");
  LoopModel bad = loop;
  bad.nodes[1].name = "E1";
  EXPECT_EQ(verified(bad),
            "a node is called 'E1'\n  hint: a name is letters, digits and '_', and ends in a letter, behind which a schedule writes the "
            "stage and `_`");
  bad = loop;
  bad.nodes[1].name = "S";
  EXPECT_EQ(verified(bad), "two nodes are called S");
  bad = loop;
  bad.edges[3].distance = 2;
  EXPECT_EQ(verified(bad), "the edge from PV to L has distance 2\n  hint: legal are 0 (the same iteration) and 1 (the one before)");
  bad.edges[3].distance = 0;
  EXPECT_EQ(verified(bad), "within one iteration L -> PV -> L needs its own result\n  hint: one of these edges has to have distance 1");
  bad = loop;
  bad.edges[0].chained = true;
  EXPECT_EQ(verified(bad), "the edge from S to E is chained\n  hint: only dots hand an accumulator on");
  bad = loop;
  bad.edges[2].reuse = true;
  EXPECT_EQ(verified(bad), "the edge from L to PV reuses registers\n  hint: only arithmetic takes over its operand's registers");
  bad = loop;
  bad.groups = 9;
  EXPECT_EQ(verified(bad), "the loop runs in 9 groups\n  hint: legal are 1 to 8");
  bad = loop;
  bad.nodes.clear();
  EXPECT_EQ(verified(bad), "the loop has 0 nodes\n  hint: a loop model has 1 to 16 nodes; join arithmetic that belongs together");
  bad = loop;
  bad.nodes[0].dot.n = 0;
  EXPECT_EQ(verified(bad), "dot S has the shape 64x0x128 (m x n x k)\n  hint: every extent is at least 1");
  bad = loop;
  bad.nodes[1].work.exp2 = -1;
  EXPECT_EQ(verified(bad), "node E has a figure that is negative, too large or no number");
}

/// What takeWords() leaves, and the words that it has taken.
std::string split(std::string order) {
  const OrderWords words = takeWords(order);
  order += ":";
  for (const auto& [isSaid, name] :
       {std::pair(words.owners, " owners"), std::pair(words.pairs, " pairs"), std::pair(words.persistent, " persistent"),
        std::pair(words.dynamic, " dynamic"), std::pair(words.cluster, " cluster"), std::pair(words.dies, " dies")})
    if (isSaid) order += name;
  return words.waves ? order + " waves " + std::to_string(*words.waves) : order;
}

TEST(OrderWords, StandBehindTheNodesInAnyOrder) {
  EXPECT_EQ(split(""), ":");
  EXPECT_EQ(split("A B1 a b"), "A B1 a b:");
  EXPECT_EQ(split("A B1 a b dies waves2"), "A B1 a b: dies waves 2");
  EXPECT_EQ(split("waves2 dies cluster pairs persistent dynamic owners "), ": owners pairs persistent dynamic cluster dies waves 2");
  EXPECT_EQ(split("dies A"), "dies A:") << "a node of this name";
  EXPECT_EQ(split("A wavesB"), "A wavesB:");
}

TEST(OrderWords, LeaveJudgingTheNumberToWhoKnowsTheMachine) {
  EXPECT_EQ(split("waves"), ": waves 0");
  EXPECT_EQ(split("waves3 waves2"), ": waves 3") << "both are least numbers";
  EXPECT_EQ(split("waves99999999999999999999"), ": waves 9223372036854775807");
}

TEST(LoopModelCost, WhatATargetCannotPriceIsNamed) {
  EXPECT_EQ(errorOf([] { cost(forwardLoop(128, 128, 2), findTarget("nvidia:sm_100")); }),
            "the table has no cycles for tcgen05.mma on nvidia:sm_100, which dot S needs\n  hint: schedule it for a target that has them");
  LoopModel fp8 = forwardLoop(128, 128, 2);
  fp8.nodes[0].dot.type = DType::F8E4M3;
  EXPECT_EQ(errorOf([&] { cost(fp8, findTarget("nvidia:sm_80")); }),
            "nvidia:sm_80 has no matrix instruction for f8e4m3, which dot S multiplies");
}

}  // namespace
}  // namespace fattn::gpu
