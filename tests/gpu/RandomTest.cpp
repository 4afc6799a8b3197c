// SPDX-License-Identifier: Apache-2.0
// A few hundred random programs on a GPU, of which `gpu-tests random` runs any number, and the programs that once failed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "fattn/Error.h"
#include "tests/random/Campaign.h"
#include "tests/random/Report.h"

namespace fattn::random {
namespace {

constexpr uint64_t kShards = 4, kDraws = 100;

class RandomPrograms : public testing::TestWithParam<uint64_t> {};

void agreeWithTheInterpreter(CampaignOptions options) {
  options.self = {"/proc/self/exe", "gpu-tests", "random"};
  options.processes = 4;
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

TEST_P(RandomPrograms, AgreeWithTheInterpreter) { agreeWithTheInterpreter({.draws = kDraws, .seed = GetParam() * kDraws}); }

/// Folders of programs that once failed, which the package has in share.
class FailedPrograms : public testing::TestWithParam<const char*> {};

TEST_P(FailedPrograms, AgreeWithTheInterpreter) {
  std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "share/fattn/tests" / GetParam();
  if (!exists(folder)) folder = std::filesystem::path(FATTN_TESTS) / GetParam();
  agreeWithTheInterpreter({.programs = folder.string()});
}

INSTANTIATE_TEST_SUITE_P(Folders, FailedPrograms, testing::Values("differential/programs", "regressions"), [](const auto& info) {
  std::string name = info.param;
  std::ranges::replace(name, '/', '_');
  return name;
});

INSTANTIATE_TEST_SUITE_P(Shards, RandomPrograms, testing::Range<uint64_t>(0, kShards));

}  // namespace
}  // namespace fattn::random
