// SPDX-License-Identifier: Apache-2.0
// The fattn-tune executable as a user starts it: what it finds stays found, whatever happens to the process.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "tests/support/Command.h"

namespace fattn {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using namespace std::chrono_literals;

std::string readAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Outcome {
  int code = -1;
  std::string out, err;
  json object() const { return json::parse(out, nullptr, false); }
};

// A problem with nine candidates, and one with all, whose kernels compile and run in no time.
constexpr std::string_view kSmall = "--head-dim 8 --dtype f32 --heads 1 --seqlen 64 ",
                           kLarge = "--head-dim 8 --dtype f32 --heads 1 --seqlen 256 ";
// A tuning ends when it has its verdict, so that a budget costs nothing: this one lets a slow and busy machine come to one, too.
constexpr const char* kAmple = "--budget 10m";

// "kSmall --json": the options of a problem and more of them.
std::string with(std::string_view problem, const std::string& more) { return std::string(problem) + more; }

// The same in every run, so that a failure can be repeated.
std::minstd_rand seeded(unsigned seed) { return std::minstd_rand(seed); }

struct TuneTool : testing::Test {
  TuneTool() {
    std::string pattern = testing::TempDir() + "fattn-tune-XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  ~TuneTool() override {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }

  fs::path folder, cache = "cache", shipped;

  std::string environment() const {
    return fmt::format("env -u FATTN_ALWAYS_COMPILE -u FATTN_TUNE FATTN_TARGET=host FATTN_CACHE_DIR={} FATTN_TUNED_DIR={} ",
                       (folder / cache).string(), shipped.string());
  }
  Outcome start(const std::string& arguments, const std::string& more = "", const std::string& program = FATTN_TUNE) const {
    const std::string out = (folder / "out").string(), err = (folder / "err").string();
    const int code =
        test::runCommand(fmt::format("{} {} '{}' {} >{} 2>{} </dev/null", environment(), more, program, arguments, out, err)).status;
    return {code, readAll(out), readAll(err)};
  }
  /// Starts it in the background, with what it prints in files of its own.
  pid_t launch(const std::string& arguments, const std::string& name) const {
    std::string text = fmt::format("exec {} '{}' {} >{} 2>{} </dev/null", environment(), FATTN_TUNE, arguments,
                                   (folder / (name + ".out")).string(), (folder / (name + ".err")).string());
    std::string shell = "/bin/sh", flag = "-c";
    char* words[] = {shell.data(), flag.data(), text.data(), nullptr};
    pid_t child = -1;
    EXPECT_EQ(posix_spawn(&child, shell.c_str(), nullptr, nullptr, words, environ), 0);
    return child;
  }
  static int wait(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  /// "BLOCK_M=16,BLOCK_N=16 12.3 us" for every point that a process has reported on standard error.
  std::multiset<std::string> reported(const std::string& name) const {
    std::multiset<std::string> points;
    std::istringstream in(readAll(folder / (name + ".err")));
    for (std::string line; std::getline(in, line) && !in.eof();) {  // a line without its end was not reported
      const std::size_t at = line.find("BLOCK_M");
      if (at == std::string::npos) continue;
      std::istringstream words(line.substr(at));
      std::string tile, number, unit;
      words >> tile >> number >> unit;
      points.insert(fmt::format("{} {} {}", tile, number, unit));
    }
    return points;
  }
  /// Whether a process has come to report as many points. The limit is for a process that hangs, not for a slow machine.
  bool waitForPoints(const std::string& name, std::size_t points) const {
    const auto end = std::chrono::steady_clock::now() + 5min;
    while (reported(name).size() < points) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(10ms);
    }
    return true;
  }
  /// The same for what the cache holds.
  std::multiset<std::string> kept() const {
    std::multiset<std::string> points;
    const json shown = start("cache show --json").object();
    for (const json& record : shown.at("records"))
      for (const json& point : record.at("points"))
        if (point.at("status") == "measured") {
          const double us = point.at("median_us");
          points.insert(point.at("tile").get<std::string>() + " " +
                        (us < 1000 ? fmt::format("{:.1f} us", us) : fmt::format("{:.3f} ms", us * 1e-3)));
        }
    return points;
  }
  void expectWhole() const {
    const Outcome verdict = start("cache verify");
    EXPECT_EQ(verdict.code, 0) << verdict.out;
  }
};

TEST_F(TuneTool, ASecondProcessFindsTheWinnerWithoutMeasuring) {
  const Outcome first = start(fmt::format("--json --head-dim 16 --dtype f32 --heads 1 --seqlen 64 {}", kAmple));
  ASSERT_EQ(first.code, 0) << first.err;
  const json result = first.object().at("results").at(0);
  EXPECT_EQ(result.at("status"), "tuned");
  EXPECT_EQ(result.at("measured").get<int>() + result.at("failed").get<int>(), 12);
  EXPECT_EQ(result.at("pruned"), 65);
  const std::string winner = result.at("winner");

  const json explained = start("explain 1,1,64,16 --dtype f32 --json").object();
  EXPECT_EQ(explained.at("tile"), winner);
  EXPECT_EQ(explained.at("rule"), "exact");
  const auto before = kept();
  const json again = start("--json --resume --head-dim 16 --dtype f32 --heads 1 --seqlen 64").object().at("results").at(0);
  EXPECT_EQ(again.at("status"), "known");
  EXPECT_EQ(again.at("winner"), winner);
  EXPECT_EQ(kept(), before);

  // An engine that knows nothing of tuning: its shape is another one, for which this is the nearest.
  const Outcome engine = start("16", "", FATTN_CACHE_PROBE);
  EXPECT_EQ(engine.code, 0);
  EXPECT_TRUE(engine.out.starts_with("right found " + winner + " ")) << engine.out;
}

TEST_F(TuneTool, KilledAtTwentyRandomMomentsNothingReportedIsLost) {
  std::minstd_rand random = seeded(20);
  std::multiset<std::string> all;
  for (int i = 0; i < 20; ++i) {
    const std::string name = fmt::format("run{}", i);
    const pid_t child = launch(with(kLarge, kAmple), name);
    // Anywhere from the first moments on, most of them while points come in, also on a machine that has other things to do.
    const std::size_t points = random() % 6;
    ASSERT_TRUE(waitForPoints(name, points)) << readAll(folder / (name + ".err"));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
    kill(child, SIGKILL);
    EXPECT_EQ(wait(child), -SIGKILL);
    all.merge(reported(name));
    if (i % 5 == 4) expectWhole();
  }
  const auto found = kept();
  EXPECT_GT(all.size(), 20u) << "or this test shows nothing";
  EXPECT_TRUE(std::ranges::includes(found, all)) << found.size() << " kept of " << all.size();
  const Outcome end = start(with(kSmall, fmt::format("--json {}", kAmple)));
  ASSERT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.object().at("results").at(0).at("status"), "tuned") << "and the cache still works: " << end.out;
  expectWhole();
}

TEST_F(TuneTool, EightProcessesAtOnceLoseNothing) {
  std::vector<pid_t> children;
  const char* lengths[] = {"16", "16", "16", "16", "32", "64", "16,32", "32,64"};
  for (int i = 0; i < 8; ++i)
    children.push_back(
        launch(fmt::format("--head-dim 8 --dtype f32 --heads 1 {} --json --seqlen {}", kAmple, lengths[i]), fmt::format("p{}", i)));
  std::multiset<std::string> all;
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(wait(children[static_cast<std::size_t>(i)]), 0) << readAll(folder / fmt::format("p{}.err", i));
    all.merge(reported(fmt::format("p{}", i)));
  }
  const json list = start("cache ls --json").object();
  ASSERT_EQ(list.at("records").size(), 3u);
  for (const json& record : list.at("records")) EXPECT_TRUE(record.contains("winner")) << record.dump();
  // What was measured in the last step replaces a candidate's first figure, so that configurations are compared here, not figures.
  auto tiles = [](const std::multiset<std::string>& points) {
    std::multiset<std::string> names;
    for (const std::string& point : points) names.insert(point.substr(0, point.find(' ')));
    return names;
  };
  EXPECT_TRUE(std::ranges::includes(tiles(kept()), tiles(all)));
  expectWhole();
}

TEST_F(TuneTool, ControlCKeepsWhatWasMeasuredAndResumeGoesOn) {
  const pid_t child = launch(with(kLarge, kAmple), "run");
  ASSERT_TRUE(waitForPoints("run", 3)) << readAll(folder / "run.err");
  kill(child, SIGINT);
  EXPECT_EQ(wait(child), 130);
  EXPECT_NE(readAll(folder / "run.out").find("stopped; what was measured is kept ("), std::string::npos) << readAll(folder / "run.out");
  const auto points = reported("run");
  EXPECT_GE(points.size(), 3u);
  EXPECT_TRUE(std::ranges::includes(kept(), points));
  const json resumed = start(with(kLarge, "--resume --json --budget 3s")).object().at("results").at(0);
  EXPECT_TRUE(resumed.at("status") == "tuned" || resumed.at("status") == "unfinished") << resumed;
  EXPECT_GE(resumed.at("known").get<std::size_t>() + 1, points.size()) << "all but the default, which is measured always";
  expectWhole();
}

TEST_F(TuneTool, TheWinnerBeatsTheDefaultOrIsIt) {
  const Outcome run = start(with(kSmall, fmt::format("--json {}", kAmple)));
  ASSERT_EQ(run.code, 0) << run.err;
  const json results = run.object().at("results");
  ASSERT_EQ(results.size(), 1u);
  const json& result = results[0];
  ASSERT_EQ(result.at("status"), "tuned") << run.out;
  if (result.at("default_is_best"))
    EXPECT_EQ(result.at("winner"), result.at("default")) << run.out;
  else
    EXPECT_GT(result.at("gain").get<double>(), 1.005) << run.out;
}

TEST_F(TuneTool, ASmallBudgetNamesAWinnerOnlyWhereThereIsAVerdict) {
  const Outcome run = start("--head-dim 64 --seqlen 512..2048 --heads 1 --dtype bf16 --budget 3s --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const json results = run.object().at("results");
  ASSERT_EQ(results.size(), 3u);
  for (const json& result : results) {
    const std::string status = result.at("status");  // which one depends on how fast the machine is
    EXPECT_TRUE(status == "tuned" || status == "unfinished" || status == "not-reached") << result;
    EXPECT_EQ(result.contains("winner"), status == "tuned") << result;
  }
}

TEST_F(TuneTool, ALookUpGoesFromTheShapeOverTheNearestAndTheShippedToTheDefault) {
  const Outcome tuned = start(with(kSmall, fmt::format("--json {}", kAmple)));
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const std::string winner = tuned.object().at("results").at(0).at("winner");
  auto explain = [&](const std::string& shape, const std::string& more = "") {
    return start(fmt::format("explain {} --dtype f32 --json", shape), more).object();
  };
  EXPECT_EQ(explain("1,1,50,8").at("rule"), "exact") << "50 is in the bucket of 64";
  const json nearest = explain("1,1,100,8");
  EXPECT_EQ(nearest.at("rule"), "nearest");
  EXPECT_EQ(nearest.at("tile"), winner);
  EXPECT_EQ(nearest.at("decided_by").at(0).at("distance"), 1 + 1);
  EXPECT_EQ(explain("1,1,300,8").at("reason"), "the default, as no tuned shape is near: each extent within a factor of 4, and of 8 in all");
  ASSERT_EQ(start("cache export --shipped " + (folder / "tuned").string()).code, 0);

  cache = "another";
  EXPECT_EQ(explain("1,1,64,8").at("rule"), "default");
  EXPECT_EQ(explain("1,1,64,8").at("reason"), "the default, as nothing is tuned for this kernel on this device");
  shipped = folder / "tuned";
  const json fromFile = explain("1,1,64,8");
  EXPECT_EQ(fromFile.at("rule"), "shipped");
  EXPECT_EQ(fromFile.at("tile"), winner);
  EXPECT_TRUE(fromFile.at("decided_by")
                  .at(0)
                  .at("source")
                  .get<std::string>()
                  .ends_with("/attention_forward-f32-d8-v8/heads=1,seq_k=64,seq_q=64.json"));
  EXPECT_EQ(explain("1,1,64,8", "FATTN_TUNE=off").at("reason"), "the default, as FATTN_TUNE=off");
  const std::string text = start("explain 1,1,64,8 --dtype f32").out;
  for (const char* part :
       {"this shape     nothing in ", "nearest shape  nothing in ", "shipped        this one: shipped, as nothing nearer is tuned"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(TuneTool, RecordsTravelInAFile) {
  ASSERT_EQ(start(with(kSmall, kAmple)).code, 0);
  const std::string file = (folder / "tuned.json").string();
  EXPECT_EQ(start("cache export " + file).err, "exported 1 record\n");
  const auto points = kept();
  cache = "another";
  EXPECT_EQ(start("cache import " + file).out, "imported 1 record\n");
  EXPECT_EQ(kept(), points);
  const Outcome broken = start("cache import " FATTN_TUNE);
  EXPECT_EQ(broken.code, 1);
  EXPECT_NE(broken.err.find("no whole record"), std::string::npos) << broken.err;
  EXPECT_EQ(start("cache export - nothing-like-that").out, "");
  EXPECT_NE(start("cache ls").out.find("attention_forward-f32-d8-v8 "), std::string::npos);
}

TEST_F(TuneTool, VerifyNamesWhatIsBrokenAndPruneRemovesIt) {
  ASSERT_EQ(start(with(kSmall, kAmple)).code, 0);
  expectWhole();
  const fs::path folderOf = start("cache ls --json").object().at("records").at(0).at("folder").get<std::string>();
  std::ofstream(folderOf / "0123456789abcdef-1.json") << "{";
  const Outcome verdict = start("cache verify");
  EXPECT_EQ(verdict.code, 1);
  EXPECT_NE(verdict.out.find("0123456789abcdef-1.json: it is no whole file of tuned configurations of this version\n"), std::string::npos)
      << verdict.out;
  EXPECT_NE(start("cache prune").out.find("removed 0 old and 1 broken files"), std::string::npos);
  expectWhole();
  EXPECT_FALSE(kept().empty());
  EXPECT_EQ(start("cache prune --tuned-bytes 0 --binary-bytes 0").code, 0);
  EXPECT_TRUE(kept().empty());
}

TEST_F(TuneTool, ACompilationTunesIfItIsToldTo) {
  const Outcome first = start("16", "FATTN_TUNE=on FATTN_TUNE_BUDGET=1", FATTN_CACHE_PROBE);
  EXPECT_EQ(first.code, 0) << first.err;
  const bool finished =
      first.out.find("the winner of the tuning for the nearest shape (heads=32,seq_k=2048,seq_q=2048") != std::string::npos;
  const bool unfinished = first.out.find("the tuning for heads=32,seq_k=2048,seq_q=2048 is unfinished") != std::string::npos;
  EXPECT_NE(finished, unfinished) << first.out;
  const auto points = kept();
  EXPECT_FALSE(points.empty());
  const Outcome second = start("16", "FATTN_TUNE=on FATTN_TUNE_BUDGET=1", FATTN_CACHE_PROBE);
  EXPECT_EQ(second.code, 0) << second.err;
  if (finished)
    EXPECT_EQ(kept(), points) << "what is tuned is not tuned again";
  else
    EXPECT_TRUE(std::ranges::includes(kept(), points)) << "what is known is not measured again";
}

TEST_F(TuneTool, ADryRunDoesNothing) {
  const Outcome plan = start(with(kSmall, "--dry-run"));
  EXPECT_EQ(plan.code, 0);
  EXPECT_NE(plan.out.find("77 candidates, 65 of them pruned"), std::string::npos) << plan.out;
  EXPECT_NE(plan.out.find("\n    and 60 more; --json lists them all\n"), std::string::npos) << plan.out;
  const json reasons = start(with(kSmall, "--dry-run --json")).object().at("results").at(0).at("pruned_because");
  EXPECT_EQ(reasons.size(), 65u);
  EXPECT_EQ(reasons.at("BLOCK_M=256,BLOCK_N=256"), "BLOCK_M=256 is more than the 64 queries of this bucket of lengths");
  EXPECT_FALSE(fs::exists(folder / cache));
}

TEST_F(TuneTool, PlotsWhatWasMeasured) {
  ASSERT_EQ(start(with(kSmall, kAmple)).code, 0);
  const fs::path file = folder / "picture.svg";
  EXPECT_EQ(start("plot 1,1,64,8 --dtype f32 -o " + file.string()).code, 0);
  const std::string svg = readAll(file);
  EXPECT_TRUE(svg.starts_with("<svg ")) << svg.substr(0, 100);
  EXPECT_NE(svg.find(">f32 d8, 1x1x64<"), std::string::npos);
  const Outcome nothing = start("plot 1,1,4096,8 --dtype f32");
  EXPECT_EQ(nothing.code, 1);
  EXPECT_EQ(nothing.err,
            "fattn-tune: error: nothing was measured for f32 d8 1x1x4096\n"
            "  hint: fattn-tune run measures, fattn-tune cache ls lists what there is\n");
}

TEST_F(TuneTool, ExitCodesTellWhatIsWrong) {
  EXPECT_EQ(start("--help").code, 0);
  EXPECT_EQ(start("--seqlen x").code, 2);
  const Outcome unsupported = start("--head-dim 12");
  EXPECT_EQ(unsupported.code, 3);
  EXPECT_TRUE(unsupported.err.starts_with("fattn-tune: error: head_dim is 12; it must be a multiple of 8 from 8 to 256\n"))
      << unsupported.err;
  EXPECT_EQ(start("--target nvidia:sm_90").code, 3);
  EXPECT_EQ(start("--target cuda:99").code, 4);
  EXPECT_EQ(start("cache import " + (folder / "missing").string()).code, 1);
  const Outcome unkept = start(std::string(kSmall), "FATTN_CACHE_DIR=/proc/nothing");
  EXPECT_EQ(unkept.code, 1);
  EXPECT_NE(unkept.err.find("fattn-tune: error: what is measured cannot be kept in /proc/nothing/v1\n"), std::string::npos) << unkept.err;
#ifndef __SANITIZE_ADDRESS__  // which ends a process that asks for more memory than there is, where it would go on
  const Outcome large = start("--json --head-dim 256 --dtype f32 --heads 1m --seqlen 1m,64 --batch 1m --budget 2s");
  EXPECT_EQ(large.code, 1);
  EXPECT_EQ(large.object().at("results").at(0).at("status"), "failed") << large.out;
#endif
}

TEST_F(TuneTool, ATerminalShowsABarAndNoLines) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(master, 0);
  ASSERT_EQ(grantpt(master), 0);
  ASSERT_EQ(unlockpt(master), 0);
  const std::string path = ptsname(master);
  const int slave = open(path.c_str(), O_RDWR | O_NOCTTY);  // held open: what was written stays until it is read
  fcntl(master, F_SETFL, O_NONBLOCK);
  const int code =
      test::runCommand(fmt::format("TERM=xterm {} '{}' {} >/dev/null 2>{} </dev/null", environment(), FATTN_TUNE, kSmall, path)).status;
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(master, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  close(slave);
  close(master);
  EXPECT_EQ(code, 0);
  EXPECT_NE(text.find("\r\x1b[2K[1/1] f32 d8 1x1x64  ["), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\x1b[2K")) << "the bar is erased in the end";
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace fattn
