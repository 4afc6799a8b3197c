// SPDX-License-Identifier: Apache-2.0
// Runs a command of the shell and keeps what it prints.
#ifndef FATTN_TESTS_SUPPORT_COMMAND_H
#define FATTN_TESTS_SUPPORT_COMMAND_H

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace fattn::test {

struct CommandResult {
  int status = -1;     ///< exit status; -1 if the shell did not start or was killed
  std::string output;  ///< standard output
};

inline CommandResult runCommand(const std::string& command) {
  CommandResult result;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return result;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string shell = "/bin/sh", flag = "-c", text = command;
  char* arguments[] = {shell.data(), flag.data(), text.data(), nullptr};
  pid_t child = 0;
  const bool started = posix_spawn(&child, shell.c_str(), &actions, nullptr, arguments, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char buffer[4096];
  for (ssize_t n; started && (n = read(ends[0], buffer, sizeof buffer)) > 0;) result.output.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  if (started && waitpid(child, &status, 0) == child && WIFEXITED(status)) result.status = WEXITSTATUS(status);
  return result;
}

}  // namespace fattn::test

#endif
