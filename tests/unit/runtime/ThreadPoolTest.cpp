// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "fattn/Error.h"
#include "runtime/host/ThreadPool.h"

namespace fattn::host {
namespace {

struct Counts {
  explicit Counts(std::size_t size) : of(size) {}
  std::vector<std::atomic<int>> of;
};

void count(const void* context, std::int64_t begin, std::int64_t end, void*) {
  auto& counts = *static_cast<Counts*>(const_cast<void*>(context));
  for (std::int64_t i = begin; i < end; ++i) counts.of[static_cast<std::size_t>(i)].fetch_add(1, std::memory_order_relaxed);
}

TEST(ThreadPool, EveryIndexOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    ThreadPool::Cost cost;
    for (std::int64_t size : {0, 1, 2, 3, 63, 1000, 100'000}) {
      Counts counts(static_cast<std::size_t>(size));
      for (int round = 0; round < 4; ++round) pool.run(size, count, &counts, cost);
      for (auto& one : counts.of) ASSERT_EQ(one.load(), 4);
    }
  }
}

TEST(ThreadPool, StressFromManyCallersWhileTheThreadCountChanges) {
  ThreadPool pool(4);
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  callers.reserve(6);
  std::atomic<std::int64_t> wrong{0}, runs{0};
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&, caller] {
      ThreadPool::Cost cost;
      while (!stop.load()) {
        Counts counts(static_cast<std::size_t>(1 + (caller * 37) % 200));
        cost.set(caller % 2 == 0 ? -1 : 1e6);  // never inline
        pool.run(static_cast<std::int64_t>(counts.of.size()), count, &counts, cost);
        for (auto& one : counts.of) wrong += one.load() != 1;
        ++runs;
      }
    });
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
  for (int i = 0; std::chrono::steady_clock::now() < end || runs.load() <= 100; ++i) {
    pool.setThreads(1 + i % 6);
    pool.reserveScratch(static_cast<std::size_t>(4096) << (i % 8));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

// Longer pauses than workers spin, so that each run has to wake them.
TEST(ThreadPool, SleepersAreWoken) {
  ThreadPool pool(3);
  ThreadPool::Cost cost;
  struct Meeting {
    std::atomic<int> present{0};
  };
  for (int round = 0; round < 30; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Meeting meeting;
    cost.set(1e6);
    // Three indices that wait for each other: only three threads at once can finish.
    pool.run(
        3,
        [](const void* context, std::int64_t, std::int64_t, void*) {
          auto& meeting = *static_cast<Meeting*>(const_cast<void*>(context));
          meeting.present.fetch_add(1);
          while (meeting.present.load() < 3) std::this_thread::yield();
        },
        &meeting, cost);
    ASSERT_EQ(meeting.present.load(), 3);
  }
}

// A run that is preempted takes longer than its estimate says, and the pool then shares what is left of it. So each run has to begin with a
// quarter of the indices on the calling thread (a shared run begins with one index), and one of many runs has to end there too.
TEST(ThreadPool, SmallRunsStayOnTheCallingThread) {
  ThreadPool pool(4);
  struct Seen {
    std::thread::id caller = std::this_thread::get_id();
    std::int64_t first = 0;  // how many indices the first call of this thread got
    std::atomic<int> elsewhere{0};
  };
  bool stayed = false;
  for (int round = 0; round < 1000 && !stayed; ++round) {
    ThreadPool::Cost cost;
    cost.set(1);
    Seen seen;
    pool.run(
        16,
        [](const void* context, std::int64_t begin, std::int64_t end, void*) {
          Seen& seen = *static_cast<Seen*>(const_cast<void*>(context));
          if (std::this_thread::get_id() != seen.caller)
            ++seen.elsewhere;
          else if (begin == 0)
            seen.first = end;
        },
        &seen, cost);
    ASSERT_EQ(seen.first, 4);
    stayed = seen.elsewhere == 0;
  }
  EXPECT_TRUE(stayed);
}

TEST(ThreadPool, AWrongLowEstimateIsCorrected) {
  ThreadPool pool(2);
  ThreadPool::Cost cost;
  cost.set(1);
  std::atomic<int> runs{0};
  pool.run(
      8,
      [](const void* context, std::int64_t begin, std::int64_t end, void*) {
        static_cast<std::atomic<int>*>(const_cast<void*>(context))->fetch_add(static_cast<int>(end - begin));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      },
      &runs, cost);
  EXPECT_EQ(runs.load(), 8);
  EXPECT_GT(cost.nanoseconds(), 100'000);
}

// A thread may be preempted between drawing an index and arriving in the body, for any time. What holds nevertheless: a thread draws its
// next index when it is done with the last, so that of the indices before one that has arrived each other thread keeps at most one.
TEST(ThreadPool, IndicesStartInOrder) {
  constexpr int kThreads = 3;
  constexpr std::int64_t kIndices = 2000;
  ThreadPool pool(kThreads);
  ThreadPool::Cost cost;
  struct Order {
    Counts arrived{kIndices};
    std::atomic<std::int64_t> mostBehind{0}, longest{0};
    static void raise(std::atomic<std::int64_t>& most, std::int64_t value) {
      for (std::int64_t seen = most.load(); seen < value && !most.compare_exchange_weak(seen, value);) {
      }
    }
  } order;
  cost.set(1e6);
  pool.run(
      kIndices,
      [](const void* context, std::int64_t begin, std::int64_t end, void*) {
        auto& order = *static_cast<Order*>(const_cast<void*>(context));
        std::int64_t behind = 0;
        for (std::int64_t i = 0; i < begin; ++i) behind += order.arrived.of[static_cast<std::size_t>(i)].load() == 0 ? 1 : 0;
        order.arrived.of[static_cast<std::size_t>(begin)].fetch_add(1);
        Order::raise(order.mostBehind, behind);
        Order::raise(order.longest, end - begin);
      },
      &order, cost);
  EXPECT_LE(order.mostBehind, kThreads - 1);
  EXPECT_EQ(order.longest, 1) << "expensive indices go out one at a time";
  for (auto& one : order.arrived.of) EXPECT_EQ(one.load(), 1);
}

}  // namespace
}  // namespace fattn::host
