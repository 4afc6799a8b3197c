// SPDX-License-Identifier: Apache-2.0
// Threads of a library that is a guest in a program: where the system has none left, it does with fewer.
#ifndef FATTN_RUNTIME_BASE_THREADS_H
#define FATTN_RUNTIME_BASE_THREADS_H

#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace fattn {

/// Starts a thread that leaves signals to the program's own threads. Nothing where it cannot be started, and why in `failure` if that is
/// set. `body` must not throw.
std::optional<std::jthread> tryThread(std::function<void()> body, std::string* failure = nullptr);

}  // namespace fattn

#endif
