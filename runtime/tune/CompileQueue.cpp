// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/CompileQueue.h"

#include <algorithm>

#include "fattn/Error.h"
#include "runtime/base/Threads.h"

namespace fattn::tuning {
namespace {

std::size_t threadsFor(int jobs, std::size_t tiles) {
  const std::size_t wanted = jobs > 0 ? static_cast<std::size_t>(jobs) : std::max(std::thread::hardware_concurrency(), 1u);
  return std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(tiles, 1));
}

}  // namespace

CompileQueue::CompileQueue(std::vector<TileConfig> tiles, Compile compile, int jobs, bool ahead)
    : tiles_(std::move(tiles)), compile_(std::move(compile)), jobs_(threadsFor(jobs, tiles_.size())), ahead_(ahead) {
  if (!ahead_) return;
  threads_.reserve(jobs_);
  for (std::size_t i = 0; i < jobs_; ++i)
    if (std::optional<std::jthread> thread = tryThread([this] { work(false); })) threads_.push_back(std::move(*thread));
  ahead_ = !threads_.empty();  // without a thread next() does the work
}

CompileQueue::~CompileQueue() {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  lock.unlock();
  changed_.notify_all();
}

void CompileQueue::compileOne(std::unique_lock<std::mutex>& lock) {
  Result result{.index = begun_++, .trial = {}, .failure = {}};
  lock.unlock();
  std::exception_ptr broken;
  try {
    result.trial = compile_(tiles_[result.index]);
  } catch (const Error& error) {
    result.failure = error.constraint();
  } catch (...) {
    broken = std::current_exception();
  }
  lock.lock();
  if (broken) broken_ = broken;
  ready_.push_back(std::move(result));
  changed_.notify_all();
}

// A group ends where its candidates do; the background works on as long as there is room for results.
void CompileQueue::work(bool group) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!group) changed_.wait(lock, [&] { return stopped_ || begun_ == tiles_.size() || ready_.size() < room(); });
    if (stopped_ || begun_ == (group ? groupEnd_ : tiles_.size())) return;
    compileOne(lock);
  }
}

std::optional<CompileQueue::Result> CompileQueue::next() {
  std::unique_lock lock(mutex_);
  if (given_ == tiles_.size()) return std::nullopt;
  if (!ahead_ && ready_.empty()) {
    groupEnd_ = std::min(tiles_.size(), begun_ + room());
    lock.unlock();
    {
      std::vector<std::jthread> helpers;
      for (std::size_t i = 1; i < jobs_; ++i)
        if (std::optional<std::jthread> helper = tryThread([this] { work(true); })) helpers.push_back(std::move(*helper));
      work(true);
    }
    lock.lock();
    std::ranges::sort(ready_, {}, &Result::index);
  }
  changed_.wait(lock, [&] { return !ready_.empty(); });
  if (broken_) std::rethrow_exception(broken_);
  Result result = std::move(ready_.front());
  ready_.pop_front();
  ++given_;
  changed_.notify_all();
  return result;
}

}  // namespace fattn::tuning
