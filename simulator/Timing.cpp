// SPDX-License-Identifier: Apache-2.0
#include "simulator/Timing.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <vector>

namespace fattn::simulator {
namespace {

using Clock = std::int64_t;
constexpr Clock kPassBytes = 128;  // of 32 banks
constexpr Clock kNever = std::numeric_limits<Clock>::max();

struct TimedWave {
  const std::vector<Executed>* trace = nullptr;
  std::size_t next = 0;
  std::size_t group = 0;
  Clock at = 0;     ///< the next step in which it may issue something
  Clock since = 0;  ///< the step in which it came to its next instruction
  int priority = 0;
  std::int64_t awaited = -1;                  ///< the barrier of its workgroup that it has come to; -1: none
  std::array<Clock, 512> ready{};             ///< when an instruction may read a vector register
  std::array<Clock, 512> product{};           ///< when a matrix product may add to it
  std::array<std::deque<Clock>, 4> accesses;  ///< of each counter: when those on their way complete

  bool ended() const { return next == trace->size(); }
};

struct Simd {
  std::vector<TimedWave*> waves;
  Clock vectorFree = 0, matrixFree = 0, transcendentalFree = 0;
  Clock matrixBusy = 0, vectorBusy = 0;
};

/// The waves of a workgroup that have come to a barrier.
struct Meeting {
  std::size_t waves = 0, arrived = 0;
  std::int64_t passed = 0;  ///< barriers that all have passed
};

class ComputeUnit {
 public:
  ComputeUnit(const Chip& chip, const std::vector<TimedInstruction>& code, std::span<const Trace* const> groups, Clock apart);
  Timing run();

 private:
  void serve(Simd& simd);
  void advance(TimedWave& wave);
  bool issue(Simd& simd, TimedWave& wave);
  bool start(Simd& simd, TimedWave& wave, const TimedInstruction& timed, const Executed& executed);
  bool startVector(Simd& simd, TimedWave& wave, const TimedInstruction& timed);
  bool startAccess(TimedWave& wave, const TimedInstruction& timed, const Executed& executed);
  Clock passLocal(Clock passes);
  bool passWait(TimedWave& wave, const TimedInstruction& timed);
  bool meet(TimedWave& wave, bool signals);
  bool waitFor(TimedWave& wave, Clock until) const;
  Clock readyAt(const TimedWave& wave, const TimedInstruction& timed) const;

  const Pace& pace_;
  const std::vector<TimedInstruction>& code_;
  std::vector<TimedWave> waves_;
  std::vector<Simd> simds_;
  std::vector<Meeting> meetings_;
  Clock now_ = 0, globalFree_ = 0, globalBusy_ = 0;
  Clock localFree_ = 0, localBusy_ = 0;  ///< in passes
  std::vector<std::int64_t> waited_;
  std::uint32_t used_ = 0;  ///< units of the SIMD that is served, in this step
};

ComputeUnit::ComputeUnit(const Chip& chip, const std::vector<TimedInstruction>& code, std::span<const Trace* const> groups, Clock apart)
    : pace_(paceOf(chip)), code_(code), simds_(static_cast<std::size_t>(pace_.simds)), meetings_(groups.size()), waited_(code.size()) {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    meetings_[g].waves = groups[g]->waves.size();
    for (const std::vector<Executed>& trace : groups[g]->waves) {
      TimedWave& wave = waves_.emplace_back();
      wave.trace = &trace;
      wave.group = g;
      wave.at = wave.since = static_cast<Clock>(g) * apart / pace_.step * pace_.step;
    }
  }
  for (std::size_t i = 0; i < waves_.size(); ++i) simds_[i % simds_.size()].waves.push_back(&waves_[i]);
}

Timing ComputeUnit::run() {
  Timing timing;
  for (;;) {
    for (Simd& simd : simds_) serve(simd);
    Clock next = kNever;
    bool left = false;
    for (const TimedWave& wave : waves_) {
      if (wave.ended()) continue;
      left = true;
      next = std::min(next, wave.at);
    }
    if (!left || next == kNever) break;
    now_ = std::max(now_ + pace_.step, (next + pace_.step - 1) / pace_.step * pace_.step);
  }
  timing.clocks = now_ + pace_.step;
  for (const Simd& simd : simds_) {
    timing.matrix += static_cast<double>(simd.matrixBusy) / pace_.simds;
    timing.vector += static_cast<double>(simd.vectorBusy) / pace_.simds;
  }
  timing.local = static_cast<double>(localBusy_) / pace_.ldsPasses;
  timing.global = static_cast<double>(globalBusy_);
  for (const TimedWave& wave : waves_) timing.instructions += static_cast<std::int64_t>(wave.trace->size());
  timing.waited = std::move(waited_);
  return timing;
}

/// A step of a SIMD: each wave issues one instruction at most.
void ComputeUnit::serve(Simd& simd) {
  used_ = 0;
  std::array<TimedWave*, 32> order{};
  std::size_t count = 0;
  for (TimedWave* wave : simd.waves)
    if (!wave->ended() && wave->at <= now_ && count < order.size()) order[count++] = wave;
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), [](const TimedWave* a, const TimedWave* b) {
    return a->priority != b->priority ? a->priority > b->priority : a < b;  // the older one stands before
  });
  for (std::size_t i = 0; i < count; ++i)
    if (issue(simd, *order[i])) advance(*order[i]);
}

void ComputeUnit::advance(TimedWave& wave) {
  waited_[(*wave.trace)[wave.next].number] += now_ - wave.since;
  wave.since = wave.at;
  ++wave.next;
}

/// False where the wave has to try again, not before `at`.
bool ComputeUnit::waitFor(TimedWave& wave, Clock until) const {
  if (until <= now_) return true;
  wave.at = until;
  return false;
}

Clock ComputeUnit::readyAt(const TimedWave& wave, const TimedInstruction& timed) const {
  Clock ready = 0;
  for (std::size_t i = 0; i < timed.sources; ++i) {
    const Registers& read = timed.read[i];
    const auto& table = timed.accumulates && i == 2 ? wave.product : wave.ready;
    for (std::size_t r = read.first; r < std::size_t{read.first} + read.count; ++r) ready = std::max(ready, table[r]);
  }
  return ready;
}

bool ComputeUnit::issue(Simd& simd, TimedWave& wave) {
  const Executed* executed = &(*wave.trace)[wave.next];
  const TimedInstruction* timed = &code_[executed->number];
  while (timed->unit == Unit::Free) {  // the next one goes in the same step
    if (++wave.next == wave.trace->size()) return --wave.next, true;
    executed = &(*wave.trace)[wave.next];
    timed = &code_[executed->number];
  }
  const std::uint32_t unit =
      1U << static_cast<int>(timed->unit == Unit::Matrix || timed->unit == Unit::Transcendental ? Unit::Vector : timed->unit);
  if ((used_ & unit) != 0) return wave.at = now_ + pace_.step, false;
  if (!start(simd, wave, *timed, *executed)) return false;
  if (timed->unit <= Unit::Global) used_ |= unit;
  if (wave.at <= now_) wave.at = now_ + pace_.step;
  return true;
}

bool ComputeUnit::start(Simd& simd, TimedWave& wave, const TimedInstruction& timed, const Executed& executed) {
  switch (timed.unit) {
    case Unit::Vector:
    case Unit::Transcendental:
    case Unit::Matrix:
      return startVector(simd, wave, timed);
    case Unit::ScalarMemory:
    case Unit::Local:
    case Unit::Global:
      return startAccess(wave, timed, executed);
    case Unit::Wait:
      return passWait(wave, timed);
    case Unit::Barrier:
    case Unit::Signal:
      return meet(wave, timed.unit == Unit::Signal);
    case Unit::Priority:
      wave.priority = timed.clocks;
      return true;
    case Unit::Idle:
      wave.at = now_ + (timed.clocks + 1) * pace_.step;
      return true;
    case Unit::Scalar:
    case Unit::Free:
      break;
  }
  return true;
}

bool ComputeUnit::startVector(Simd& simd, TimedWave& wave, const TimedInstruction& timed) {
  const bool matrix = timed.unit == Unit::Matrix, special = timed.unit == Unit::Transcendental;
  Clock free = std::max(readyAt(wave, timed), simd.vectorFree);
  if (matrix) free = std::max(free, simd.matrixFree);
  if (special) free = std::max(free, simd.transcendentalFree);
  if (!waitFor(wave, free)) return false;
  const bool holds = matrix ? pace_.matrixShares : special ? pace_.transcendentalShares : true;
  const Clock held = holds ? timed.clocks : pace_.step, done = now_ + timed.clocks;
  simd.vectorFree = now_ + held;
  simd.vectorBusy += held;
  if (matrix) simd.matrixFree = done, simd.matrixBusy += timed.clocks;
  if (special) simd.transcendentalFree = done;
  const Clock readable = matrix ? done + pace_.matrixToVector : std::max(done, now_ + pace_.step) + (special && !holds ? pace_.step : 0);
  for (std::size_t i = 0; i < timed.results; ++i)
    for (std::size_t r = timed.written[i].first; r < std::size_t{timed.written[i].first} + timed.written[i].count; ++r)
      wave.ready[r] = readable, wave.product[r] = matrix ? done : readable;
  return true;
}

/// Local memory does these passes next. Returns the clock in which it has.
Clock ComputeUnit::passLocal(Clock passes) {
  localFree_ = std::max(localFree_, now_ * pace_.ldsPasses) + passes;
  localBusy_ += passes;
  return (localFree_ + pace_.ldsPasses - 1) / pace_.ldsPasses;
}

bool ComputeUnit::startAccess(TimedWave& wave, const TimedInstruction& timed, const Executed& executed) {
  if (!waitFor(wave, readyAt(wave, timed))) return false;
  Clock done = now_;
  if (timed.unit == Unit::Local) {
    done = passLocal(std::max<Clock>(executed.ldsPasses, 1)) + pace_.ldsLatency;
  } else {
    const Clock clocks = (executed.globalBytes + pace_.memoryBytes - 1) / pace_.memoryBytes;
    globalFree_ = std::max(globalFree_, now_) + clocks;
    globalBusy_ += clocks;
    done = globalFree_ + pace_.memoryLatency;
    if (timed.unit == Unit::ScalarMemory) done = now_ + pace_.memoryLatency / 4;  // a cache of its own, which all share
    if (timed.direct) passLocal((executed.globalBytes + kPassBytes - 1) / kPassBytes);
  }
  for (std::size_t counter = 0; counter < wave.accesses.size(); ++counter) {
    if ((timed.counter >> counter & 1) == 0) continue;
    std::deque<Clock>& list = wave.accesses[counter];
    list.push_back(std::max(done, list.empty() ? 0 : list.back()));
  }
  return true;
}

/// Both halves of a barrier, or, with `signals`, the first alone.
bool ComputeUnit::meet(TimedWave& wave, bool signals) {
  Meeting& meeting = meetings_[wave.group];
  if (wave.awaited < 0) {
    wave.awaited = meeting.passed;
    if (++meeting.arrived == meeting.waves) {
      meeting.arrived = 0;
      ++meeting.passed;
      for (TimedWave& other : waves_)
        if (other.group == wave.group && other.at == kNever) other.at = now_ + pace_.step;
    }
  }
  if (signals) return true;
  if (meeting.passed == wave.awaited) return wave.at = kNever, false;
  wave.awaited = -1;
  return true;
}

bool ComputeUnit::passWait(TimedWave& wave, const TimedInstruction& timed) {
  Clock until = 0;
  for (std::size_t counter = 0; counter < wave.accesses.size(); ++counter) {
    std::deque<Clock>& list = wave.accesses[counter];
    while (!list.empty() && list.front() <= now_) list.pop_front();
    const auto limit = static_cast<std::ptrdiff_t>(timed.limits[counter]);
    const auto size = static_cast<std::ptrdiff_t>(list.size());
    if (limit >= 0 && size > limit) until = std::max(until, list[static_cast<std::size_t>(size - limit - 1)]);
  }
  return waitFor(wave, until);
}

}  // namespace

Timing timingOf(const Chip& chip, const std::vector<TimedInstruction>& code, std::span<const Trace* const> groups, std::int64_t apart) {
  return ComputeUnit(chip, code, groups, apart).run();
}

}  // namespace fattn::simulator
