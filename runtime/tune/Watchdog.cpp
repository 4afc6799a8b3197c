// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/Watchdog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "fattn/Error.h"
#include "runtime/base/Log.h"
#include "runtime/tune/OpenPieces.h"

namespace fattn::tuning {
namespace {

constexpr double kFirstSeconds = 120;  // a measurement when nothing is known: loading, and operands that are copied for the first time
constexpr double kLeastSeconds = 20;   // any later one
constexpr double kSlowerThanBest = 100;

volatile sig_atomic_t worker = 0, interrupted = 0;  // for the handler: a process and a signal, or 0

void handOn(int signal) {
  interrupted = signal;
  if (worker > 0) kill(static_cast<pid_t>(worker), signal);
}

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
  void wait();

  pid_t child_ = 0;
  int pipe_ = -1, status_ = 0;
  OpenPieces pieces_;
};

Process::Process(const std::function<int(Watched&, std::span<const Blame>)>& work, std::span<const Blame> blamed) {
  int ends[2];
  std::fflush(nullptr);  // or both processes would write what waits in buffers
  const pid_t parent = getpid();
  // Until both processes know what to do with them, an interrupt would be lost: here as there is nobody to hand it to, in the child as it
  // begins with this handler.
  sigset_t interrupts, before;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  sigaddset(&interrupts, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &interrupts, &before);
  const bool piped = pipe2(ends, O_CLOEXEC) == 0;
  child_ = piped ? fork() : -1;
  if (child_ != 0) {
    worker = std::max(child_, 0);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (interrupted != 0 && child_ > 0) kill(child_, interrupted);  // another thread had it
  }
  if (child_ < 0) throw Error(ErrorCode::Internal, "no process to measure in can be started");
  if (child_ == 0) {
    close(ends[0]);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (getppid() != parent) _exit(1);
    Watched watched(ends[1]);
    const int code = work(watched, blamed);
    std::fflush(nullptr);
    _exit(code);
  }
  close(ends[1]);
  pipe_ = ends[0];
}

void Process::wait() {
  while (waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
  }
  worker = 0;
}

std::optional<Blame> Process::watch() {
  std::optional<Blame> late = pieces_.listen(pipe_);
  if (late) kill(child_, SIGKILL);
  wait();
  if (late) return late;
  // The piece that began last is at work; those before it wait for their turn at the most.
  if (WIFSIGNALED(status_) && pieces_.last() && !interrupted)
    return Blame{*pieces_.last(), fmt::format("its process ended with signal {}", WTERMSIG(status_))};
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

std::optional<Blame> watch(const std::function<void(Watched&)>& work) {
  // The thread keeps both ends of the pipe open while it lives: one that is left to itself may still say something.
  struct Thread {
    explicit Thread(int read, int write) : reading(read), writing(write), watched(write) {}
    ~Thread() {
      close(reading);
      if (writing >= 0) close(writing);
    }
    int reading, writing;
    Watched watched;
    std::exception_ptr error;
  };
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(ErrorCode::Internal, "no thread to measure in can be watched");
  auto state = std::make_shared<Thread>(ends[0], ends[1]);
  std::thread thread([state, work] {
    try {
      work(state->watched);
    } catch (...) {
      state->error = std::current_exception();
    }
    close(std::exchange(state->writing, -1));
  });
  OpenPieces pieces;
  if (std::optional<Blame> late = pieces.listen(state->reading)) {
    thread.detach();
    return late;
  }
  thread.join();
  if (state->error) std::rethrow_exception(state->error);
  return std::nullopt;
}

}  // namespace fattn::tuning
