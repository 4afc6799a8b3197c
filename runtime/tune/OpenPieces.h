// SPDX-License-Identifier: Apache-2.0
// The watching end of a Watched: which pieces of work have begun and not ended.
#ifndef FATTN_RUNTIME_TUNE_OPENPIECES_H
#define FATTN_RUNTIME_TUNE_OPENPIECES_H

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "runtime/tune/Watchdog.h"

namespace fattn::tuning {

/// What is worked at writes lines to a pipe: "+<number> <seconds> <what>" when a piece begins, "-<number>" when it has ended.
class OpenPieces {
 public:
  /// Reads until the pipe's other end is closed, or until a piece takes longer than it said: then what is to blame.
  std::optional<Blame> listen(int pipe);
  /// The piece that began last, of those that are open.
  const std::string* last() const { return open_.empty() ? nullptr : &open_.rbegin()->second.what; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Piece {
    std::string what;
    double limit = 0;
    Clock::time_point end;
  };

  bool readSome(int pipe);
  void hear(const std::string& line);
  const Piece* overdue() const;
  int millisecondsLeft() const;

  std::string heard_;
  std::map<unsigned, Piece> open_;
};

}  // namespace fattn::tuning

#endif
