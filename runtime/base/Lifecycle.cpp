// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/Lifecycle.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "fattn/Error.h"

namespace fattn {
namespace {

struct Handlers {
  std::function<void()> prepare, parent, child;
};

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  int busy = 0;               // threads
  int forking = 0;            // threads in fork()
  bool lost = false;          // forked while others were busy
  bool ending = false;        // within exit()
  std::thread::id endedBy{};  // on this thread
  int exitHandlers = 0;
  std::vector<Handlers> handlers;
};

// How many Busy a thread has.
thread_local int depth = 0;

void prepareFork();
void afterForkInParent();
void afterForkInChild();

void atExit();

// What a function's static is made of is destroyed before the handlers that were registered before it was made, and whoever compiles for
// the first time makes many. Objects of the thread that calls exit() are destroyed before all statics: that is nearly always the main
// thread.
struct MainThread {
  ~MainThread() {
    if (gettid() == getpid()) atExit();
  }
  void watch() {}
};
thread_local MainThread mainThread;

// Never destroyed: other objects' destructors may compile.
State& state() {
  static State* state = [] {
    auto* made = new State;
    pthread_atfork(prepareFork, afterForkInParent, afterForkInChild);
    mainThread.watch();
    return made;
  }();
  return *state;
}
// Made when the library is loaded, so that no fork() finds it half made.
[[gnu::constructor]] void makeState() { state(); }

int othersBusy(const State& all) { return all.busy - (depth > 0 ? 1 : 0); }

void prepareFork() {
  State& all = state();
  std::unique_lock lock(all.mutex);
  ++all.forking;
  all.changed.wait_for(lock, std::chrono::seconds(kForkWaitSeconds), [&] { return othersBusy(all) == 0; });
  for (Handlers& each : all.handlers) each.prepare();
  lock.release();  // stays locked until after the fork
}

void afterForkInParent() {
  State& all = state();
  for (auto each = all.handlers.rbegin(); each != all.handlers.rend(); ++each) each->parent();
  --all.forking;
  all.mutex.unlock();
  all.changed.notify_all();
}

void afterForkInChild() {
  State& all = state();
  for (auto each = all.handlers.rbegin(); each != all.handlers.rend(); ++each) each->child();
  all.lost |= othersBusy(all) > 0;
  all.forking = 0;
  all.busy = depth > 0 ? 1 : 0;
  if (all.ending && all.endedBy != std::this_thread::get_id()) all.ending = false;  // the thread that was ending the process is not here
  mainThread.watch();
  new (&all.changed) std::condition_variable;  // the parent's threads waited for the old one
  all.mutex.unlock();
}

void atExit() {
  State& all = state();
  std::unique_lock lock(all.mutex);
  if (std::exchange(all.ending, true)) return;
  all.endedBy = std::this_thread::get_id();
  all.changed.wait_for(lock, std::chrono::seconds(kExitWaitSeconds), [&] { return othersBusy(all) == 0; });
}

}  // namespace

Busy::Busy() {
  if (depth > 0) {
    ++depth;
    return;
  }
  State& all = state();
  std::unique_lock lock(all.mutex);
  all.changed.wait(lock, [&] { return all.forking == 0; });
  if (all.lost)
    throw Error(
        ErrorCode::Unsupported,
        "this process was forked while another thread of its parent compiled, and what that thread had locked is locked here for ever",
        "fork before threads compile, or start the program anew in the child (exec)");
  if (all.ending && all.endedBy != std::this_thread::get_id())
    throw Error(ErrorCode::Unsupported, "the process is ending, and nothing is compiled any more",
                "join threads that compile before exit()");
  mainThread.watch();
  if (all.exitHandlers == 0) {
    std::atexit(atExit);
    all.exitHandlers = 1;
  }
  ++all.busy;
  depth = 1;
}

// Where another thread than the main one calls exit(), handlers run in the opposite order of their registration: after what the first times
// made, another one is registered.
Busy::~Busy() {
  if (--depth > 0) return;
  constexpr int kHandlers = 8;
  State& all = state();
  std::lock_guard lock(all.mutex);
  if (all.exitHandlers < kHandlers && !all.ending) {
    std::atexit(atExit);
    ++all.exitHandlers;
  }
  --all.busy;
  all.changed.notify_all();
}

void atFork(std::function<void()> prepare, std::function<void()> parent, std::function<void()> child) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  all.handlers.push_back({std::move(prepare), std::move(parent), std::move(child)});
}

}  // namespace fattn
