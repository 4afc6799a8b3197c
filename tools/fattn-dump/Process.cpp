// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-dump/Process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "fattn/Error.h"
#include "tools/common/CommandLine.h"

namespace fattn::dump {

std::optional<std::string> findProgram(const std::string& name) {
  const char* path = std::getenv("PATH");
  if (path == nullptr) return std::nullopt;
  for (const std::string& folder : tool::split(path, ':'))
    if (std::filesystem::path file = std::filesystem::path(folder) / name; !folder.empty() && ::access(file.c_str(), X_OK) == 0)
      return file.string();
  return std::nullopt;
}

Outcome runProgram(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(ErrorCode::IoError, fmt::format("cannot open a pipe: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (int target : {STDOUT_FILENO, STDERR_FILENO}) ::posix_spawn_file_actions_adddup2(&actions, ends[1], target);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failure = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  Outcome outcome;
  std::array<char, 65536> buffer;
  for (ssize_t n = 0; failure == 0 && ((n = ::read(ends[0], buffer.data(), buffer.size())) > 0 || (n < 0 && errno == EINTR));)
    if (n > 0) outcome.output.append(buffer.data(), static_cast<std::size_t>(n));
  ::close(ends[0]);
  if (failure != 0) throw Error(ErrorCode::IoError, fmt::format("cannot start {}: {}", command.front(), std::strerror(failure)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

TemporaryFile::TemporaryFile(const std::string& name, const std::string& content) {
  std::string pattern = (std::filesystem::temp_directory_path() / "fattn-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw Error(ErrorCode::IoError, fmt::format("cannot make a folder like {}: {}", pattern, std::strerror(errno)));
  folder_ = pattern;
  path_ = beside(name);
  std::ofstream stream(path_, std::ios::binary);
  if (!(stream << content).flush()) throw Error(ErrorCode::IoError, fmt::format("cannot write {}", path_));
}

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace fattn::dump
