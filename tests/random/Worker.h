// SPDX-License-Identifier: Apache-2.0
// A process that answers requests, a line each.
//
// It writes the line "ready", then reads a request a line from standard input and writes the reply, one line, to standard output. What it
// writes to standard error while it works on a request is kept: it tells why the process died or where it hung.
#ifndef FATTN_TESTS_RANDOM_WORKER_H
#define FATTN_TESTS_RANDOM_WORKER_H

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace fattn::random {

class Worker {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { Starting, Idle, Busy };

  /// Starts the command. Throws Error{Internal} where that fails.
  Worker(const std::vector<std::string>& command, double startSeconds);
  /// Closes its pipes; whoever owns the worker kills the process and waits for it.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// To an idle worker.
  void send(std::size_t number, const std::string& request, double limitSeconds);
  /// Takes in what it has written, without waiting; false where it will write nothing more.
  bool read();
  /// The next whole line of that: "ready" of a starting worker, which is idle then; the reply of a busy one.
  std::optional<std::string> line();
  /// The end of what it wrote to standard error since the last request.
  std::string log() const;

  State state() const { return state_; }
  /// The number of the request it works on or answered last.
  std::size_t request() const { return request_; }
  /// When its patience ends that waits for the next line.
  Clock::time_point deadline() const { return deadline_; }
  pid_t pid() const { return pid_; }
  int replies() const { return replies_; }

 private:
  int requests_ = -1, replies_ = -1, log_ = -1;
  pid_t pid_ = 0;
  State state_ = State::Starting;
  std::size_t request_ = 0;
  Clock::time_point deadline_;
  std::string buffer_;
};

}  // namespace fattn::random

#endif
