// SPDX-License-Identifier: Apache-2.0
// Threads that take the next index from a counter.
#include "tools/io/Parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/Threads.h"

namespace fattn::io {

void parallelFor(std::int64_t count, int threads, const std::function<void(std::int64_t)>& body) {
  if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::atomic<std::int64_t> next{0};
  std::exception_ptr error;
  std::mutex errorMutex;
  const auto work = [&] {
    try {
      for (std::int64_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(errorMutex);
      if (!error) error = std::current_exception();
    }
  };
  std::vector<std::jthread> helpers;
  for (std::int64_t t = 1; t < std::min<std::int64_t>(threads, count); ++t) {
    std::optional<std::jthread> helper = tryThread(work);
    if (!helper) break;  // fewer do it, too
    helpers.push_back(std::move(*helper));
  }
  work();
  helpers.clear();  // joins
  if (error) std::rethrow_exception(error);
}

}  // namespace fattn::io
