// SPDX-License-Identifier: Apache-2.0
// fork() and exit() while threads of the library are at work. A forked child has one thread, and finds every lock as it was: what another
// thread had locked stays locked. exit() destroys statics, also of LLVM, under the feet of whoever uses them. So what holds locks for long
// or uses such statics says that it is busy; fork() and exit() wait for those who are, for a time.
#ifndef FATTN_RUNTIME_BASE_LIFECYCLE_H
#define FATTN_RUNTIME_BASE_LIFECYCLE_H

#include <atomic>
#include <functional>
#include <mutex>

namespace fattn {

/// As long as one of these lives on a thread, that thread is busy: it compiles, loads code or looks for devices. They may be nested. fork()
/// waits until no other thread is busy, at most kForkWaitSeconds; if one still is, nothing in the child can become busy. exit() waits at
/// most kExitWaitSeconds, and from then on only the thread that called it can become busy.
/// (A main thread that ends by pthread_exit() counts as one that calls exit().)
class Busy {
 public:
  /// Throws Error{Unsupported} where this process was forked or is ending as said above.
  Busy();
  ~Busy();
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
};

inline constexpr int kForkWaitSeconds = 5, kExitWaitSeconds = 10;

/// Has locks that are held for a moment only, by threads that need not be busy, taken before fork() and given back after it, by the thread
/// that forks. `child` runs in the child, `parent` in the parent. They live as long as the process; they must not throw.
void atFork(std::function<void()> prepare, std::function<void()> parent, std::function<void()> child);

/// An object that is made at its first use and never destroyed, so that other objects' destructors may use it. It is made while busy, so
/// that a forked child finds it made or not, and never half made.
template <typename T>
class Immortal {
 public:
  /// `make` gives a new T. What it throws leaves nothing made.
  template <typename Make>
  T& get(Make make) {
    if (T* made = made_.load(std::memory_order_acquire)) return *made;
    const Busy busy;
    const std::lock_guard lock(mutex_);
    if (made_.load(std::memory_order_relaxed) == nullptr) made_.store(make(), std::memory_order_release);
    return *made_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<T*> made_{nullptr};
  std::mutex mutex_;
};

}  // namespace fattn

#endif
