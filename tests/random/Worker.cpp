// SPDX-License-Identifier: Apache-2.0
#include "tests/random/Worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fattn/Error.h"

namespace fattn::random {
namespace {

constexpr off_t kLogBytes = 2000;

Worker::Clock::time_point inSeconds(double seconds) {
  return Worker::Clock::now() + std::chrono::duration_cast<Worker::Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Worker::Worker(const std::vector<std::string>& command, double startSeconds) : deadline_(inSeconds(startSeconds)) {
  int in[2] = {-1, -1}, out[2] = {-1, -1};
  log_ = memfd_create("worker", MFD_CLOEXEC);
  int result = log_ >= 0 && fcntl(log_, F_SETFL, O_APPEND) == 0 && pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 ? 0 : errno;
  requests_ = in[1];
  replies_ = out[0];
  if (result == 0) {
    fcntl(replies_, F_SETFL, O_NONBLOCK);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, log_, STDERR_FILENO);
    std::vector<std::string> words = command;
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    result = posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
  }
  for (int end : {in[0], out[1]})
    if (end >= 0) close(end);
  if (result == 0) return;
  for (int mine : {requests_, replies_, log_})
    if (mine >= 0) close(mine);
  throw Error(ErrorCode::Internal, fmt::format("'{}' could not be started: {}", command.front(), std::strerror(result)));
}

Worker::~Worker() {
  for (int mine : {requests_, replies_, log_}) close(mine);
}

void Worker::send(std::size_t number, const std::string& request, double limitSeconds) {
  [[maybe_unused]] int emptied = ftruncate(log_, 0);
  request_ = number;
  state_ = State::Busy;
  deadline_ = inSeconds(limitSeconds);
  std::string text = request + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    ssize_t count = write(requests_, text.data() + sent, text.size() - sent);
    if (count < 0 && errno != EINTR) return;  // it is gone, which the end of its replies tells
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
}

bool Worker::read() {
  for (char bytes[65536];;) {
    ssize_t count = ::read(replies_, bytes, sizeof bytes);
    if (count > 0)
      buffer_.append(bytes, static_cast<std::size_t>(count));
    else if (count == 0 || errno != EINTR)
      return count < 0 && errno == EAGAIN;
  }
}

std::optional<std::string> Worker::line() {
  std::size_t end = buffer_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string text = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  state_ = State::Idle;
  return text;
}

std::string Worker::log() const {
  off_t size = lseek(log_, 0, SEEK_END), begin = std::max<off_t>(0, size - kLogBytes);
  std::string text(static_cast<std::size_t>(size - begin), '\0');
  ssize_t count = pread(log_, text.data(), text.size(), begin);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace fattn::random
