// SPDX-License-Identifier: Apache-2.0
// Turns: their order, their end; and the ceilings of the host.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "kernels/core/CompileProgram.h"
#include "tools/fattn-bench/Ceilings.h"
#include "tools/fattn-bench/Measure.h"
#include "tools/fattn-bench/Report.h"

namespace fattn::bench {
namespace {

void wait(int us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

TEST(Turns, AlternateTheirOrderAfterTheWarmUp) {
  std::string order;
  std::vector<Contestant> two = {{"a", [&] { order += 'a'; }, {}}, {"b", [&] { order += 'b'; }, {}}};
  takeTurns(openDevice("host"), two, {.seconds = 0, .least = 3}, {}, [](int, double) {});
  EXPECT_EQ(order,
            "abab"
            "abbaab");
  EXPECT_EQ(two[0].us.size(), 3u);
}

TEST(Turns, EndWithTheTime) {
  double clock = 0;
  std::vector<Contestant> one = {{"a", [&] { clock += 1, wait(static_cast<int>(clock) * 50); }, {}}};
  takeTurns(openDevice("host"), one, {.seconds = 10, .least = 2, .precision = 0, .now = [&] { return clock; }}, {}, [](int, double) {});
  EXPECT_EQ(one[0].us.size(), 8u) << "two of ten seconds went into the warm-up";
}

TEST(Turns, EndOnceTheFiguresAreKnown) {
  std::vector<Contestant> one = {{"a", [&] { wait(20'000); }, {}}};  // long beside a preemption
  takeTurns(openDevice("host"), one, {.seconds = 100, .least = 6, .most = 400, .precision = 0.5}, {}, [](int, double) {});
  EXPECT_EQ(one[0].us.size(), 6u);
  EXPECT_GT(timingOf(one[0].us).medianUs, 20'000);
}

TEST(Turns, FlushBeforeEachLaunch) {
  int flushes = 0, launches = 0;
  std::vector<Contestant> one = {{"a", [&] { EXPECT_EQ(flushes, ++launches); }, {}}};
  takeTurns(openDevice("host"), one, {.seconds = 0, .least = 2}, [&] { ++flushes; }, [](int, double) {});
  EXPECT_EQ(launches, 4);
}

TEST(CeilingsTest, OfTheHostAreCountedAndTakeAboutTheTimeAskedFor) {
  Device& device = openDevice("host");
  const auto copy = copyCeiling(device, "host");
  EXPECT_GE(copy->bytes, 2.0 * (1 << 20));
  EXPECT_EQ(copy->flops, 0);
  copy->launch();
  for (DType type : {DType::F32, DType::BF16}) {
    const auto dots = matrixCeiling(device, "host", type, 1000);
    std::vector<Contestant> one = {{"dots", [&] { dots->launch(); }, {}}};
    takeTurns(device, one, {.seconds = 0.05, .least = 6}, {}, [](int, double) {});
    const double us = timingOf(one[0].us).medianUs;
    EXPECT_GT(us, 50) << name(type);
    EXPECT_LT(us, 100000) << name(type);
    EXPECT_GT(dots->flops / us * 1e6, 1e9) << "more than one GFLOP/s";
  }
}

// The same kernels on a GPU, as far as they can be looked at without one.
TEST(CeilingsTest, OfAGpuUseItsInstructions) {
  const std::string chip = "nvidia:sm_90";
  auto compiled = [&](const std::function<CeilingProgram()>& from) {
    return kernels::compileProgram({.target = chip, .tile = from().tile, .folder = "", .trace = [&] { return from().program; }}).binary;
  };
  const compiler::Binary copy = compiled([&] { return copyProgram(chip); });
  EXPECT_NE(copy.bytes.find("ld.global"), std::string::npos);
  EXPECT_NE(copy.bytes.find(".v4"), std::string::npos) << "16 bytes at a time";
  for (DType type : {DType::F16, DType::BF16}) {
    const compiler::Binary dots = compiled([&] { return dotsProgram(chip, type); });
    EXPECT_NE(dots.bytes.find("mma.sync"), std::string::npos) << name(type);
    EXPECT_EQ(dots.threads, 256);
  }
}

}  // namespace
}  // namespace fattn::bench
