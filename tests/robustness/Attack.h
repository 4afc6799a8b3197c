// SPDX-License-Identifier: Apache-2.0
// What the attacks share: other users, limits, and processes that end in every way.
#ifndef FATTN_TESTS_ROBUSTNESS_ATTACK_H
#define FATTN_TESTS_ROBUSTNESS_ATTACK_H

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>

#include "tests/support/Environment.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FATTN_UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FATTN_UNDER_SANITIZER 1
#endif
#endif

namespace fattn::test {

/// Two users who are nobody in particular.
inline constexpr uid_t kMallory = 65531, kVictim = 65532;

/// Random numbers that are the same in every run, so that a failure can be repeated.
inline std::minstd_rand seeded(unsigned seed) { return std::minstd_rand(seed); }

/// How often to try: what an environment variable says, for longer runs, else `otherwise`.
inline int timesFrom(const char* variable, int otherwise) {
  return static_cast<int>(fromEnvironment(variable, static_cast<std::uint64_t>(otherwise)));
}

/// Whether the tests may become other users.
inline bool isRoot() { return geteuid() == 0; }

/// Runs `body` in a process of its own. Gives "" where it ended with 0, else how it ended.
inline std::string inProcess(const std::function<void()>& body, unsigned seconds = 30) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    body();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    return WTERMSIG(status) == SIGALRM ? "it was not done after " + std::to_string(seconds) + " s"
                                       : "ended by signal " + std::to_string(WTERMSIG(status));
  }
  return WEXITSTATUS(status) == 0 ? "" : "exit status " + std::to_string(WEXITSTATUS(status));
}

/// The same as another user.
inline std::string asUser(uid_t user, const std::function<void()>& body) {
  return inProcess([&] {
    ASSERT_EQ(setresgid(user, user, user), 0);
    ASSERT_EQ(setresuid(user, user, user), 0);
    body();
  });
}

}  // namespace fattn::test

#endif
