// SPDX-License-Identifier: Apache-2.0
#include "fattn/Handles.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "kernels/core/CompileProgram.h"
#include "runtime/base/Lifecycle.h"
#include "runtime/base/Threads.h"

namespace fattn {

// While busy: no fork comes between a lock that is there and its being known to forks.
std::shared_mutex& ForkSafeMutex::make() {
  const Busy busy;
  auto fresh = std::make_unique<std::shared_mutex>();
  std::shared_mutex* known = nullptr;
  if (!mutex_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) return *known;
  std::shared_mutex* made = fresh.release();
  // A lock of this kind knows the thread that took it, which has another number in the child: there it begins anew.
  atFork([made] { made->lock(); }, [made] { made->unlock(); }, [made] { new (made) std::shared_mutex; });
  return *made;
}

void whileCompiling(const std::function<void()>& work) {
  kernels::asErrors([&] {
    const Busy busy;
    work();
  });
}

void compileInParallel(std::size_t count, const std::function<void(std::size_t)>& make) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failures(count);
  auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < count;) try {
        make(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
  };
  {
    const std::size_t threads = std::min<std::size_t>(count, std::max(std::thread::hardware_concurrency(), 1u));
    std::vector<std::jthread> helpers;
    helpers.reserve(threads);
    for (std::size_t i = 1; i < threads; ++i)
      if (std::optional<std::jthread> helper = tryThread(work)) helpers.push_back(std::move(*helper));
    work();
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace fattn
