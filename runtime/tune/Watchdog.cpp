// SPDX-License-Identifier: Apache-2.0
// The working process writes lines to a pipe: "+<number> <seconds> <what>" when a piece begins, "-<number>" when it has ended.
#include "runtime/tune/Watchdog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>

#include "fattn/Error.h"
#include "runtime/base/Log.h"

namespace fattn::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kFirstSeconds = 120;  // a measurement when nothing is known: loading, and operands that are copied for the first time
constexpr double kLeastSeconds = 20;   // any later one
constexpr double kSlowerThanBest = 100;

volatile sig_atomic_t worker = 0, interrupted = 0;  // for the handler

void handOn(int signal) {
  interrupted = 1;
  if (worker > 0) kill(static_cast<pid_t>(worker), signal);
}

struct Open {
  std::string what;
  double limit = 0;
  Clock::time_point end;
};

/// One working process and what it says.
class Process {
 public:
  Process(const std::function<int(Watched&, std::span<const Blame>)>& work, std::span<const Blame> blamed);
  ~Process() { close(pipe_); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Waits for its end, or ends it. Nothing where it ended by itself.
  std::optional<Blame> watch();
  int exitCode() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_); }

 private:
  bool readSome();
  void hear(const std::string& line);
  const Open* overdue() const;
  int millisecondsLeft() const;
  void wait();

  pid_t child_ = 0;
  int pipe_ = -1, status_ = 0;
  std::string heard_;
  std::map<unsigned, Open> open_;
};

Process::Process(const std::function<int(Watched&, std::span<const Blame>)>& work, std::span<const Blame> blamed) {
  int ends[2];
  std::fflush(nullptr);  // or both processes would write what waits in buffers
  const pid_t parent = getpid();
  const bool piped = pipe2(ends, O_CLOEXEC) == 0;
  if (piped) child_ = fork();
  if (!piped || child_ < 0) throw Error(ErrorCode::Internal, "no process to measure in can be started");
  if (child_ == 0) {
    close(ends[0]);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (getppid() != parent) _exit(1);
    Watched watched(ends[1]);
    const int code = work(watched, blamed);
    std::fflush(nullptr);
    _exit(code);
  }
  worker = child_;
  close(ends[1]);
  pipe_ = ends[0];
}

void Process::hear(const std::string& line) {
  char* rest = nullptr;
  const unsigned number = static_cast<unsigned>(std::strtoul(line.c_str() + 1, &rest, 10));
  if (line.starts_with("-")) {
    open_.erase(number);
  } else {
    const double limit = std::strtod(rest, &rest);
    const auto span = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit));
    open_[number] = {.what = *rest == ' ' ? rest + 1 : rest, .limit = limit, .end = Clock::now() + span};
  }
}

bool Process::readSome() {
  char bytes[4096];
  const ssize_t count = read(pipe_, bytes, sizeof bytes);
  if (count < 0 && errno == EINTR) return true;
  if (count <= 0) return false;
  heard_.append(bytes, static_cast<std::size_t>(count));
  for (std::size_t end; (end = heard_.find('\n')) != std::string::npos; heard_.erase(0, end + 1)) hear(heard_.substr(0, end));
  return true;
}

const Open* Process::overdue() const {
  for (const auto& [number, piece] : open_)
    if (Clock::now() >= piece.end) return &piece;
  return nullptr;
}

int Process::millisecondsLeft() const {
  if (open_.empty()) return -1;
  const auto next = std::ranges::min_element(open_, {}, [](const auto& entry) { return entry.second.end; });
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next->second.end - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, 1000000));
}

void Process::wait() {
  while (waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
  }
  worker = 0;
}

std::optional<Blame> Process::watch() {
  while (true) {
    pollfd waiting{.fd = pipe_, .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, millisecondsLeft());
    if (ready > 0 && !readSome()) break;
    if (ready != 0) continue;
    if (const Open* piece = overdue()) {
      kill(child_, SIGKILL);
      wait();
      return Blame{piece->what, fmt::format("it gave no result within {:g} s", piece->limit)};
    }
  }
  wait();
  // The piece that began last is at work; those before it wait for their turn at the most.
  if (WIFSIGNALED(status_) && !open_.empty() && !interrupted)
    return Blame{open_.rbegin()->second.what, fmt::format("its process ended with signal {}", WTERMSIG(status_))};
  return std::nullopt;
}

}  // namespace

Watched::Piece::Piece(Watched& watched, const std::string& what, double seconds) : watched_(watched), number_(watched.next_++) {
  watched_.say(fmt::format("+{} {:g} {}\n", number_, seconds, what));
}

Watched::Piece::~Piece() { watched_.say(fmt::format("-{}\n", number_)); }

// Shorter than PIPE_BUF, so that lines of several threads do not mix. Who watches may be gone: then nothing is to be said.
void Watched::say(const std::string& line) const {
  if (descriptor_ < 0) return;
  while (write(descriptor_, line.data(), line.size()) < 0 && errno == EINTR) {
  }
}

double Watched::limitFor(std::size_t launches) const {
  const double us = fastestUs_;
  return us == 0 ? kFirstSeconds : kLeastSeconds + kSlowerThanBest * us * 1e-6 * static_cast<double>(launches);
}

class Watched::GuardedTrial final : public Trial {
 public:
  GuardedTrial(Watched& watched, std::unique_ptr<Trial> trial, std::string what)
      : watched_(watched), trial_(std::move(trial)), what_(std::move(what)) {}
  void measure(std::span<double> us) override {
    {
      const Piece piece(watched_, what_, watched_.limitFor(us.size()));
      trial_->measure(us);
    }
    for (double one : us)
      if (const double fastest = watched_.fastestUs_; fastest == 0 || one < fastest) watched_.fastestUs_ = one;
  }
  Trial& inner() const { return *trial_; }
  const std::string& what() const { return what_; }

 private:
  Watched& watched_;
  std::unique_ptr<Trial> trial_;
  std::string what_;
};

std::unique_ptr<Trial> Watched::guard(std::unique_ptr<Trial> trial, std::string what) {
  return std::make_unique<GuardedTrial>(*this, std::move(trial), std::move(what));
}

const std::string& Watched::nameOf(Trial& guarded) { return dynamic_cast<GuardedTrial&>(guarded).what(); }

Trial& Watched::inner(Trial& guarded) { return dynamic_cast<GuardedTrial&>(guarded).inner(); }

int supervise(const std::function<int(Watched&, std::span<const Blame>)>& work) {
  interrupted = 0;
  struct sigaction act{}, before[2];
  act.sa_handler = handOn;
  sigaction(SIGINT, &act, &before[0]);
  sigaction(SIGTERM, &act, &before[1]);
  std::vector<Blame> blamed;
  int code = 0;
  while (true) {
    Process process(work, blamed);
    std::optional<Blame> blame = process.watch();
    code = process.exitCode();
    if (!blame || interrupted) break;
    log::write(log::Level::Warning, fmt::format("{} is given up: {}; another process goes on", blame->what, blame->reason));
    if (std::ranges::find(blamed, blame->what, &Blame::what) != blamed.end()) {
      log::write(log::Level::Error, fmt::format("{} was given up twice", blame->what));
      code = 1;
      break;
    }
    blamed.push_back(std::move(*blame));
  }
  sigaction(SIGINT, &before[0], nullptr);
  sigaction(SIGTERM, &before[1], nullptr);
  return code;
}

}  // namespace fattn::tune
