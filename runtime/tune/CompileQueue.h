// SPDX-License-Identifier: Apache-2.0
// Compiles the candidates of a search ahead of the one who measures them.
#ifndef FATTN_RUNTIME_TUNE_COMPILEQUEUE_H
#define FATTN_RUNTIME_TUNE_COMPILEQUEUE_H

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/tune/Search.h"

namespace fattn::tuning {

class CompileQueue {
 public:
  using Compile = std::function<std::unique_ptr<Trial>(const TileConfig&)>;

  /// One of the two is set.
  struct Result {
    std::size_t index;
    std::unique_ptr<Trial> trial;
    std::string failure;
  };

  /// Compiles tiles[i] on `jobs` threads (0: one a core), about in order. With `ahead` they work in the background and keep a few results
  /// ready; without it only during next(), a group of candidates at a time.
  CompileQueue(std::vector<TileConfig> tiles, Compile compile, int jobs, bool ahead);
  /// Waits for what is being compiled, and forgets the rest.
  ~CompileQueue();
  CompileQueue(const CompileQueue&) = delete;
  CompileQueue& operator=(const CompileQueue&) = delete;

  /// The next result, about in order; nothing when all were given. Rethrows what compile() threw if it was not an Error.
  std::optional<Result> next();

 private:
  void work(bool group);
  void compileOne(std::unique_lock<std::mutex>& lock);
  std::size_t room() const { return jobs_ * 2; }

  const std::vector<TileConfig> tiles_;
  const Compile compile_;
  const std::size_t jobs_;
  bool ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Result> ready_;
  std::size_t begun_ = 0, given_ = 0, groupEnd_ = 0;
  bool stopped_ = false;
  std::exception_ptr broken_;
  std::vector<std::jthread> threads_;  // last: they use the rest
};

}  // namespace fattn::tuning

#endif
