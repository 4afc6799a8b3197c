// SPDX-License-Identifier: Apache-2.0
// Verdicts on two runs, and the way of a run through JSON.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "fattn/Error.h"
#include "tools/fattn-bench/Report.h"
#include "tools/io/Random.h"

namespace fattn::bench {
namespace {

Timing timing(double median, double spread = 0.01, double error = 0.002) {
  return {median, median * (1 - spread / 2), median * (1 + spread / 2), error, 20};
}

Verdict verdict(const Timing& before, const Timing& now, std::optional<double> ceilingBefore = {}, std::optional<double> ceilingNow = {}) {
  return compare(before, now, ceilingBefore, ceilingNow).verdict;
}

TEST(Compare, SeesWhatIsBeyondTheNoise) {
  EXPECT_EQ(verdict(timing(100), timing(90)), Verdict::Faster);
  EXPECT_EQ(verdict(timing(100), timing(110)), Verdict::Slower);
  EXPECT_EQ(verdict(timing(100), timing(100.5)), Verdict::Same) << "below 1%";
  EXPECT_NEAR(compare(timing(100), timing(80), {}, {}).ratio, 1.25, 1e-12);
}

TEST(Compare, IsSilentWithinTheNoise) {
  EXPECT_EQ(verdict(timing(100, 0.01, 0.05), timing(110)), Verdict::Same) << "3 standard errors are 15%";
  EXPECT_EQ(verdict(timing(100, 0.5), timing(110)), Verdict::Same) << "the quartiles are 75 and 125";
  EXPECT_EQ(verdict(timing(110), timing(100, 0.5)), Verdict::Same);
}

TEST(Compare, BlamesTheMachineForWhatItsCeilingDid) {
  EXPECT_EQ(verdict(timing(100), timing(120), 1000, 833), Verdict::Machine);
  EXPECT_EQ(verdict(timing(100), timing(120), 1000, 1000), Verdict::Slower);
  EXPECT_EQ(verdict(timing(100), timing(150), 1000, 833), Verdict::Slower) << "more than the machine explains";
  EXPECT_EQ(verdict(timing(100), timing(80), 1000, 1250), Verdict::Machine);
}

TEST(Compare, TakesADriftOfTheMachineForNoise) {
  EXPECT_EQ(verdict(timing(100), timing(103)), Verdict::Slower);
  EXPECT_EQ(verdict(timing(100), timing(103), 1000, 970), Verdict::Machine);
  EXPECT_EQ(verdict(timing(100), timing(103), 1000, 1025), Verdict::Same) << "3% slower on a machine that was off by 2.5%";
  EXPECT_NEAR(compare(timing(100), timing(103), 1000, 1025).threshold, 0.035, 1e-9);
}

// The same kernel measured twice, 500 times over: hardly ever a verdict. A tenth slower: nearly always.
TEST(Compare, IsRightOnRandomRuns) {
  io::SplitMix64 random(7);
  // Twelve uniform numbers, less their mean, are normal enough.
  const auto noise = [&] {
    double sum = 0;
    for (int k = 0; k < 12; ++k) sum += static_cast<double>(random.below(1 << 20)) / (1 << 20);
    return std::exp(0.02 * (sum - 6));
  };
  const auto run = [&](double us) {
    std::vector<double> times(30);
    for (double& t : times) t = us * noise();
    return timingOf(times);
  };
  int falseAlarms = 0, missed = 0;
  for (int i = 0; i < 500; ++i) {
    falseAlarms += verdict(run(100), run(100)) != Verdict::Same;
    missed += verdict(run(100), run(110)) != Verdict::Slower;
  }
  EXPECT_LE(falseAlarms, 2);
  EXPECT_LE(missed, 2);
}

Run sample() {
  Run run{
      .target = "host", .device = "a machine", .driver = "none", .date = "2026-01-02T03:04:05Z", .version = "1.2.3", .suites = {"quick"}};
  run.ceilings.copy = Rate{2e10, 0.01};
  run.ceilings.matrix[DType::BF16] = {5e11, 0.01};
  run.measurements.push_back({{DType::BF16, {1, 4, 4, 1024, 1024, 64, 64, true}}, "BLOCK_M=64,BLOCK_N=64", timing(2000)});
  return run;
}

TEST(BenchReport, ComesBackFromItsJson) {
  const bench::Run run = sample();
  const bench::Run back = parseRun(printJson(run, {}), "x.json");
  ASSERT_EQ(back.measurements.size(), 1u);
  EXPECT_EQ(back.measurements[0].problem.name(), "bf16 B1 H4 S1024 D64 causal");
  EXPECT_EQ(back.measurements[0].timing.medianUs, 2000);
  EXPECT_EQ(back.measurements[0].timing.lowUs, run.measurements[0].timing.lowUs);
  EXPECT_EQ(back.ceilings.copy->value, 2e10);
  EXPECT_EQ(back.ceilings.matrix.at(DType::BF16).value, 5e11);
  EXPECT_EQ(compareRuns(back, run)[0].verdict, Verdict::Same);
}

TEST(BenchReport, AKernelComesBackFromItsJson) {
  bench::Run run = sample();
  run.measurements[0].problem = {DType::F32, {}, bench::KernelCase{"gemm+gelu", {512, 1024, 256}}};
  const bench::Run back = parseRun(printJson(run, {}), "x.json");
  EXPECT_EQ(back.measurements[0].problem.name(), "f32 gemm+gelu 512 x 1024 x 256");
  EXPECT_EQ(back.measurements[0].problem.flops(), 2.0 * 512 * 1024 * 256);
  EXPECT_EQ(back.measurements[0].problem.bytes(), 4.0 * (512 * 256 + 256 * 1024 + 512 * 1024));
  EXPECT_EQ(compareRuns(back, run)[0].verdict, Verdict::Same);
}

TEST(BenchReport, FindsTheEarlierFigureOfAProblem) {
  bench::Run before = sample(), now = sample();
  now.measurements[0].config = "BLOCK_M=128,BLOCK_N=64";
  EXPECT_EQ(compareRuns(before, now)[0].verdict, Verdict::Same) << "the only one of this problem, though its configuration was another";
  before.measurements.push_back(before.measurements[0]);
  before.measurements[1].config = "BLOCK_M=32,BLOCK_N=32";
  EXPECT_EQ(compareRuns(before, now)[0].verdict, Verdict::New) << "two, and none with this configuration";
  now.measurements[0].problem.shape.lenQ = 7;
  EXPECT_EQ(compareRuns(before, now)[0].verdict, Verdict::New);
}

TEST(BenchReport, SaysWhichCeilingAProblemMeets) {
  const bench::Run run = sample();
  const Share share = shareOf(run.measurements[0], run.ceilings);
  EXPECT_FALSE(share.memory);
  EXPECT_NEAR(*share.part, run.measurements[0].problem.flops() / 5e11 / 2e-3, 1e-9);
  Measurement decode{{DType::BF16, {1, 4, 4, 1, 65536, 64, 64, false}}, "", timing(10000)};
  EXPECT_TRUE(shareOf(decode, run.ceilings).memory);
  EXPECT_FALSE(shareOf(decode, {}).part);
}

TEST(BenchReport, TheTableHasEveryFigure) {
  const bench::Run run = sample();
  const std::string table = printTable(run, compareRuns(run, run), false);
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
  for (const char* text : {"host (a machine), fattn 1.2.3", "copy 20.0 GB/s", "bf16 dots 500.0 GFLOP/s", "bf16 B1 H4 S1024 D64 causal",
                           "2.000 ms", "1.0%", "same (within 1.0%)"})
    EXPECT_NE(table.find(text), std::string::npos) << text << "\n" << table;
  EXPECT_NE(printTable(run, {}, true).find("\x1b[2m"), std::string::npos);
}

std::string refusedReport(const std::string& text) {
  try {
    parseRun(text, "x.json");
    return "accepted";
  } catch (const Error& error) {
    return error.constraint();
  }
}

TEST(BenchReport, NamesWhatIsWrongInAFile) {
  EXPECT_EQ(refusedReport("{"), "'x.json' is no JSON");
  EXPECT_EQ(refusedReport("[]"), "'x.json' is no object");
  EXPECT_EQ(refusedReport("{}"), "'x.json' has no 'format'");
  EXPECT_EQ(refusedReport(R"({"format": "other"})"), "'x.json' has another format than 'fattn-bench 1'");
  auto json = nlohmann::ordered_json::parse(printJson(sample(), {}));
  json["measurements"][0]["time_us"] = -1;
  EXPECT_EQ(refusedReport(json.dump()), "'x.json' measurements[0] has no number of at least 1e-06 called 'time_us'");
  json["measurements"][0]["dtype"] = "f7";
  EXPECT_EQ(refusedReport(json.dump()), "'x.json' measurements[0] has an unknown dtype");
  json = nlohmann::ordered_json::parse(printJson(sample(), {}));
  json["measurements"][0]["time_us_quartiles"] = {1};
  EXPECT_EQ(refusedReport(json.dump()), "'x.json' measurements[0] has no two numbers called 'time_us_quartiles'");
  json["measurements"] = 3;
  EXPECT_EQ(refusedReport(json.dump()), "'x.json' has no list called 'measurements'");
}

TEST(BenchReport, SharesAboveTheCeilingComeWithARemark) {
  bench::Run run = sample();
  EXPECT_EQ(printTable(run, {}, false).find("note: ceilings are measured programs"), std::string::npos);
  for (Measurement& m : run.measurements) m.timing.medianUs = 1e-3;
  EXPECT_NE(printTable(run, {}, false).find("note: ceilings are measured programs, no limits of the machine"), std::string::npos);
}

}  // namespace
}  // namespace fattn::bench
