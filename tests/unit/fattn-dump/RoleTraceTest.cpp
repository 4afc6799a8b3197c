// SPDX-License-Identifier: Apache-2.0
// What warp groups did when a kernel ran, as a drawing below the schedule.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "fattn/Error.h"
#include "tools/fattn-dump/Options.h"
#include "tools/fattn-dump/RoleTrace.h"

namespace fattn::dump {
namespace {

/// A group whose trips take 1000 cycles: a dot of 400 from 100 on, for which it waits from 200 on, and two barriers; and a copier.
RoleTrace example() {
  RoleTrace trace{.kernel = "forward",
                  .target = "nvidia:sm_90a",
                  .device = "a GPU",
                  .launch = 8,
                  .roles = {{.name = "group 0", .events = {}}, {.name = "copies", .events = {}}}};
  for (int trip = 0; trip < 9; ++trip) {
    const double at = 1000 * trip + (trip > 6 ? 5000 : 0);
    for (auto [event, time] :
         {std::pair("begin wait k", 0), {"end wait k", 50}, {"issue q*k", 100}, {"begin wait q*k", 200}, {"end wait q*k", 500}})
      trace.roles[0].events.emplace_back(event, at + time);
    for (const double again : {610, 620})
      for (const char* event : {"begin barrier", "end barrier"}) trace.roles[0].events.emplace_back(event, at + again);
    trace.roles[1].events.emplace_back("begin copy k", at + 600);
    trace.roles[1].events.emplace_back("end copy k", at + 700);
  }
  trace.roles[1].full = true;
  return trace;
}

TEST(RoleTraceTest, DrawsTwoUsualTripsAndWhatIsWaitedFor) {
  EXPECT_EQ(drawRoleTrace(example(), 40),
            "measured: kernel 'forward' for nvidia:sm_90a on a GPU, launch 8, its first block\n"
            "  1000 cycles a trip, the median of 8; 2000 cycles in 40 columns; dots: in flight, until they are waited for;\n"
            "  group rows: |what it waits for..., - everything else; copies: |name and = until it is issued\n"
            "    dots |q*k====            |q*k====            \n"
            " group 0 --|q*k..----------|---|q*k..----------|-\n"
            "         waits in a trip: k 50, q*k 300\n"
            "  copies           |k                  |k        \n"
            "         copying, and waiting for slots, in a trip: k 100\n"
            "  copies noted more, for which there was no room\n");
}

TEST(RoleTraceTest, ChartsTheSameTrips) {
  const std::optional<Chart> chart = chartOf(example());
  ASSERT_TRUE(chart);
  EXPECT_EQ(chart->title, "Measured");
  EXPECT_EQ(chart->note, "kernel 'forward' for nvidia:sm_90a on a GPU, launch 8, its first block: 1000 cycles a trip, the median of 8");
  EXPECT_EQ(chart->rows, (std::vector<std::string>{"dots of group 0", "group 0", "copies"}));
  EXPECT_EQ(chart->end - chart->begin, 2000);
  // Cycles of each row in two trips: a dot in flight, work between waits, waits for k, the dot and barriers, and the copies.
  std::map<std::pair<int, bool>, double> cycles;
  for (const Chart::Span& span : chart->spans) {
    EXPECT_GE(span.begin, chart->begin);
    EXPECT_LE(span.end, chart->end);
    cycles[{span.row, span.waits}] += span.end - span.begin;
  }
  EXPECT_EQ(cycles, (std::map<std::pair<int, bool>, double>{{{0, false}, 800}, {{1, false}, 1300}, {{1, true}, 700}, {{2, false}, 200}}));
  for (const Chart::Span& span : chart->spans)
    if (span.row == 0) EXPECT_EQ(chart->nodes[span.node].what, "dot q*k, in flight until it is waited for");
}

TEST(RoleTraceTest, AKernelWithoutALoopSaysSo) {
  RoleTrace trace = example();
  trace.roles[0].events.resize(5);
  EXPECT_TRUE(drawRoleTrace(trace).ends_with("\n  no loop had three trips\n"));
  EXPECT_FALSE(chartOf(trace));
  trace.roles.clear();
  EXPECT_TRUE(drawRoleTrace(trace).ends_with("\n  no role noted anything\n"));
}

class RoleTraceFile : public testing::Test {
 protected:
  RoleTraceFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fattn-role-trace-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~RoleTraceFile() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& text) const {
    std::ofstream(folder_ + "/k.json") << text;
    return folder_ + "/k.json";
  }
  std::string folder_;
};

TEST_F(RoleTraceFile, IsReadAsTheRuntimeWritesIt) {
  const RoleTrace trace = readRoleTrace(file(R"({"kernel":"k","target":"nvidia:sm_90a","device":"a GPU","launch":4,"roles":[)"
                                             R"({"name":"group 0","full":true,"events":[["begin wait k",10],["end wait k",250]]}]})"));
  EXPECT_EQ(trace.kernel, "k");
  EXPECT_EQ(trace.launch, 4);
  ASSERT_EQ(trace.roles.size(), 1u);
  EXPECT_TRUE(trace.roles[0].full);
  EXPECT_EQ(trace.roles[0].events, (std::vector<std::pair<std::string, double>>{{"begin wait k", 10}, {"end wait k", 250}}));
}

TEST_F(RoleTraceFile, OtherFilesAreErrorsThatSayWhatWritesOne) {
  for (const std::string text : {"", "{}", "[1, 2]", R"({"kernel":"k","target":"t","device":"d","launch":1,"roles":[{}]})"}) try {
      readRoleTrace(file(text));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      EXPECT_NE(std::string(error.what()).find("is no timeline of warp groups"), std::string::npos) << error.what();
    }
  EXPECT_THROW(readRoleTrace(folder_ + "/none.json"), Error);
}

TEST(RoleTraceOptions, ATimelineIsDrawnWithTheScheduleOfAGpu) {
  const auto options = parseCommandLine({"--target", "nvidia:sm_90a", "--trace", "k.json"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->emit, std::vector{Kind::Schedule});
  for (const std::vector<std::string>& others : {std::vector<std::string>{"--emit", "ptx"}, {"--remarks"}, {"--all-passes"}}) {
    std::vector<std::string> arguments = {"--target", "nvidia:sm_90a", "--trace", "k.json"};
    arguments.insert(arguments.end(), others.begin(), others.end());
    const auto elsewhere = parseCommandLine(arguments);
    ASSERT_FALSE(elsewhere) << others[0];
    EXPECT_EQ(elsewhere.error().hint, "add schedule to --emit, or leave the other options out");
  }
  const auto host = parseCommandLine({"--trace", "k.json"});
  ASSERT_FALSE(host);
  EXPECT_NE(host.error().message.find("--trace is drawn with the schedule, and compiling for host has none"), std::string::npos)
      << host.error().message;
}

}  // namespace
}  // namespace fattn::dump
