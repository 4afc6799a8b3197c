// SPDX-License-Identifier: Apache-2.0
// For functions that are called with a description of a kernel instead of a handle: the handles that they have made, by description.
//   static constinit Undestroyed<Handles<Key, TemplateKernel, Hash>> handles;
//   handles.value.get(asked, [&] { return compile(someTemplate, parametersOf(asked)); }).launch(...);
#ifndef FATTN_HANDLES_H
#define FATTN_HANDLES_H

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "fattn/Error.h"

namespace fattn {

/// A mutex for readers and writers, as std::shared_mutex, which a forked child finds unlocked. It is held for a moment only, and never
/// across fork(). What it needs lives as long as the process.
class ForkSafeMutex {
 public:
  constexpr ForkSafeMutex() noexcept = default;
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() { mutex().lock(); }
  void unlock() { mutex().unlock(); }
  void lock_shared() { mutex().lock_shared(); }
  void unlock_shared() { mutex().unlock_shared(); }

 private:
  std::shared_mutex& mutex() {
    std::shared_mutex* made = mutex_.load(std::memory_order_acquire);
    return made != nullptr ? *made : make();
  }
  std::shared_mutex& make();

  std::atomic<std::shared_mutex*> mutex_{nullptr};
};

/// Does what may compile: fork() and exit() of other threads wait for it, for a time, and what it throws leaves as a fattn::Error.
void whileCompiling(const std::function<void()>& work);
/// make(0) ... make(count - 1), independent of each other, on several threads; throws the first error after all have ended.
void compileInParallel(std::size_t count, const std::function<void(std::size_t)>& make);

/// Handles by key. Thread-safe; get() of what is there takes a lock of readers and allocates nothing. `Hash` and `Equal` may be
/// transparent, so that something cheaper than a key is looked up. What was made stays, and does not move.
template <typename Key, typename Handle, typename Hash, typename Equal = std::equal_to<>>
class Handles {
 public:
  constexpr Handles() noexcept = default;
  ~Handles() { delete handles_; }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  /// The handle for a key, from make() where there is none. Several threads may make the same at once, of which one is kept. Throws what
  /// make() throws, as a fattn::Error; nothing is kept then.
  template <typename Asked, typename Make>
  const Handle& get(const Asked& asked, const Make& make) {
    {
      std::shared_lock lock(mutex_);
      if (handles_ != nullptr)
        if (auto found = handles_->find(asked); found != handles_->end()) return found->second;
    }
    std::optional<Handle> made;
    whileCompiling([&] { made.emplace(make()); });
    std::unique_lock lock(mutex_);
    if (handles_ == nullptr) handles_ = new Map;
    return handles_->try_emplace(Key(asked), *std::move(made)).first->second;
  }

 private:
  using Map = std::unordered_map<Key, Handle, Hash, Equal>;
  ForkSafeMutex mutex_;
  Map* handles_ = nullptr;
};

/// An object that is there before main() and is never destroyed, so that objects which outlive main() may use it.
template <typename T>
union Undestroyed {
  constexpr Undestroyed() noexcept : value() {}
  constexpr ~Undestroyed() {}
  T value;
};

}  // namespace fattn

#endif
