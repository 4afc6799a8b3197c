// SPDX-License-Identifier: Apache-2.0
// fattn-bench on the host, from the command line to figures and exit codes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/common/CommandLine.h"
#include "tools/fattn-bench/Job.h"

namespace fattn::bench {
namespace {

struct Result {
  int code = -1;
  std::string out, err;
};

Result run(const std::string& line) {
  std::istringstream words(line);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Result result;
  result.code = runJob({std::istream_iterator<std::string>(words), {}});
  result.out = testing::internal::GetCapturedStdout();
  result.err = testing::internal::GetCapturedStderr();
  return result;
}

TEST(Bench, SaysThatTimesOfAChipAreAModels) {
  const Result r = run("--target amd:gfx1100 --list");
  ASSERT_EQ(r.code, tool::kOk) << r.err;
  EXPECT_NE(r.err.find("fattn-bench: note: nothing is measured: amd:gfx1100 names a chip and no device"), std::string::npos) << r.err;
}

TEST(Bench, MeasuresAndCompares) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / fmt::format("fattn-bench-{}.json", ::getpid());
  const Result first = run(fmt::format("--target host --dtype f32 --seconds 0.1 --json --output {}", file.string()));
  ASSERT_EQ(first.code, tool::kOk) << first.err;
  EXPECT_EQ(first.err, "") << "no progress where there is no terminal";
  auto json = nlohmann::json::parse(first.out);
  EXPECT_EQ(json["target"], "host");
  ASSERT_EQ(json["measurements"].size(), 4u);
  for (const auto& m : json["measurements"]) {
    EXPECT_GE(m["turns"], 6);
    EXPECT_GT(m["time_us"], 0);
    EXPECT_GT(m["tflops"], 0);
    EXPECT_GT(m["share_of_ceiling"], 0);
    EXPECT_NE(m["config"], "");
  }
  EXPECT_GT(json["ceilings"]["copy"]["per_second"], 0);
  EXPECT_GT(json["ceilings"]["matrix"]["f32"]["per_second"], 0);

  // Against figures that nothing can reach, everything is slower; the exit code says so.
  for (auto& m : json["measurements"]) m["time_us"] = 1e-3, m["time_us_quartiles"] = {1e-3, 1e-3}, m["relative_error"] = 0;
  std::ofstream(file) << json.dump();
  const Result slower = run(fmt::format("--target host --dtype f32 --seconds 0.1 --compare {}", file.string()));
  EXPECT_EQ(slower.code, tool::kFailure) << slower.err;
  EXPECT_NE(slower.out.find("slower 0.000x"), std::string::npos) << slower.out;
  EXPECT_NE(slower.out.find("ceilings:  copy "), std::string::npos) << slower.out;
  std::filesystem::remove(file);
}

TEST(Bench, ListsCasesWithoutMeasuring) {
  const Result r = run("--list --target host");
  EXPECT_EQ(r.code, tool::kOk);
  EXPECT_NE(r.out.find("quick: four cases, for a first look\n  bf16 B1 H4 S1024 D64\n"), std::string::npos) << r.out;
}

TEST(Bench, FailuresAreSentencesWithExitCodes) {
  const Result missing = run("--target host --compare no-such-file.json");
  EXPECT_EQ(missing.code, tool::kFailure);
  EXPECT_EQ(missing.err,
            "fattn-bench: error: cannot read no-such-file.json: No such file or directory\n  hint: give what `fattn-bench --output FILE` "
            "wrote\n");
  EXPECT_EQ(run("--suite fast").code, tool::kUsage);
  EXPECT_EQ(run("--target nonsense").code, tool::kNoDevice);
  const Result help = run("--help");
  EXPECT_EQ(help.code, tool::kOk);
  EXPECT_NE(help.out.find("quick|prefill|causal"), std::string::npos);
}

}  // namespace
}  // namespace fattn::bench
