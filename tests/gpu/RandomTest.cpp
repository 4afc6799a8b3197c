// SPDX-License-Identifier: Apache-2.0
// A few hundred random programs on a GPU; `gpu-tests random` runs any number.
#include <gtest/gtest.h>

#include "fattn/Error.h"
#include "tests/random/Campaign.h"
#include "tests/random/Report.h"

namespace fattn::random {
namespace {

constexpr uint64_t kShards = 4, kDraws = 100;

class RandomPrograms : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomPrograms, AgreeWithTheInterpreter) {
  CampaignOptions options{.self = {"/proc/self/exe", "random"}, .draws = kDraws, .seed = GetParam() * kDraws, .processes = 4};
  try {
    options = completed(options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NoDevice) throw;
    GTEST_SKIP() << error.what();
  }
  Report report;
  runDraws(options, [&](const Result& result) {
    report.add(result);
    Verdict verdict = result.outcome.verdict;
    EXPECT_TRUE(verdict == Verdict::Agreed || verdict == Verdict::Refused) << describe(result);
  });
  EXPECT_EQ(report.unknownRefusals(), 0U) << report.table();
}

INSTANTIATE_TEST_SUITE_P(Shards, RandomPrograms, testing::Range<uint64_t>(0, kShards));

}  // namespace
}  // namespace fattn::random
