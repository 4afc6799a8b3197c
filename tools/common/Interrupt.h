// SPDX-License-Identifier: Apache-2.0
// Ctrl-C as a request to stop.
#ifndef FATTN_TOOLS_COMMON_INTERRUPT_H
#define FATTN_TOOLS_COMMON_INTERRUPT_H

#include <signal.h>

#include <stop_token>
#include <thread>

namespace fattn::tool {

/// While it lives, SIGINT and SIGTERM request a stop instead of ending the process; the second one ends it at once. Make it before any
/// other thread, which takes over that signals are not delivered to it.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return stop_.get_token(); }
  bool happened() const { return stop_.stop_requested(); }

 private:
  sigset_t signals_{}, before_{};
  std::stop_source stop_;
  std::jthread waiter_;
};

}  // namespace fattn::tool

#endif
