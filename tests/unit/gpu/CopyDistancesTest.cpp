// SPDX-License-Identifier: Apache-2.0
// How far copies run ahead: what is decided, what can be told, and how it is written.
#include <gtest/gtest.h>

#include "compiler/gpu/schedule/CopyDistances.h"
#include "tests/unit/gpu/Loops.h"

namespace fattn::gpu {
namespace {

constexpr std::int64_t kSlot = 10000;

/// Attention's forward loop, whose copies z and y bring what S and PV read, 2 trips ahead, in a block with room for so many slots.
CostedLoop withRoomFor(int slots) {
  LoopModel model = forwardLoop(128, 128, 2);
  model.copies = {{.name = "z", .readers = {0}, .slotBytes = kSlot, .most = 2, .boxes = true},
                  {.name = "y", .readers = {3}, .slotBytes = kSlot, .most = 2, .boxes = true}};
  model.otherShared = 500;
  CostedLoop loop = cost(model, findTarget("nvidia:sm_90a"));
  loop.blockShared = slots * kSlot + 500;
  return loop;
}

std::string decided(const CostedLoop& loop, const char* text) { return print(loop, withDistances(loop, forceSchedule(loop, text))); }

TEST(CopyDistances, CopiesRunAsFarAheadAsTheyMayAndTheTextSaysNothing) {
  const CostedLoop loop = withRoomFor(6);
  const Schedule schedule = withDistances(loop, forceSchedule(loop, "S E L PV"));
  EXPECT_EQ(print(loop, schedule), "S E L PV");
  EXPECT_EQ(schedule.ahead[0], 2);
  EXPECT_EQ(slotsOf(loop, schedule, 0), 3);
  EXPECT_EQ(slotsOf(loop, schedule, 1), 3);
}

TEST(CopyDistances, OnlyBuffersThatALaterStageReadsTooCanHaveASlotLess) {
  CostedLoop loop = withRoomFor(4);
  EXPECT_EQ(decided(loop, "S PV1 E L"), "S PV1 E L") << "one stage reads each";
  loop.copies[0].readers = {0, 3};
  EXPECT_EQ(decided(loop, "S PV1 E L"), "S PV1 E L z1");
  loop.blockShared = 7 * kSlot + 500;
  EXPECT_EQ(decided(loop, "S PV1 E L"), "S PV1 E L") << "4 slots and 3 fit";
}

TEST(CopyDistances, TheLargestGivesWayFirst) {
  CostedLoop loop = withRoomFor(7);
  for (CopyAhead& copy : loop.copies) copy.readers = {0, 3};
  loop.copies[1].slotBytes = kSlot + 1, loop.blockShared += 10;
  EXPECT_EQ(decided(loop, "S PV1 E L"), "S PV1 E L y1");
  loop.blockShared = 6 * kSlot + 500;
  EXPECT_EQ(decided(loop, "S PV1 E L"), "S PV1 E L z1 y1");
  for (CopyAhead& copy : loop.copies) copy.boxes = false;
  EXPECT_EQ(decided(loop, "S PV1 E L"), "S PV1 E L") << "no slot is free for threads in the middle of a trip";
}

TEST(CopyDistances, WhatADotReadsThatRunsOnHasNoSlotMore) {
  LoopModel model = backwardLoop(128, 64, 2);
  model.copies = {{.name = "z", .readers = {0, 5}, .slotBytes = kSlot, .most = 2, .boxes = true}};
  const CostedLoop loop = cost(model, findTarget("nvidia:sm_90a"));
  const Schedule schedule = withDistances(loop, forceSchedule(loop, "S dP P dV dS dQ dK_ Qo"));
  EXPECT_EQ(print(loop, schedule), "S dP P dV dS dQ dK_ Qo z1");
  EXPECT_EQ(slotsOf(loop, schedule, 0), 3);
}

TEST(CopyDistances, WhatTilesOfOthersTakeCounts) {
  CostedLoop loop = withRoomFor(7);
  loop.copies[0].readers = {0, 3};
  EXPECT_EQ(decided(loop, "S PV1 E L"), "S PV1 E L");
  loop.exchanged = {{.filler = 1, .readers = {3}, .slotBytes = 100}};
  EXPECT_EQ(decided(loop, "S PV1 E L"), "S PV1 E L z1");
}

TEST(CopyDistances, ATextTellsThem) {
  const CostedLoop loop = withRoomFor(2);
  EXPECT_EQ(decided(loop, "S E L PV y0"), "S E L PV y0");
  EXPECT_EQ(decided(loop, "y1 S PV1 E z0 L"), "S PV1 E L z0 y1");
  EXPECT_EQ(decided(loop, "S E L PV z2"), "S E L PV") << "the most is not written";
}

std::string refusal(const char* text) {
  try {
    forceSchedule(withRoomFor(6), text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(CopyDistances, WhatIsNoDistanceIsRefused) {
  EXPECT_EQ(refusal("S E L PV z3"),
            "schedule `S E L PV z3`: copy z runs 3 trips ahead\n  hint: legal are z0 to z2; more stages allow more");
  EXPECT_EQ(refusal("S E L PV z"),
            "schedule `S E L PV z`: copy z runs no number of trips ahead\n  hint: legal are z0 to z2; more stages allow more");
  EXPECT_EQ(refusal("S E L PV z1 z1"), "schedule `S E L PV z1 z1`: copy z stands there twice\n  hint: each copy is told one distance");
  EXPECT_EQ(refusal("S E L PV x1"), "schedule `S E L PV x1`: there is no node 'x'\n  hint: the nodes are S, E, L, PV; the copies are z, y");
}

}  // namespace
}  // namespace fattn::gpu
