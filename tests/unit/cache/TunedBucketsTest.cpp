// SPDX-License-Identifier: Apache-2.0
// Which of several tunings serves a shape, and what loses least over them.
#include <gtest/gtest.h>

#include "runtime/cache/TunedBuckets.h"
#include "tests/unit/cache/Support.h"

namespace fattn::cache {
namespace {

const TileConfig kSmall{.block_m = 64}, kLarge{.block_m = 128}, kDecode{.block_m = 16}, kSafe{.block_m = 256};

Shape shape(std::int64_t heads, std::int64_t q, std::int64_t k) { return {{"heads", heads}, {"seq_k", k}, {"seq_q", q}}; }

TunedBucket bucket(const Shape& at, std::vector<std::pair<TileConfig, double>> times) {
  TunedBucket made{.shape = at, .winner = {}, .times = std::move(times), .source = {}, .device = {}};
  const auto best = std::ranges::min_element(made.times, {}, &std::pair<TileConfig, double>::second);
  made.winner = {.tile = best->first, .medianUs = best->second};
  return made;
}

std::vector<std::string> nearestNames(const std::vector<TunedBucket>& buckets, const Shape& told) {
  std::vector<std::string> names;
  for (const TunedBucket* one : nearest(buckets, told)) names.push_back(bucketName(one->shape));
  return names;
}

LeastLoss loss(const std::vector<TunedBucket>& buckets) {
  std::vector<const TunedBucket*> all;
  for (const TunedBucket& one : buckets) all.push_back(&one);
  return leastLoss(all, kSafe);
}

using Names = std::vector<std::string>;

TEST(TunedBuckets, TheNearestDecidesUnlessItIsFar) {
  const std::vector<TunedBucket> buckets = {bucket(shape(32, 512, 512), {{kSmall, 1}}), bucket(shape(32, 4096, 4096), {{kLarge, 1}})};
  EXPECT_EQ(nearestNames(buckets, shape(32, 500, 300)), (Names{"heads=32,seq_k=512,seq_q=512"}));
  EXPECT_EQ(nearestNames(buckets, shape(40, 3000, 9000)), (Names{"heads=32,seq_k=4096,seq_q=4096"}));
  EXPECT_EQ(nearestNames(buckets, shape(32, 16384, 8192)), (Names{"heads=32,seq_k=4096,seq_q=4096"})) << "a factor of 4 is near";
  EXPECT_EQ(nearestNames(buckets, shape(32, 16385, 4096)), Names{}) << "a factor of 8 is not";
  EXPECT_EQ(nearestNames(buckets, shape(2, 512, 512)), Names{});
}

// What was best for 128 heads and a length of 4096 made 32 heads at 1024 1.2 times slower than the default (D = 128, H200). What was best
// for 32 heads at 4096, blocks that take one program after another, made 32 heads at 1024 1.1 times slower (D = 64, causal): they have
// fewer programs than the GPU has blocks.
TEST(TunedBuckets, ExtentsThatAreAllNearMayBeFarTogether) {
  const std::vector<TunedBucket> buckets = {bucket(shape(128, 4096, 4096), {{kLarge, 1}})};
  EXPECT_EQ(nearestNames(buckets, shape(32, 1024, 1024)), Names{});
  EXPECT_EQ(nearestNames(buckets, shape(128, 1024, 1024)), Names{});
  EXPECT_EQ(nearestNames(buckets, shape(64, 2048, 2048)), (Names{"heads=128,seq_k=4096,seq_q=4096"}));
}

// Tuning one query against 4096 keys made prefill at 1024 1.5 times slower.
TEST(TunedBuckets, OneQueryAgainstManyKeysSaysNothingAboutAPrefill) {
  const std::vector<TunedBucket> buckets = {bucket(shape(32, 1, 4096), {{kDecode, 1}})};
  EXPECT_EQ(nearestNames(buckets, shape(8, 1024, 1024)), Names{});
  EXPECT_EQ(nearestNames(buckets, shape(32, 1, 8192)), (Names{"heads=32,seq_k=4096,seq_q=1"}));
}

TEST(TunedBuckets, WhatIsNotToldDistinguishesNothing) {
  const std::vector<TunedBucket> buckets = {bucket(shape(4, 512, 512), {{kSmall, 1}}), bucket(shape(32, 512, 512), {{kSmall, 1}}),
                                            bucket(shape(32, 1024, 1024), {{kLarge, 1}})};
  EXPECT_EQ(nearestNames(buckets, {{"seq_q", 512}, {"seq_k", 512}}),
            (Names{"heads=4,seq_k=512,seq_q=512", "heads=32,seq_k=512,seq_q=512"}));
  EXPECT_EQ(nearest(buckets, {}).size(), 3u);
  EXPECT_EQ(nearestNames(buckets, {{"rows", 512}}), Names{}) << "another kernel's extents";
}

// The tile that is 1% faster at 2048 is 15% slower at 16384: it is not for all lengths.
TEST(TunedBuckets, TheLeastWorstLossIsChosen) {
  const std::vector<TunedBucket> buckets = {bucket(shape(32, 2048, 2048), {{kSmall, 99}, {kLarge, 100}, {kSafe, 101}}),
                                            bucket(shape(32, 4096, 4096), {{kSmall, 113}, {kLarge, 100}, {kSafe, 102}}),
                                            bucket(shape(32, 16384, 16384), {{kSmall, 115}, {kLarge, 100}, {kSafe, 103}})};
  const LeastLoss found = loss(buckets);
  EXPECT_EQ(found.tile, kLarge);
  EXPECT_NEAR(found.worst, 1.0 / 99, 1e-12);
  EXPECT_NEAR(found.mean, 1.0 / 99 / 3, 1e-12);
}

TEST(TunedBuckets, TheDefaultMayLoseLeast) {
  const LeastLoss found = loss({bucket(shape(32, 512, 512), {{kSmall, 100}, {kLarge, 120}, {kSafe, 103}}),
                                bucket(shape(32, 4096, 4096), {{kSmall, 120}, {kLarge, 100}, {kSafe, 104}})});
  EXPECT_EQ(found.tile, kSafe);
  EXPECT_NEAR(found.worst, 0.04, 1e-12);
}

TEST(TunedBuckets, WithNothingButWinnersTheMostFrequentThenThatOfTheLargestBucketIsChosen) {
  EXPECT_EQ(loss({bucket(shape(4, 512, 512), {{kSmall, 1}}), bucket(shape(4, 2048, 2048), {{kLarge, 1}})}).tile, kLarge);
  const LeastLoss found = loss({bucket(shape(4, 512, 512), {{kSmall, 1}}), bucket(shape(4, 1024, 1024), {{kSmall, 1}}),
                                bucket(shape(4, 2048, 2048), {{kLarge, 1}})});
  EXPECT_EQ(found.tile, kSmall);
  EXPECT_EQ(found.worst, kUnmeasured);
}

TEST(TunedBuckets, OfARecordTheLastMeasurementOfAConfigurationCounts) {
  TuneRecord record = test::sampleRecord();
  auto all = [](const TileConfig&) { return true; };
  record.points = {{.tile = kSmall, .medianUs = 50, .samples = 1, .timeMs = 1, .run = "a"},
                   {.tile = kSmall, .medianUs = 60, .samples = 1, .timeMs = 2, .run = "b"},
                   {.tile = kLarge, .status = TunePoint::Status::Failed, .reason = "broken"}};
  const std::optional<TunedBucket> found = finished(record, all);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->times.size(), 2u);
  EXPECT_EQ(found->times[0].first, record.winner->tile);
  EXPECT_EQ(found->times[1], std::pair(kSmall, 60.0));
  EXPECT_FALSE(finished(record, [&](const TileConfig& tile) { return tile != record.winner->tile; }));
  record.winner.reset();
  EXPECT_FALSE(finished(record, all)) << "it is unfinished";
}

}  // namespace
}  // namespace fattn::cache
