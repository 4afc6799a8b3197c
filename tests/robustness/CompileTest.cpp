// SPDX-License-Identifier: Apache-2.0
// fattn::compile and launches while the process forks, ends, or has no threads left.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fattn/fattn.h"
#include "runtime/base/Threads.h"
#include "tests/robustness/Attack.h"

namespace fattn {
namespace {

using test::inProcess;

constexpr std::int64_t kKeys = 70, kQueries = 300;

// A kernel of its own for each number.
AttentionConfig numbered(int number) {
  return {.dtype = DType::F32, .head_dim = 16, .target = "host", .tile = TileConfig{.block_m = 8 * (number % 16 + 1), .block_n = 16}};
}

// With all scores equal the result is the mean of the values.
void expectRight(const Kernel& kernel) {
  const std::int64_t dim = kernel.info().config.head_dim;
  const auto size = [&](std::int64_t rows) { return static_cast<std::size_t>(rows * dim); };
  std::vector<float> q(size(kQueries), 1), k(size(kKeys), 0.5f), v(size(kKeys)), o(size(kQueries), NAN);
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / dim;
    v[i] = static_cast<float>(row);
  }
  kernel.launch({}, {.q = {q.data(), DType::F32, {1, 1, kQueries, dim}},
                     .k = {k.data(), DType::F32, {1, 1, kKeys, dim}},
                     .v = {v.data(), DType::F32, {1, 1, kKeys, dim}},
                     .o = {o.data(), DType::F32, {1, 1, kQueries, dim}}});
  for (float value : o) ASSERT_NEAR(value, 34.5f, 1e-3f);
}

// Moments within a compilation, the same in every run.
std::chrono::milliseconds moment(int number) {
  return std::chrono::milliseconds(std::minstd_rand(static_cast<unsigned>(number) * 7919 + 1)() % 120);
}

TEST(ForkAndExit, AChildCompilesWhatAThreadOfItsParentIsCompiling) {
#ifdef FATTN_UNDER_SANITIZER
  GTEST_SKIP() << "sanitizers do not follow a forked child's threads";
#endif
  for (int round = 0; round < 10; ++round) {
    std::jthread compiling([&] { expectRight(compile(numbered(round))); });
    std::this_thread::sleep_for(moment(round));
    ASSERT_EQ(inProcess([&] { expectRight(compile(numbered(round))); }, 20), "") << round;
  }
}

TEST(ForkAndExit, ChildrenForkedUnderLoadCompileAndLaunch) {
#ifdef FATTN_UNDER_SANITIZER
  GTEST_SKIP() << "sanitizers do not follow a forked child's threads";
#endif
  host::setNumThreads(4);
  const Kernel kernel = compile(numbered(0));
  std::atomic<bool> stop{false};
  std::vector<std::jthread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&, i] {
      while (!stop) expectRight(compile(numbered(i % 2)));
    });
  for (int round = 0; round < 40; ++round) {
    ASSERT_EQ(inProcess(
                  [&] {
                    expectRight(kernel);
                    if (round % 8 == 0) expectRight(compile(numbered(2)));
                  },
                  20),
              "")
        << round;
  }
  stop = true;
}

TEST(ForkAndExit, ACallbackMayFork) {
  setCompileCallback([](const CompileProgress&) { EXPECT_EQ(inProcess([] { EXPECT_FALSE(listDevices().empty()); }, 20), ""); });
  expectRight(compile(numbered(0)));
  setCompileCallback({});
}

TEST(ForkAndExit, AProcessThatEndsWhileAThreadCompilesEndsQuietly) {
  // Forked before anything is compiled here, so that each of them compiles for the first time, too.
  for (int round = 0; round < 40; ++round)
    ASSERT_EQ(inProcess(
                  [&] {
                    std::thread([&] {
                      try {
                        for (int i = round;; ++i) compile(numbered(i));
                      } catch (const Error&) {  // the process is ending
                      }
                    }).detach();
                    std::this_thread::sleep_for(moment(round));
                    exit(0);
                  },
                  20),
              "")
        << round;
}

TEST(Threads, CompileAndLaunchWhereNoThreadCanStart) {
  const auto limited = [] {
    setenv("FATTN_NUM_THREADS", "100", 1);
    setenv("FATTN_CACHE_DIR", "/dev/null/cache", 1);  // nobody can make it, root included
    const rlimit none{1, 1};
    ASSERT_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
    ASSERT_FALSE(tryThread([] {})) << "the limit does not bind";
    warmup(std::vector{numbered(0), numbered(1), numbered(2)});
    for (int i = 0; i < 40; ++i) expectRight(compile(numbered(i % 3)));
    EXPECT_EQ(host::numThreads(), 1);
  };
  EXPECT_EQ(test::isRoot() ? test::asUser(test::kVictim, limited) : inProcess(limited), "");
}

// What is mapped now, and so many bytes more.
void limitAddressSpace(std::size_t more) {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages;
  const rlimit limit{pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + more, RLIM_INFINITY};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

// LLVM ends the process where it gets no memory, so it must not begin. FATTN_MEMORY_LIMITS: how many limits, from none
// to one that suffices.
TEST(Memory, AnyLimitOnItEndsACompilationInAnErrorOrInCode) {
#ifdef FATTN_UNDER_SANITIZER
  GTEST_SKIP() << "a sanitizer takes address space of its own";
#endif
  setenv("FATTN_CACHE_DIR", "/dev/null/cache", 1);
  constexpr std::size_t kSuffices = std::size_t{192} << 20;
  const std::size_t count = std::max<std::size_t>(2, static_cast<std::size_t>(test::timesFrom("FATTN_MEMORY_LIMITS", 13)));
  const std::string name = testing::TempDir() + "fattn-memory-" + std::to_string(getpid());
  const auto compiles = [&](std::size_t more, const std::string& target) {
    std::remove(name.c_str());
    EXPECT_EQ(inProcess([&] {
                limitAddressSpace(more);
                try {
                  compile({.dtype = DType::F32, .head_dim = 64, .causal = true, .target = target});
                  std::ofstream(name) << "compiled";
                } catch (const Error& error) {
                  EXPECT_EQ(error.code(), ErrorCode::OutOfMemory) << error.what();
                }
              }),
              "")
        << (more >> 10) << " KiB, " << target;
    return access(name.c_str(), F_OK) == 0;
  };
  for (const char* target : {"host", "nvidia:sm_90"}) {
    std::size_t compiled = 0;
    for (std::size_t i = 0; i < count; ++i) compiled += compiles(kSuffices / (count - 1) * i, target) ? 1 : 0;
    std::printf("%s: %zu of %zu limits were errors\n", target, count - compiled, count);
    EXPECT_GT(compiled, 0);
    EXPECT_LT(compiled, count);
  }
  std::remove(name.c_str());
}

}  // namespace
}  // namespace fattn
