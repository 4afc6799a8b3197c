// SPDX-License-Identifier: Apache-2.0
// Runs index ranges on a fixed set of threads, with a launch cost of a microsecond.
//
// A launch claims one of a fixed number of slots, writes its work there, opens the slot and wakes workers; workers join open
// slots and draw chunks of indices from the slot's counter, in order, so that work placed first starts first. The caller
// draws too, closes the slot when the counter is used up, and waits for the workers that joined. Nothing is locked or
// allocated on the way, several callers can be under way at once, and workers that find nothing spin for some tens of
// microseconds before they sleep, so that back-to-back launches find them awake.
#ifndef FATTN_RUNTIME_HOST_THREADPOOL_H
#define FATTN_RUNTIME_HOST_THREADPOOL_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace fattn::host {

class ThreadPool {
 public:
  static constexpr int kMaxThreads = 1024;

  /// Runs indices [begin, end) in order, with `scratch` bytes of its own.
  using Body = void (*)(const void* context, std::int64_t begin, std::int64_t end, void* scratch);

  /// What one index of some work costs, learnt from earlier runs: small runs stay on the calling thread.
  class Cost {
   public:
    double nanoseconds() const { return value_.load(std::memory_order_relaxed); }
    void set(double nanoseconds) const { value_.store(nanoseconds, std::memory_order_relaxed); }

   private:
    mutable std::atomic<double> value_{-1};  // negative: nothing known
  };

  /// As setThreads().
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Calls body for all of [0, count), on the calling thread and the workers; returns when all calls have returned. Safe from
  /// any number of threads at once, not from inside a body.
  void run(std::int64_t count, Body body, const void* context, const Cost& cost);

  int threads() const { return limit_.load(std::memory_order_relaxed); }
  /// Throws Error{InvalidArgument} outside 1 to kMaxThreads. Threads beyond a lowered number sleep. Where the system cannot start so many,
  /// threads() is what it could, with a warning.
  void setThreads(int threads);
  /// Makes every later body call find at least so many bytes of scratch, aligned to 64.
  void reserveScratch(std::size_t bytes);

  /// After fork() in the child: the workers are gone and others' launches with them. Starts anew at the next run.
  void forgetThreads();
  std::mutex& configuration() { return mutex_; }

 private:
  static constexpr int kSlots = 32;
  static constexpr std::uint32_t kReserved = 1u << 31, kOpen = 1u << 30, kWaiting = 1u << 29, kJoined = kWaiting - 1;

  struct Scratch {
    std::atomic<std::byte*> memory{nullptr};
  };
  // state: 0 = free, else kReserved | kOpen while workers may join | kWaiting while the caller sleeps | number of joined workers.
  struct alignas(64) Slot {
    std::atomic<std::uint32_t> state{0};
    Body body = nullptr;
    const void* context = nullptr;
    std::int64_t count = 0, chunk = 1;
    Scratch scratch;
    alignas(64) std::atomic<std::int64_t> next{0};
  };
  // Gives a slot back, however the run ends.
  struct Release {
    Slot& slot;
    ~Release() { slot.state.store(0, std::memory_order_release); }
  };
  struct Worker {
    std::jthread thread;
    Scratch scratch;
  };

  Slot& claim();
  std::int64_t runInline(Slot& slot, double estimate, const Cost& cost);
  void runShared(Slot& slot, int threads, double estimate, const Cost& cost);
  static std::int64_t drain(Slot& slot, void* scratch);
  bool help(Slot& slot, Worker& worker);
  void wake(std::int64_t wanted);
  void workerMain(int id, Worker& worker);
  void startWorkers(int wanted);
  void grow(Scratch& scratch);

  std::array<Slot, kSlots> slots_;
  alignas(64) std::atomic<std::uint32_t> epoch_{0};     // bumped when there is something new to look at
  alignas(64) std::atomic<std::uint32_t> sleepers_{0};  // workers asleep on epoch_
  std::atomic<std::uint32_t> limitEpoch_{0};            // workers beyond the limit sleep on this one
  std::atomic<int> limit_{1}, started_{1};              // both count the calling thread
  std::atomic<bool> stop_{false};

  std::mutex mutex_;  // guards what follows; never taken by a run whose workers are there
  std::vector<std::unique_ptr<Worker>> workers_;
  std::size_t scratchBytes_ = 0;
  bool warned_ = false;
  std::vector<std::unique_ptr<std::byte, void (*)(void*)>> arenas_;  // the outgrown ones too: a program may still be using one
};

}  // namespace fattn::host

#endif
