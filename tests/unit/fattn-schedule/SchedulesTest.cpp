// SPDX-License-Identifier: Apache-2.0
// The command line of fattn-schedule: output, messages, exit codes.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/unit/fattn-schedule/Run.h"
#include "tools/fattn-schedule/Schedules.h"

namespace fattn::schedule {
namespace {

using nlohmann::json;

TEST(ScheduleTool, PrintsTheBestAndADrawing) {
  const Outcome outcome = run({dataFile("forward.json")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("nvidia:sm_90a: 7 legal schedules, 3 within 240 registers"));
  EXPECT_NE(outcome.out.find("  S PV1 E L\n"), std::string::npos);
  EXPECT_NE(outcome.out.find("\n group 1 "), std::string::npos);
}

TEST(ScheduleTool, JsonHasTheSameFigures) {
  const Outcome outcome = run({dataFile("forward.json"), "--json", "--best", "2", "--turns"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json document = json::parse(outcome.out);
  EXPECT_EQ(document["target"], "nvidia:sm_90a");
  EXPECT_EQ(document["legal"], 7);
  EXPECT_EQ(document["fitting"], 3);
  EXPECT_EQ(document["bound_cycles"], 2048);
  EXPECT_EQ(document["busiest"], "tensor");
  EXPECT_EQ(document["register_limit"], 240);
  EXPECT_GT(document["search_ms"], 0);
  ASSERT_EQ(document["schedules"].size(), 2U);
  EXPECT_EQ(document["schedules"][0]["schedule"], "S PV1 E L");
  EXPECT_EQ(document["schedules"][0]["cycles"], 2048);
  EXPECT_EQ(document["schedules"][0]["utilization"], 1);
  EXPECT_EQ(document["schedules"][0]["registers"], 184);
}

TEST(ScheduleTool, AForcedScheduleIsEvaluatedEvenIfItDoesNotFit) {
  const Outcome fits = run({dataFile("forward.json"), "--force", "L1 S PV1 E"});
  EXPECT_EQ(fits.code, 0) << fits.err;
  EXPECT_NE(fits.out.find("  L1 S PV1 E\n"), std::string::npos) << "in the rotation that it was written in";
  const Outcome over = run({dataFile("forward.json"), "--force", "S E1 L1 PV1"});
  EXPECT_EQ(over.code, 0) << over.err;
  EXPECT_NE(over.out.find("  S E1 L1 PV1  (does not fit)\n"), std::string::npos);
  EXPECT_NE(over.out.find("nvidia:sm_90a: a forced schedule; the limits are 240 registers and 232448 bytes of shared memory\n"),
            std::string::npos);
}

TEST(ScheduleTool, TheStandardInputIsReadToo) {
  std::ifstream in(dataFile("gemm.json"));
  const Outcome outcome = run({"-", "--json"}, {std::istreambuf_iterator<char>(in), {}});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["busiest"], "tensor");
}

TEST(ScheduleTool, WhatTheTableCannotPriceIsSaid) {
  const Outcome outcome = run({dataFile("forward.json"), "--target", "nvidia:sm_80"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("no rate in the table, counted as issue slots only: conversions of L\n"), std::string::npos);
}

TEST(ScheduleTool, Failures) {
  const Outcome missing = run({"no/such/file.json"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.err,
            "fattn-schedule: cannot read no/such/file.json: No such file or directory\n  hint: give the path of a loop model, or - for the "
            "standard input\n");
  const Outcome target = run({dataFile("gemm.json"), "--target", "nvidia:sm_70"});
  EXPECT_EQ(target.code, 1);
  EXPECT_TRUE(target.err.starts_with("fattn-schedule: there is no GPU target 'nvidia:sm_70'\n  hint: legal targets are nvidia:sm_80, "));
  const Outcome illegal = run({dataFile("gemm.json"), "--force", "C K X"});
  EXPECT_EQ(illegal.code, 1);
  EXPECT_EQ(illegal.err,
            "fattn-schedule: schedule `C K X` is illegal: C needs K of the same iteration, which is issued later in the trip\n"
            "  hint: put K before C with stage 0 of C, or give C stage 1 or more\n");
}

TEST(ScheduleTool, WrongUsage) {
  EXPECT_EQ(run({}).code, 2);
  EXPECT_EQ(run({}).err, "fattn-schedule: file is required\n  hint: fattn-schedule --help lists the options\n");
  EXPECT_EQ(run({dataFile("gemm.json"), "--best", "0"}).code, 2);
  EXPECT_EQ(run({dataFile("gemm.json"), "--stages", "9"}).code, 2);
  EXPECT_EQ(run({dataFile("gemm.json"), "--fast"}).code, 2);
  const Outcome help = run({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.out.find("--force"), std::string::npos);
  EXPECT_NE(help.out.find("amd:gfx1201"), std::string::npos);
}

}  // namespace
}  // namespace fattn::schedule
