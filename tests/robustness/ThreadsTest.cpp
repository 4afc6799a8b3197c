// SPDX-License-Identifier: Apache-2.0
// Threads that cannot start, launches that fail, fork() and exit() in every state: the caller is neither ended nor kept waiting.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "fattn/Error.h"
#include "runtime/base/Lifecycle.h"
#include "runtime/base/Threads.h"
#include "runtime/host/ThreadPool.h"
#include "tests/robustness/Attack.h"

namespace fattn {
namespace {

using host::ThreadPool;
using std::chrono::milliseconds;
using test::inProcess;

struct Counts {
  explicit Counts(std::size_t size) : of(size) {}
  std::vector<std::atomic<int>> of;
  bool allAre(int wanted) const {
    for (const std::atomic<int>& one : of)
      if (one.load() != wanted) return false;
    return true;
  }
};

void count(const void* context, std::int64_t begin, std::int64_t end, void*) {
  auto& counts = *static_cast<Counts*>(const_cast<void*>(context));
  for (std::int64_t i = begin; i < end; ++i) counts.of[static_cast<std::size_t>(i)].fetch_add(1, std::memory_order_relaxed);
}

// In a process that can start no thread any more. Limits on processes do not bind root.
std::string withoutThreads(const std::function<void()>& body) {
  const auto limited = [&] {
    const rlimit none{1, 1};
    ASSERT_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
    ASSERT_FALSE(tryThread([] {})) << "the limit does not bind";
    body();
  };
  return test::isRoot() ? test::asUser(test::kVictim, limited) : inProcess(limited);
}

void expectRuns(ThreadPool& pool, int runs) {
  ThreadPool::Cost cost;
  cost.set(1e6);  // too much for the calling thread alone
  for (int run = 0; run < runs; ++run) {
    Counts counts(100);
    pool.run(100, count, &counts, cost);
    ASSERT_TRUE(counts.allAre(1)) << run;
  }
}

TEST(Threads, APoolWhoseThreadsCannotStartDoesNotAbort) {
  EXPECT_EQ(withoutThreads([] {
              testing::internal::CaptureStderr();
              ThreadPool pool(100);
              EXPECT_EQ(pool.threads(), 1);
              pool.setThreads(50);
              EXPECT_EQ(pool.threads(), 1);
              const std::string said = testing::internal::GetCapturedStderr();
              EXPECT_TRUE(said.starts_with("fattn: warning: could start only 1 of 100 host threads: ")) << said;
              EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
              expectRuns(pool, 3);
            }),
            "");
}

TEST(Threads, APoolThatRunsOutOfAddressSpaceDoesNotAbort) {
#ifdef FATTN_UNDER_SANITIZER
  GTEST_SKIP() << "a sanitizer takes more address space than the limit";
#endif
  EXPECT_EQ(inProcess([] {
              const rlimit some{std::size_t{400} << 20, std::size_t{400} << 20};
              ASSERT_EQ(setrlimit(RLIMIT_AS, &some), 0);
              ThreadPool pool(1000);
              EXPECT_LT(pool.threads(), 1000);
              expectRuns(pool, 3);
            }),
            "");
}

TEST(Threads, AChildThatCannotStartThreadsGetsItsSlotsBack) {
#ifdef FATTN_UNDER_SANITIZER
  GTEST_SKIP() << "sanitizers do not follow a forked child's threads";
#endif
  ThreadPool pool(4);
  expectRuns(pool, 1);
  EXPECT_EQ(withoutThreads([&] {
              pool.configuration().lock();
              pool.forgetThreads();
              pool.configuration().unlock();
              expectRuns(pool, 100);
              EXPECT_EQ(pool.threads(), 1);
            }),
            "");
}

TEST(Threads, ARunThatThrowsGivesItsSlotBack) {
  ThreadPool pool(1);
  const ThreadPool::Cost cost;
  const auto fails = [](const void*, std::int64_t, std::int64_t, void*) { throw std::runtime_error("it failed"); };
  for (int run = 0; run < 100; ++run) EXPECT_THROW(pool.run(2, fails, nullptr, cost), std::runtime_error);
  expectRuns(pool, 1);
}

TEST(Threads, SignalsAreLeftToTheProgramsThreads) {
  sigset_t blocked;
  tryThread([&] { pthread_sigmask(SIG_SETMASK, nullptr, &blocked); })->join();
  EXPECT_EQ(sigismember(&blocked, SIGINT), 1);
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGINT), 0);
}

// A thread that is busy for so long, with a lock that others want.
struct Worker {
  explicit Worker(milliseconds span)
      : thread([this, span] {
          const Busy busy;
          const std::lock_guard lock(mutex);
          started = true;
          std::this_thread::sleep_for(span);
        }) {
    while (!started) std::this_thread::yield();
  }
  std::mutex mutex;
  std::atomic<bool> started{false};
  std::jthread thread;
};

TEST(Fork, AChildOfAParentWhoseThreadIsBusyFindsNothingLocked) {
#ifdef FATTN_UNDER_SANITIZER
  GTEST_SKIP() << "sanitizers do not follow a forked child's threads";
#endif
  Worker worker(milliseconds(300));
  EXPECT_EQ(inProcess(
                [&] {
                  const Busy busy;
                  const std::lock_guard lock(worker.mutex);
                  EXPECT_TRUE(tryThread([] { const Busy again; }));
                },
                20),
            "");
}

TEST(Fork, AChildOfAParentWhoseThreadStaysBusySaysWhyItCannotWork) {
#ifdef FATTN_UNDER_SANITIZER
  GTEST_SKIP() << "sanitizers do not follow a forked child's threads";
#endif
  Worker worker(milliseconds(1000 * kForkWaitSeconds + 1500));
  EXPECT_EQ(inProcess(
                [&] {
                  try {
                    const Busy busy;
                    FAIL() << "it would wait for ever";
                  } catch (const Error& error) {
                    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
                    EXPECT_EQ(error.constraint(),
                              "this process was forked while another thread of its parent compiled, and what that thread had locked is "
                              "locked here for ever");
                  }
                },
                20),
            "");
  const Busy busy;  // the parent is as before
}

TEST(Fork, ABusyThreadMayForkItself) {
  const Busy busy;
  EXPECT_EQ(inProcess([] { const Busy again; }, 20), "");
}

TEST(Fork, AnObjectThatIsBeingMadeIsMadeInTheChildToo) {
#ifdef FATTN_UNDER_SANITIZER
  GTEST_SKIP() << "sanitizers do not follow a forked child's threads";
#endif
  static constinit Immortal<int> slow;
  const auto make = [] {
    std::this_thread::sleep_for(milliseconds(200));
    return new int(7);
  };
  std::jthread other([&] { slow.get(make); });
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(inProcess([&] { EXPECT_EQ(slow.get(make), 7); }, 20), "");
}

// A static that whoever is busy uses, and that is made while it is busy.
struct Used {
  std::atomic<int> alive{1};
  ~Used() { alive = 0; }
};

TEST(Exit, WaitsForThreadsThatAreBusy) {
  EXPECT_EQ(inProcess(
                [] {
                  {
                    const Busy first;
                  }
                  std::atomic<bool> started{false};
                  std::thread([&] {
                    const Busy busy;
                    static Used used;
                    started = true;
                    for (int i = 0; i < 300; ++i) {
                      std::this_thread::sleep_for(milliseconds(1));
                      if (used.alive == 0) abort();
                    }
                  }).detach();
                  while (!started) std::this_thread::yield();
                  {
                    const Busy later;
                  }  // registers the handler that comes before the static's destructor
                  exit(testing::Test::HasFailure() ? 1 : 0);
                },
                20),
            "");
}

TEST(Exit, OtherThreadsAreToldThatTheProcessIsEnding) {
  EXPECT_EQ(inProcess(
                [] {
                  {
                    const Busy first;
                  }
                  std::atomic<bool> started{false};
                  static std::atomic<bool> told{false};
                  std::thread([&] {
                    {
                      const Busy busy;
                      started = true;
                      std::this_thread::sleep_for(milliseconds(100));
                    }
                    for (;;) try {
                        const Busy again;
                      } catch (const Error& error) {
                        told = error.constraint() == "the process is ending, and nothing is compiled any more";
                        break;
                      }
                  }).detach();
                  while (!started) std::this_thread::yield();
                  exit(0);
                },
                20),
            "");
}

}  // namespace
}  // namespace fattn
