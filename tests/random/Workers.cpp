// SPDX-License-Identifier: Apache-2.0
#include "tests/random/Workers.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "fattn/Error.h"

namespace fattn::random {
namespace {

constexpr int kFailedStarts = 3;
constexpr std::chrono::seconds kPatience{30};

std::string howItEnded(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

std::string joined(std::string text, const std::string& log) { return log.empty() ? text : text + ": " + log; }

}  // namespace

Workers::Workers(WorkerOptions options) : options_(std::move(options)) {
  signal(SIGPIPE, SIG_IGN);  // a worker that is gone is seen at the end of its replies
  workers_.resize(static_cast<std::size_t>(std::max(1, options_.processes)));
}

Workers::~Workers() {
  for (Slot& worker : workers_) {
    if (!worker) continue;
    kill(worker->pid(), SIGKILL);
    ended_.push_back(worker->pid());
  }
  // A process whose kernel hangs on a GPU takes a while to go.
  for (auto until = Worker::Clock::now() + kPatience; !ended_.empty() && Worker::Clock::now() < until; usleep(1000)) reap();
}

void Workers::reap() {
  std::erase_if(ended_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

void Workers::run(const std::vector<std::string>& requests, const std::function<void(std::size_t request, const Reply& reply)>& done) {
  const auto begin = Worker::Clock::now();
  const auto inTime = [&] {
    return options_.totalSeconds <= 0 || Worker::Clock::now() - begin < std::chrono::duration<double>(options_.totalSeconds);
  };
  std::size_t next = 0, answered = 0;
  while (answered < next || (next < requests.size() && inTime())) {
    reap();
    if (inTime()) next = handOut(requests, next);
    wait();
    for (Slot& worker : workers_) {
      if (!worker || worker->state() == Worker::State::Idle) continue;
      std::size_t request = worker->request();
      std::optional<Reply> reply = look(worker);
      if (!reply) continue;
      ++answered;
      done(request, *reply);
    }
  }
}

/// Gives requests to idle workers, and starts as many workers as there are requests left for. Returns the first request not given out.
std::size_t Workers::handOut(const std::vector<std::string>& requests, std::size_t next) {
  std::size_t starting = 0;
  for (Slot& worker : workers_) {
    if (worker && worker->state() == Worker::State::Idle && next < requests.size()) {
      worker->send(next, requests[next], options_.limitSeconds);
      ++next;
    }
    if (!worker && next + starting < requests.size()) worker = std::make_unique<Worker>(options_.command, options_.startSeconds);
    if (worker && worker->state() == Worker::State::Starting) ++starting;
  }
  return next;
}

/// Until a worker writes something or a deadline passes.
void Workers::wait() const {
  std::vector<pollfd> ends;
  Worker::Clock::time_point soonest = Worker::Clock::time_point::max();
  for (const Slot& worker : workers_) {
    if (!worker || worker->state() == Worker::State::Idle) continue;
    ends.push_back({worker->replies(), POLLIN, 0});
    soonest = std::min(soonest, worker->deadline());
  }
  auto left = std::chrono::ceil<std::chrono::milliseconds>(soonest - Worker::Clock::now()).count();
  if (poll(ends.data(), ends.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000))) < 0 && errno != EINTR)
    throw Error(ErrorCode::Internal, fmt::format("workers could not be waited for: {}", std::strerror(errno)));
}

/// The reply of a worker, if it is done with its request.
std::optional<Reply> Workers::look(Slot& worker) {
  bool open = worker->read(), busy = worker->state() == Worker::State::Busy;
  if (std::optional<std::string> line = worker->line()) {
    if (busy) return Reply{Reply::Kind::Answered, *line};
    if (*line != "ready") throw Error(ErrorCode::Internal, fmt::format("a worker began with '{}' instead of 'ready'", *line));
    failedStarts_ = 0;
    return std::nullopt;
  }
  if (open && Worker::Clock::now() < worker->deadline()) return std::nullopt;
  Reply reply = giveUp(worker, open ? Reply::Kind::TimedOut : Reply::Kind::Died);
  if (busy) return reply;
  if (++failedStarts_ >= kFailedStarts) throw Error(ErrorCode::Internal, "workers do not start: " + reply.text);
  return std::nullopt;
}

Reply Workers::giveUp(Slot& worker, Reply::Kind kind) {
  std::string log = worker->log();
  Slot gone = std::move(worker);
  if (kind == Reply::Kind::TimedOut) {
    double limit = gone->state() == Worker::State::Busy ? options_.limitSeconds : options_.startSeconds;
    kill(gone->pid(), SIGKILL);
    ended_.push_back(gone->pid());
    return {kind, joined(fmt::format("no answer within {} s", limit), log)};
  }
  // It closed its output, which is nearly its end.
  int status = 0;
  for (auto until = Worker::Clock::now() + kPatience; Worker::Clock::now() < until; usleep(1000))
    if (waitpid(gone->pid(), &status, WNOHANG) == gone->pid()) return {kind, joined(howItEnded(status), log)};
  kill(gone->pid(), SIGKILL);
  ended_.push_back(gone->pid());
  return {kind, joined("it wrote no reply and did not end", log)};
}

}  // namespace fattn::random
