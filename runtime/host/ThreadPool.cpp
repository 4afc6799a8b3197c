// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/ThreadPool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <string>
#include <utility>

#include "fattn/Error.h"
#include "runtime/base/Log.h"
#include "runtime/base/Threads.h"

namespace fattn::host {
namespace {

using Clock = std::chrono::steady_clock;

// A run below this is over before a sleeping worker is awake.
constexpr double kInlineNs = 5'000;
// Chunks of about this size keep the shared counter out of the profile without unbalancing the end of the run.
constexpr double kChunkNs = 2'000;
constexpr auto kSpin = std::chrono::microseconds(50);

double nanosecondsSince(Clock::time_point begin) { return std::chrono::duration<double, std::nano>(Clock::now() - begin).count(); }

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The kernel's futex rather than std::atomic::wait: it wakes exactly as many threads as asked for with one system call.
void futexWait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void futexWake(std::atomic<std::uint32_t>& word, std::int64_t threads) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE,
          static_cast<int>(std::min<std::int64_t>(threads, INT_MAX)), nullptr, nullptr, 0);
}

// Spins until done() or the time for spinning is over; tells which.
template <typename Done>
bool spin(Done done) {
  auto begin = Clock::now();
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      relax();
    }
  } while (Clock::now() - begin < kSpin);
  return done();
}

}  // namespace

ThreadPool::ThreadPool(int threads) { setThreads(threads); }

ThreadPool::~ThreadPool() {
  stop_.store(true);
  for (auto* word : {&epoch_, &limitEpoch_}) {
    word->fetch_add(1);
    futexWake(*word, INT_MAX);
  }
  for (auto& worker : workers_) worker->thread.join();
}

void ThreadPool::run(std::int64_t count, Body body, const void* context, const Cost& cost) {
  if (count <= 0) return;
  Slot& slot = claim();
  const Release release{slot};
  slot.body = body;
  slot.context = context;
  slot.count = count;
  slot.next.store(0, std::memory_order_relaxed);
  int threads = limit_.load(std::memory_order_relaxed);
  double estimate = cost.nanoseconds();
  std::int64_t done = 0;
  if (threads == 1 || count == 1) {
    done = count;
    body(context, 0, count, slot.scratch.memory.load(std::memory_order_acquire));
  } else if (estimate >= 0 && estimate * static_cast<double>(count) < kInlineNs) {
    done = runInline(slot, estimate, cost);
  }
  if (done < count) {
    slot.next.store(done, std::memory_order_relaxed);
    runShared(slot, threads, estimate, cost);
  }
}

ThreadPool::Slot& ThreadPool::claim() {
  for (;;) {
    for (Slot& slot : slots_) {
      std::uint32_t free = 0;
      if (slot.state.load(std::memory_order_relaxed) == 0 && slot.state.compare_exchange_strong(free, kReserved, std::memory_order_acquire))
        return slot;
    }
    std::this_thread::yield();  // more callers than slots: they take turns
  }
}

// Stops early, with part of the work undone, when the estimate turns out far too low.
std::int64_t ThreadPool::runInline(Slot& slot, double estimate, const Cost& cost) {
  auto begin = Clock::now();
  void* scratch = slot.scratch.memory.load(std::memory_order_acquire);
  std::int64_t done = 0, step = std::max<std::int64_t>(1, slot.count / 4);
  double spent = 0;
  while (done < slot.count && spent < 2 * kInlineNs) {
    std::int64_t end = std::min(done + step, slot.count);
    slot.body(slot.context, done, end, scratch);
    done = end;
    spent = nanosecondsSince(begin);
  }
  cost.set(spent / static_cast<double>(done));
  return done;
}

void ThreadPool::runShared(Slot& slot, int threads, double estimate, const Cost& cost) {
  if (started_.load(std::memory_order_relaxed) < threads) {
    std::lock_guard lock(mutex_);
    startWorkers(threads);
    threads = std::min(threads, started_.load(std::memory_order_relaxed));
  }
  std::int64_t left = slot.count - slot.next.load(std::memory_order_relaxed);
  auto wanted = estimate > 0 ? static_cast<std::int64_t>(std::min(kChunkNs / estimate, 1e9)) : 1;
  slot.chunk = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, left / (8 * static_cast<std::int64_t>(threads))));
  slot.state.store(kReserved | kOpen, std::memory_order_release);
  wake(std::min<std::int64_t>((left + slot.chunk - 1) / slot.chunk, threads) - 1);

  auto begin = Clock::now();
  std::int64_t mine = drain(slot, slot.scratch.memory.load(std::memory_order_acquire));
  if (mine > 0) cost.set(nanosecondsSince(begin) / static_cast<double>(mine));

  std::uint32_t state = slot.state.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  if (spin([&] { return (state = slot.state.load(std::memory_order_acquire)) == kReserved; })) return;
  state = slot.state.fetch_or(kWaiting, std::memory_order_acq_rel) | kWaiting;
  while ((state & kJoined) != 0) {
    futexWait(slot.state, state);
    state = slot.state.load(std::memory_order_acquire);
  }
}

std::int64_t ThreadPool::drain(Slot& slot, void* scratch) {
  std::int64_t done = 0;
  for (;;) {
    std::int64_t begin = slot.next.fetch_add(slot.chunk, std::memory_order_relaxed);
    if (begin >= slot.count) return done;
    std::int64_t end = std::min(begin + slot.chunk, slot.count);
    slot.body(slot.context, begin, end, scratch);
    done += end - begin;
  }
}

bool ThreadPool::help(Slot& slot, Worker& worker) {
  std::uint32_t state = slot.state.load(std::memory_order_relaxed);
  do {
    if ((state & kOpen) == 0) return false;
  } while (!slot.state.compare_exchange_weak(state, state + 1, std::memory_order_acquire, std::memory_order_relaxed));
  bool ran = drain(slot, worker.scratch.memory.load(std::memory_order_acquire)) > 0;
  std::uint32_t before = slot.state.fetch_sub(1, std::memory_order_release);
  if ((before & kWaiting) != 0 && (before & kJoined) == 1) futexWake(slot.state, 1);
  return ran;
}

// A sleeper announces itself before it looks at the epoch for the last time, and we bump the epoch before we look for
// sleepers: one of the two always sees the other.
void ThreadPool::wake(std::int64_t wanted) {
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (wanted > 0 && sleepers_.load(std::memory_order_seq_cst) > 0) futexWake(epoch_, wanted);
}

void ThreadPool::workerMain(int id, Worker& worker) {
  while (!stop_.load(std::memory_order_relaxed)) {
    std::uint32_t limitEpoch = limitEpoch_.load(std::memory_order_seq_cst);
    if (id >= limit_.load(std::memory_order_seq_cst)) {
      futexWait(limitEpoch_, limitEpoch);
      continue;
    }
    std::uint32_t epoch = epoch_.load(std::memory_order_acquire);
    bool ran = false;
    for (Slot& slot : slots_) ran |= help(slot, worker);
    if (ran || spin([&] { return epoch_.load(std::memory_order_relaxed) != epoch; })) continue;
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    futexWait(epoch_, epoch);
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  }
}

void ThreadPool::setThreads(int threads) {
  if (threads < 1 || threads > kMaxThreads)
    throw Error(ErrorCode::InvalidArgument,
                "number of host threads is " + std::to_string(threads) + "; legal values are 1 to " + std::to_string(kMaxThreads));
  std::lock_guard lock(mutex_);
  startWorkers(threads);
  limit_.store(std::min(threads, started_.load(std::memory_order_relaxed)), std::memory_order_seq_cst);
  limitEpoch_.fetch_add(1, std::memory_order_seq_cst);
  futexWake(limitEpoch_, INT_MAX);
}

// Where the system has no more threads or no memory for them, those that are there do the work.
void ThreadPool::startWorkers(int wanted) {
  std::string failure;
  for (int id = static_cast<int>(workers_.size()) + 1; id < wanted && failure.empty(); ++id) try {
      auto worker = std::make_unique<Worker>();
      grow(worker->scratch);
      workers_.reserve(static_cast<std::size_t>(id));
      std::optional<std::jthread> thread = tryThread([this, id, w = worker.get()] { workerMain(id, *w); }, &failure);
      if (!thread) break;
      worker->thread = std::move(*thread);
      pthread_setname_np(worker->thread.native_handle(), "fattn-worker");
      workers_.push_back(std::move(worker));
    } catch (const std::exception& error) {
      failure = error.what();
    }
  const int started = static_cast<int>(workers_.size()) + 1;
  started_.store(started, std::memory_order_relaxed);
  if (started >= wanted) return;
  limit_.store(std::min(limit_.load(std::memory_order_relaxed), started), std::memory_order_seq_cst);
  if (!std::exchange(warned_, true))
    log::write(log::Level::Warning, "could start only " + std::to_string(started) + " of " + std::to_string(wanted) +
                                        " host threads: " + failure + "; FATTN_NUM_THREADS sets a lower number");
}

void ThreadPool::reserveScratch(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes <= scratchBytes_) return;
  std::size_t before = std::exchange(scratchBytes_, std::bit_ceil(std::max<std::size_t>(bytes, 4096)));
  try {
    for (Slot& slot : slots_) grow(slot.scratch);
    for (auto& worker : workers_) grow(worker->scratch);
  } catch (...) {
    scratchBytes_ = before;
    throw;
  }
}

void ThreadPool::grow(Scratch& scratch) {
  if (scratchBytes_ == 0) return;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(64, scratchBytes_));
  if (memory == nullptr)
    throw Error(ErrorCode::OutOfMemory, "no memory for " + std::to_string(scratchBytes_) + " bytes of scratch of a host thread");
  arenas_.emplace_back(memory, &std::free);
  scratch.memory.store(memory, std::memory_order_release);
}

void ThreadPool::forgetThreads() {
  // Threads of the parent are neither to be joined nor to be detached here, so their handles are left behind.
  for (auto& worker : workers_) [[maybe_unused]]
    Worker* parents = worker.release();
  workers_.clear();
  started_.store(1);
  sleepers_.store(0);
  for (Slot& slot : slots_) slot.state.store(0);
}

}  // namespace fattn::host
