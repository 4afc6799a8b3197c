// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/tune/Search.h"
#include "tests/unit/tune/FakeDevice.h"

namespace fattn::tuning {
namespace {

using namespace test;
using Status = cache::TunePoint::Status;

Space grid() {
  Space space{.candidates = {}, .safe = tile(64, 64)};
  for (int m : {16, 32, 64, 96, 128, 192, 256})
    for (int n : {16, 32, 64, 96, 128, 192, 256}) space.candidates.push_back(tile(m, n));
  return space;
}

// A bowl with its bottom at 128 x 96.
double bowl(const TileConfig& t) {
  return 100 * (1 + 0.2 * std::abs(std::log2(t.block_m / 128.0)) + 0.1 * std::abs(std::log2(t.block_n / 96.0)));
}

TEST(Search, FindsTheBottomOfABowlAndKeepsEveryPoint) {
  FakeDevice device;
  device.us = bowl;
  Outcome outcome = search(grid(), device.callbacks(), device.settings());
  ASSERT_TRUE(outcome.winner);
  EXPECT_EQ(outcome.winner->tile, tile(128, 96));
  EXPECT_DOUBLE_EQ(outcome.winner->medianUs, 100);
  EXPECT_EQ(outcome.ending, Ending::Complete);
  EXPECT_FALSE(outcome.safeIsBest);
  EXPECT_NEAR(outcome.gain, bowl(tile(64, 64)) / 100, 1e-9);
  EXPECT_EQ(outcome.measured, 49u);
  EXPECT_EQ(outcome.failed + outcome.pruned + outcome.untried + outcome.reused, 0u);
  for (const TileConfig& t : grid().candidates) {
    const cache::TunePoint* point = device.point(t);
    ASSERT_NE(point, nullptr) << t.toString();
    EXPECT_EQ(point->status, Status::Measured);
    EXPECT_DOUBLE_EQ(point->medianUs, bowl(t));
    EXPECT_EQ(device.compiled[t.toString()], 1);
  }
  ASSERT_TRUE(device.keptWinner);
  EXPECT_EQ(device.keptWinner, outcome.winner);
  EXPECT_EQ(device.reportedBeforeKept, 0u);
}

TEST(Search, HopelessCandidatesCostTwoLaunches) {
  FakeDevice device;
  device.us = [](const TileConfig& t) { return t == tile(16, 16) ? 1000.0 : bowl(t); };
  search(grid(), device.callbacks(), device.settings());
  EXPECT_EQ(device.launches[tile(16, 16).toString()], 2);
  EXPECT_EQ(device.point(tile(16, 16))->samples, 2);
  EXPECT_EQ(device.launches[tile(256, 256).toString()], 4) << "two to warm up, and two that say that it is 34% slower";
}

TEST(Search, TheSafeOneStaysWhereNothingIsWorthwhile) {
  FakeDevice device;
  device.us = [](const TileConfig& t) { return t == tile(64, 64) ? 100.0 : 99.7; };
  Outcome outcome = search(grid(), device.callbacks(), device.settings());
  ASSERT_TRUE(outcome.winner);
  EXPECT_EQ(outcome.winner->tile, tile(64, 64));
  EXPECT_TRUE(outcome.safeIsBest);
  EXPECT_EQ(outcome.gain, 1);
}

TEST(Search, NoiseNeverMakesItWorseThanTheSafeOneAndSeldomMissesTheBest) {
  int near = 0;
  for (unsigned seed = 1; seed <= 50; ++seed) {
    FakeDevice device(seed);
    device.us = bowl;
    device.noise = 0.05;
    device.outliers = 0.05;
    Outcome outcome = search(grid(), device.callbacks(), device.settings());
    ASSERT_TRUE(outcome.winner);
    EXPECT_LE(bowl(outcome.winner->tile), bowl(tile(64, 64))) << seed;
    if (bowl(outcome.winner->tile) < 104.5) ++near;
  }
  EXPECT_GE(near, 48);
}

TEST(Search, WithEqualCandidatesNoiseSeldomMovesTheChoice) {
  int moved = 0;
  for (unsigned seed = 1; seed <= 50; ++seed) {
    FakeDevice device(seed);
    device.noise = 0.03;
    Outcome outcome = search(grid(), device.callbacks(), device.settings());
    if (!outcome.safeIsBest) ++moved;
    EXPECT_LT(std::abs(outcome.gain - 1), 0.05);
  }
  EXPECT_LE(moved, 10);
}

// Whoever is measured early on a device that becomes slower looks faster than it is.
TEST(Search, RankingInTurnsCorrectsADrift) {
  FakeDevice device;
  device.us = [](const TileConfig& t) { return t == tile(256, 256) ? 100.0 : 108.0; };
  device.noise = 0.005;
  device.drift = [](double seconds) { return 1 + 0.15 * std::min(seconds / 0.06, 1.0); };
  Outcome outcome = search(grid(), device.callbacks(), device.settings());
  ASSERT_TRUE(outcome.winner);
  EXPECT_EQ(outcome.winner->tile, tile(256, 256));
  EXPECT_NEAR(outcome.gain, 1.08, 0.02);
}

TEST(Search, WhatIsRejectedIsRecordedAndNotCompiled) {
  FakeDevice device;
  device.us = bowl;
  Callbacks callbacks = device.callbacks();
  callbacks.reject = [](const TileConfig& t) -> std::optional<std::string> {
    if (t.block_m >= 128) return "BLOCK_M does not fit";
    return std::nullopt;
  };
  Outcome outcome = search(grid(), callbacks, device.settings());
  EXPECT_EQ(outcome.pruned, 21u);
  EXPECT_EQ(outcome.winner->tile, tile(96, 96));
  EXPECT_EQ(device.compiled.count(tile(128, 96).toString()), 0u);
  EXPECT_EQ(device.point(tile(128, 96))->status, Status::Pruned);
  EXPECT_EQ(device.point(tile(128, 96))->reason, "BLOCK_M does not fit");
}

TEST(Search, FailuresAreRecordedAndTheNextBestWins) {
  FakeDevice device;
  device.us = bowl;
  device.doesNotCompile = {tile(128, 96).toString()};
  device.doesNotLaunch = {tile(128, 128).toString()};
  device.wrong = {tile(128, 64).toString()};
  Outcome outcome = search(grid(), device.callbacks(), device.settings());
  EXPECT_EQ(outcome.failed, 3u);
  EXPECT_EQ(device.point(tile(128, 96))->reason, "no code for BLOCK_M=128,BLOCK_N=96");
  EXPECT_EQ(device.point(tile(128, 128))->reason, "the launch of BLOCK_M=128,BLOCK_N=128 failed");
  EXPECT_EQ(device.point(tile(128, 64))->reason, "wrong result: relative error 1.0");
  EXPECT_EQ(device.point(tile(128, 64))->status, Status::Failed);
  EXPECT_EQ(outcome.winner->tile, tile(96, 96));
}

TEST(Search, ALostDeviceEndsTheSearchAndBlamesOnlyWhoLostIt) {
  FakeDevice device;
  device.doesNotLaunch = {tile(32, 32).toString(), "and loses the device"};
  EXPECT_THROW(search(grid(), device.callbacks(), device.settings()), Error);
  std::vector<std::string> blamed;
  for (const cache::TunePoint& point : device.kept)
    if (point.status == Status::Failed) blamed.push_back(point.tile.toString() + ": " + point.reason);
  EXPECT_EQ(blamed,
            std::vector<std::string>{"BLOCK_M=32,BLOCK_N=32: the launch of BLOCK_M=32,BLOCK_N=32 failed (and the device was lost)"});
}

TEST(Search, WithoutASafeConfigurationThereIsNoSearch) {
  FakeDevice device;
  device.doesNotCompile = {tile(64, 64).toString()};
  EXPECT_THROW(search(grid(), device.callbacks(), device.settings()), Error);
}

// "The default is the best; 1 measured, 48 not tried" was stored as final.
TEST(Search, ABudgetTooSmallForAVerdictGivesNone) {
  for (double budget : {0.02, 0.1, 1.0}) {
    FakeDevice device;
    device.us = bowl;
    device.compileSeconds = 0.01;
    Space space{.candidates = {}, .safe = tile(64, 64)};
    for (int m = 8; m <= 1024; m += 8)
      for (int n = 8; n <= 1024; n += 8) space.candidates.push_back(tile(m, n));
    Settings settings = device.settings();
    settings.budgetSeconds = budget;
    Outcome outcome = search(space, device.callbacks(), settings);
    EXPECT_EQ(outcome.ending, Ending::Unfinished);
    EXPECT_FALSE(outcome.winner);
    EXPECT_FALSE(device.keptWinner);
    EXPECT_GT(outcome.untried, 10000u);
    EXPECT_EQ(device.kept.size(), outcome.measured);
    EXPECT_GT(outcome.measured, 0u);
    EXPECT_LT(outcome.seconds, budget + 0.05);
  }
}

TEST(Search, ABudgetThatReachesHalfOfTheCandidatesEndsWithAWinnerThatSaysHowManyWereNotTried) {
  FakeDevice device;
  device.us = bowl;
  device.compileSeconds = 0.01;
  Settings settings = device.settings();
  settings.budgetSeconds = 0.7;
  Outcome outcome = search(grid(), device.callbacks(), settings);
  EXPECT_EQ(outcome.ending, Ending::Budget);
  ASSERT_TRUE(outcome.winner);
  EXPECT_GT(outcome.untried, 0u);
  EXPECT_LE(outcome.untried * 2, 49u);
  EXPECT_EQ(outcome.winner->untried, static_cast<std::int64_t>(outcome.untried));
}

TEST(Search, WhatABudgetLeftIsTriedWhenItGoesOn) {
  FakeDevice first;
  first.us = bowl;
  first.compileSeconds = 0.01;
  Settings settings = first.settings();
  settings.budgetSeconds = 0.1;
  ASSERT_EQ(search(grid(), first.callbacks(), settings).ending, Ending::Unfinished);
  FakeDevice second;
  second.us = bowl;
  settings = second.settings();
  settings.known = first.kept;
  Outcome outcome = search(grid(), second.callbacks(), settings);
  EXPECT_EQ(outcome.ending, Ending::Complete);
  EXPECT_EQ(outcome.winner->tile, tile(128, 96));
  EXPECT_EQ(outcome.winner->untried, 0);
  EXPECT_EQ(outcome.reused, first.kept.size() - 1) << "the safe one is measured each time";
}

TEST(Search, CancellingKeepsWhatWasMeasured) {
  for (std::size_t after : {1u, 5u, 20u, 49u}) {
    FakeDevice device;
    device.us = bowl;
    std::stop_source stop;
    Callbacks callbacks = device.callbacks();
    std::size_t reports = 0;
    callbacks.progress = [&](const Progress&) {
      if (++reports == after) stop.request_stop();
    };
    Settings settings = device.settings();
    settings.stop = stop.get_token();
    Outcome outcome = search(grid(), callbacks, settings);
    EXPECT_EQ(outcome.ending, Ending::Cancelled);
    EXPECT_FALSE(outcome.winner);
    EXPECT_FALSE(device.keptWinner);
    EXPECT_EQ(device.kept.size(), after);
    EXPECT_EQ(reports, after) << "nothing begins after the stop";
  }
}

TEST(Search, WhatIsKnownIsNotMeasuredAgainInTheSweep) {
  FakeDevice first;
  first.us = bowl;
  first.doesNotCompile = {tile(16, 32).toString()};
  search(grid(), first.callbacks(), first.settings());
  FakeDevice second;
  second.us = bowl;
  Settings settings = second.settings();
  settings.known = first.kept;
  Outcome outcome = search(grid(), second.callbacks(), settings);
  EXPECT_EQ(outcome.reused, 48u);
  EXPECT_EQ(outcome.winner->tile, tile(128, 96));
  EXPECT_EQ(second.compiled.count(tile(16, 32).toString()), 0u);
  EXPECT_EQ(second.compiled.count(tile(16, 16).toString()), 0u);
  EXPECT_EQ(second.compiled[tile(128, 96).toString()], 1);
}

TEST(Search, VariantsAreTriedForTheBestOnly) {
  FakeDevice device;
  device.us = [](const TileConfig& t) { return bowl(t) * (t.schedule == "C" ? 0.9 : t.schedule == "B" ? 1.1 : 1); };
  Space space = grid();
  space.variants = [](const TileConfig& t) {
    std::vector<TileConfig> both(2, t);
    both[0].schedule = "B";
    both[1].schedule = "C";
    return both;
  };
  Outcome outcome = search(space, device.callbacks(), device.settings());
  TileConfig best = tile(128, 96);
  best.schedule = "C";
  EXPECT_EQ(outcome.winner->tile, best);
  EXPECT_EQ(outcome.measured, 49u + 2 * 4) << "the default and three others";
  EXPECT_EQ(outcome.untried, 0u);
}

TEST(Search, RepeatedCandidatesAreTriedOnce) {
  FakeDevice device;
  Space space{.candidates = {tile(32, 32), tile(64, 64), tile(32, 32)}, .safe = tile(64, 64)};
  Outcome outcome = search(space, device.callbacks(), device.settings());
  EXPECT_EQ(outcome.measured, 2u);
}

}  // namespace
}  // namespace fattn::tuning
