// SPDX-License-Identifier: Apache-2.0
// A pool of workers with a time limit for each request, so that one that hangs or dies takes no other with it.
#ifndef FATTN_TESTS_RANDOM_WORKERS_H
#define FATTN_TESTS_RANDOM_WORKERS_H

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/random/Worker.h"

namespace fattn::random {

struct WorkerOptions {
  std::vector<std::string> command = {};  ///< the program's path and its arguments
  int processes = 1;
  double limitSeconds = 15;   ///< for a request
  double startSeconds = 120;  ///< until a worker is ready
  double totalSeconds = 0;    ///< after which run() hands out nothing more; 0: no limit
};

struct Reply {
  enum class Kind : std::uint8_t { Answered, Died, TimedOut } kind = Kind::Answered;
  std::string text = {};  ///< the reply; or how it ended, and the end of what it wrote to standard error
};

class Workers {
 public:
  explicit Workers(WorkerOptions options);
  /// Kills the workers that are left.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Hands out the requests in order, and each reply as it comes, with the number of its request. Workers that died are replaced; those
  /// that have nothing left to do stay for the next call. Requests that were not handed out in the total time get no reply. Throws
  /// Error{Internal} where workers die before they are ready, with what they wrote.
  void run(const std::vector<std::string>& requests, const std::function<void(std::size_t request, const Reply& reply)>& done);

 private:
  using Slot = std::unique_ptr<Worker>;
  std::size_t handOut(const std::vector<std::string>& requests, std::size_t next);
  void wait() const;
  std::optional<Reply> look(Slot& worker);
  Reply giveUp(Slot& worker, Reply::Kind kind);
  void reap();

  WorkerOptions options_;
  std::vector<Slot> workers_;
  std::vector<pid_t> ended_;  ///< killed, and still to be waited for
  int failedStarts_ = 0;
};

}  // namespace fattn::random

#endif
