// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/Threads.h"

#include <pthread.h>

#include <csignal>
#include <exception>
#include <utility>

namespace fattn {

std::optional<std::jthread> tryThread(std::function<void()> body, std::string* failure) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::optional<std::jthread> thread;
  try {
    thread.emplace(std::move(body));
  } catch (const std::exception& error) {
    if (failure != nullptr) *failure = error.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace fattn
