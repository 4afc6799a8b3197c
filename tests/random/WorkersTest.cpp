// SPDX-License-Identifier: Apache-2.0
// The pool of workers, with workers that answer, die and hang as they are told; and what a campaign makes of it.
#include <gtest/gtest.h>

#include <map>

#include "fattn/Error.h"
#include "tests/random/Refusals.h"
#include "tests/random/Report.h"
#include "tests/random/Workers.h"

namespace fattn::random {
namespace {

/// A worker in the shell: replies to its request with it and its own process id.
WorkerOptions shell(const std::string& before = "echo ready") {
  std::string script = before + R"(; while read -r line; do
    echo "at work on $line" >&2
    case $line in die) exit 7;; abort) kill -ABRT $$;; hang) sleep 100;; esac
    echo "$line by $$"
  done)";
  return {.command = {"/bin/sh", "-c", script}, .processes = 3, .limitSeconds = 1};
}

std::map<std::size_t, Reply> replies(Workers& workers, const std::vector<std::string>& requests) {
  std::map<std::size_t, Reply> all;
  workers.run(requests, [&](std::size_t i, const Reply& reply) { EXPECT_TRUE(all.emplace(i, reply).second) << i; });
  EXPECT_EQ(all.size(), requests.size());
  return all;
}

TEST(Workers, AnswerEveryRequest) {
  Workers workers(shell());
  std::vector<std::string> requests;
  for (int i = 0; i < 100; ++i) requests.push_back(std::to_string(i));
  for (const auto& [i, reply] : replies(workers, requests)) {
    EXPECT_EQ(reply.kind, Reply::Kind::Answered);
    EXPECT_TRUE(reply.text.starts_with(std::to_string(i) + " by ")) << reply.text;
  }
}

TEST(Workers, ThatDieOrHangTakeNoOtherRequestWithThem) {
  Workers workers(shell());
  auto all = replies(workers, {"a", "die", "b", "hang", "c", "abort", "d", "e"});
  for (std::size_t i : {0, 2, 4, 6, 7}) EXPECT_EQ(all[i].kind, Reply::Kind::Answered) << i;
  EXPECT_EQ(all[1].kind, Reply::Kind::Died);
  EXPECT_EQ(all[1].text, "exit status 7: at work on die");
  EXPECT_EQ(all[3].kind, Reply::Kind::TimedOut);
  EXPECT_EQ(all[3].text, "no answer within 1 s: at work on hang");
  EXPECT_EQ(all[5].kind, Reply::Kind::Died);
  EXPECT_EQ(all[5].text, "signal 6 (Aborted): at work on abort");
}

TEST(Workers, StayForTheNextCall) {
  WorkerOptions options = shell();
  options.processes = 1;
  Workers workers(options);
  std::string first = replies(workers, {"x"})[0].text, second = replies(workers, {"x"})[0].text;
  EXPECT_EQ(first, second) << "the same process answers";
}

TEST(Workers, HandOutNothingAfterTheTotalTime) {
  WorkerOptions options = shell();
  options.totalSeconds = 0.5;
  Workers workers(options);
  std::map<std::size_t, Reply> all;
  workers.run(std::vector<std::string>(8, "hang"), [&](std::size_t i, const Reply& reply) { all.emplace(i, reply); });
  EXPECT_GT(all.size(), 0U);
  EXPECT_LE(all.size(), 3U) << "one for each worker; they end by their limit of 1 s";
}

TEST(Workers, ThatDoNotStartAreGivenUp) {
  Workers workers(shell("echo no GPU here >&2; exit 2"));
  try {
    workers.run({"a"}, [](std::size_t, const Reply&) { FAIL() << "answered"; });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "workers do not start: exit status 2: no GPU here");
  }
}

TEST(Refusals, OfOneKindDifferInShapesAndNumbers) {
  EXPECT_EQ(kindOf("the kernel could not be compiled for nvidia:sm_90: 'tile.dot' op of 16 x 33\nmore"), "'tile.dot' op of N x N");
  EXPECT_EQ(kindOf("a tile 'tensor<16x33xf32, #tilegpu.regs<\"a\">>' without a layout"), "a tile TYPE without a layout");
}

TEST(Report, CountsVerdictsAndKindsOfRefusals) {
  Report report;
  generator::Draw draw;
  report.add({draw, {}});
  report.add({draw, {Verdict::Refused, "no dot of 3"}});
  report.add({draw, {Verdict::Refused, "no dot of 5"}});
  EXPECT_FALSE(report.good(false));
  EXPECT_FALSE(report.good(true)) << "this refusal is not known";
  EXPECT_EQ(report.unknownRefusals(), 2U);
  EXPECT_NE(report.table().find("      2 no dot of N\n"), std::string::npos) << report.table();
  EXPECT_NE(report.table().find("| refused   |       2 |"), std::string::npos) << report.table();
}

}  // namespace
}  // namespace fattn::random
