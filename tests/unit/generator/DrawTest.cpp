// SPDX-License-Identifier: Apache-2.0
// Draws: the same for the same seed, spread over what there is to choose, and readable back from their text.
#include <gtest/gtest.h>

#include <map>

#include "fattn/Error.h"
#include "tests/generator/Draw.h"

namespace fattn::generator {
namespace {

std::vector<std::string> drawnTargets() { return {"nvidia:sm_80", "nvidia:sm_90", "host"}; }

std::string messageFor(const std::string& text) {
  try {
    Draw::parse(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Draw, TheSameSeedGivesTheSameDraw) {
  EXPECT_EQ(draw(17, drawnTargets()), draw(17, drawnTargets()));
  EXPECT_EQ(draw(17, drawnTargets()).program, 17U);
}

TEST(Draw, EveryConfigurationComesUp) {
  std::map<std::string, int> targets;
  std::map<int, int> stages, warps, schedules;
  std::map<Alignment, int> alignments;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Draw one = draw(seed, drawnTargets());
    ++targets[one.target], ++stages[one.stages], ++warps[one.warps], ++schedules[one.schedule], ++alignments[one.alignment];
    EXPECT_NO_THROW(one.config().validate());
  }
  for (const std::string& target : drawnTargets()) EXPECT_GE(targets[target], 80) << target;
  for (int i = 1; i <= 4; ++i) EXPECT_GE(stages[i], 60) << i << " stages";
  for (int i = 1; i <= 8; ++i) EXPECT_GE(warps[i], 5) << i << " warps";
  for (int i : {1, 2, 4, 8}) EXPECT_GE(warps[i], 50) << i << " warps";
  for (int i = 1; i <= 7; ++i) EXPECT_GE(schedules[i], 15) << "schedule " << i;
  EXPECT_GE(schedules[0], 100);
  EXPECT_GE(schedules.rbegin()->first, 32);
  for (Alignment alignment : {Alignment::Mixed, Alignment::Aligned, Alignment::Unaligned}) EXPECT_GE(alignments[alignment], 60);
}

TEST(Draw, ReadsItsText) {
  for (uint64_t seed : {0, 1, 12345}) EXPECT_EQ(Draw::parse(draw(seed, drawnTargets()).toString()), draw(seed, drawnTargets()));
  Draw one{.program = 17, .target = "nvidia:sm_90", .stages = 3, .warps = 8, .schedule = 2, .alignment = Alignment::Unaligned};
  EXPECT_EQ(one.toString(), "program=17 target=nvidia:sm_90 stages=3 warps=8 schedule=2 alignment=unaligned");
  EXPECT_EQ(Draw::parse(" warps=2  program=5 ").toString(), "program=5 target=host stages=2 warps=2 schedule=0 alignment=mixed");
}

TEST(Draw, NamesABadItem) {
  EXPECT_EQ(messageFor("program=1 warps=0"), "bad item 'warps=0' in a draw: it is a number from 1 to 32");
  EXPECT_EQ(messageFor("stages=two"), "bad item 'stages=two' in a draw: it is a number from 1 to 8");
  EXPECT_EQ(messageFor("colour=red"),
            "bad item 'colour=red' in a draw\n"
            "  hint: program=N target=NAME stages=1..8 warps=1..32 schedule=0..63 alignment=mixed|aligned|unaligned");
}

TEST(Draw, FitsTheScheduleToWhatTheCompilerSays) {
  Draw one{.schedule = 13};
  EXPECT_FALSE(one.fitSchedule("the kernel could not be compiled for nvidia:sm_90: something else"));
  EXPECT_EQ(one.schedule, 13);
  EXPECT_TRUE(one.fitSchedule("the kernel could not be compiled for nvidia:sm_90: there is no schedule 13: the loops have 0 to 4"));
  EXPECT_EQ(one.schedule, 3);
  EXPECT_TRUE(one.fitSchedule("there is no schedule 3: the loops have 0 to 0"));
  EXPECT_EQ(one.schedule, 0);
  EXPECT_FALSE(one.fitSchedule("there is no schedule 0: the loops have 0 to 0")) << "or it would be tried for ever";
}

}  // namespace
}  // namespace fattn::generator
