// SPDX-License-Identifier: Apache-2.0
// Work in a process of its own, which is given up where one piece of it takes too long or ends it. A kernel that hangs on a GPU cannot be
// stopped, and takes its process's context with it: only the process can be ended, and another one goes on without that candidate.
// A library's caller has one process, which cannot be ended: there work in a thread is left to itself.
#ifndef FATTN_RUNTIME_TUNE_WATCHDOG_H
#define FATTN_RUNTIME_TUNE_WATCHDOG_H

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/tune/Search.h"

namespace fattn::tuning {

/// The working process's end: says what it is at. Thread-safe.
class Watched {
 public:
  /// Takes no possession of the descriptor; -1: nobody watches.
  explicit Watched(int descriptor = -1) : descriptor_(descriptor) {}

  /// From its construction to its destruction one piece of work goes on, which is given up after `seconds`.
  class Piece {
   public:
    Piece(Watched& watched, const std::string& what, double seconds);
    ~Piece();
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

   private:
    Watched& watched_;
    unsigned number_;
  };

  /// The same trial, each of whose measurements is a piece of work called `what`. It may take much longer than the fastest one so far.
  std::unique_ptr<Trial> guard(std::unique_ptr<Trial> trial, std::string what);
  /// The trial that guard() got, and its name.
  static Trial& inner(Trial& guarded);
  static const std::string& nameOf(Trial& guarded);

 private:
  class GuardedTrial;
  void say(const std::string& line) const;
  double limitFor(std::size_t launches) const;

  int descriptor_;
  std::atomic<unsigned> next_{0};
  std::atomic<double> fastestUs_{0};  // a launch
};

/// What a process was at when it was given up, and why: "it gave no result within 20 s", "its process ended with signal 11".
struct Blame {
  std::string what, reason;
};

/// Runs `work` in a process of its own and returns its exit code. When a piece of its work takes too long, or the process dies in one, it
/// is killed, and a new process gets `work` with what is to blame so far; the same piece twice ends it all with exit code 1 and an error in
/// the log. SIGINT and SIGTERM are handed on to the process, which is in a group of its own; once that has happened no new process starts.
/// Call it before other threads begin and before a device is opened.
int supervise(const std::function<int(Watched&, std::span<const Blame>)>& work);

/// Calls `work` on a thread of its own and waits for its end; rethrows its exception. Where a piece of it takes too long, the thread is
/// left to itself, and the blame is returned: all that `work` refers to has to live on, and what it holds, a GPU perhaps, stays taken.
std::optional<Blame> watch(const std::function<void(Watched&)>& work);

}  // namespace fattn::tuning

#endif
