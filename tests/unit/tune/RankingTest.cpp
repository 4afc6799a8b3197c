// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/tune/Ranking.h"
#include "tests/unit/tune/FakeDevice.h"

namespace fattn::tuning {
namespace {

using namespace test;

TEST(Statistics, QuantilesInterpolate) {
  const double values[] = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(median(values), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 4);
  EXPECT_DOUBLE_EQ(spread(values), 1.5);
  EXPECT_DOUBLE_EQ(median(std::span(values).first(1)), 4);
}

TEST(Statistics, AnOutlierMovesNeitherTheEstimateNorItsError) {
  const double calm[] = {100, 101, 99, 100, 100.5, 99.5, 100}, disturbed[] = {100, 101, 99, 100, 100.5, 99.5, 1000};
  EXPECT_DOUBLE_EQ(estimate(calm).value, 100);
  EXPECT_NEAR(estimate(disturbed).value, 100, 0.51);
  EXPECT_LT(estimate(disturbed).error, 0.6);
  const double two[] = {100, 100};
  EXPECT_DOUBLE_EQ(estimate(two).error, 5) << "two equal values are no certainty";
}

Contestant with(std::vector<double> turns) { return {.tile = {}, .trial = nullptr, .us = turns[0], .turns = std::move(turns)}; }

TEST(Ranking, ALinearDriftCancelsWithinAPair) {
  // Forwards and backwards: the first contestant has the first and the last time of four.
  Contestant a = with({100, 103, 104, 107, 108, 111}), b = with({101, 102, 105, 106, 109, 110});
  EXPECT_DOUBLE_EQ(gainOf(a, b).value, 1);
  EXPECT_DOUBLE_EQ(gainOf(a, b).error, 0);
}

TEST(Ranking, AGainBelowHalfAPercentIsNone) {
  std::vector<Contestant> both = {with(std::vector<double>(12, 100)), with(std::vector<double>(12, 99.6))};
  EXPECT_EQ(judge(both).winner, 0u);
  both[1] = with(std::vector<double>(12, 99));
  EXPECT_EQ(judge(both).winner, 1u);
  EXPECT_NEAR(judge(both).gain.value, 1.0101, 1e-4);
}

TEST(Ranking, AGainWithinTheNoiseIsNone) {
  std::vector<Contestant> both = {with({100, 100, 100, 100, 100, 100, 100, 100}), with({90, 90, 108, 108, 97, 97, 103, 103})};
  Verdict verdict = judge(both);
  EXPECT_EQ(verdict.winner, 0u);
  EXPECT_FALSE(verdict.decided);
}

TEST(Ranking, ItIsDecidedWhenTheFirstIsClearOfTheSecond) {
  std::vector<Contestant> three = {with(std::vector<double>(12, 100)), with(std::vector<double>(12, 80)),
                                   with(std::vector<double>(12, 79.9))};
  EXPECT_EQ(judge(three).winner, 2u);
  EXPECT_FALSE(judge(three).decided);
  three[1] = with(std::vector<double>(12, 90));
  EXPECT_TRUE(judge(three).decided);
  for (Contestant& one : three) one.turns.resize(4);
  EXPECT_FALSE(judge(three).decided) << "four turns are too few to be sure";
}

TEST(Ranking, ShortKernelsAreLaunchedSeveralTimesATurn) {
  FakeDevice device;
  auto callbacks = device.callbacks();
  auto trial = callbacks.compile(tile(8, 8));
  std::vector<Contestant> one = {{.tile = tile(8, 8), .trial = trial.get(), .us = 1000, .turns = {}}};
  takeTurn(one, false);
  EXPECT_EQ(device.launches[tile(8, 8).toString()], 2);
  one[0].us = 1e6;
  takeTurn(one, false);
  EXPECT_EQ(device.launches[tile(8, 8).toString()], 3);
  EXPECT_EQ(one[0].turns.size(), 2u);
}

}  // namespace
}  // namespace fattn::tuning
