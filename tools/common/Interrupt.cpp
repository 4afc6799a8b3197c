// SPDX-License-Identifier: Apache-2.0
// A thread that waits for the signals: what it then does need not be what a signal handler may do.
#include "tools/common/Interrupt.h"

#include <unistd.h>

#include "tools/common/CommandLine.h"

namespace fattn::tool {

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  waiter_ = std::jthread([this](std::stop_token ended) {
    constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 50'000'000};
    while (!ended.stop_requested()) {
      if (sigtimedwait(&signals_, nullptr, &kMoment) < 0) continue;
      if (stop_.stop_requested()) _exit(kInterrupted);
      stop_.request_stop();
    }
  });
}

Interrupt::~Interrupt() {
  waiter_.request_stop();
  waiter_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace fattn::tool
