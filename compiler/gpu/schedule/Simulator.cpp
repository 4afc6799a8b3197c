// SPDX-License-Identifier: Apache-2.0
// An event simulation on fixed arrays: it runs thousands of times in one search.
#include "compiler/gpu/schedule/Simulator.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fattn::gpu {
namespace {

constexpr int kTrips = 20;    // simulated at most
constexpr int kSkip = 6;      // left out of the average where no repetition is found
constexpr int kRemember = 8;  // trips of results: a wait reaches back kMaxStages trips at most
static_assert(kMaxStages < kRemember);
constexpr int kDotsInFlight = 2;                 // of one node and group; the next issue waits for the oldest
constexpr int kCopiesInFlight = kMaxStages + 1;  // as many slots as stages can use
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kClose = 0.01;  // cycles

enum class Mode : std::uint8_t { Ready, Working, NoTurn };

struct Group {
  Mode mode = Mode::Ready;
  int step = 0, trip = 0;
  double ready = 0;                                           // when it goes on, of Ready; when it stopped, of NoTurn
  double left = 0;                                            // cycles of work at full speed, of Working
  std::array<std::array<double, kRemember>, kMaxNodes> done;  // read only where it has been written
};

/// The machine as seen from the end of one of group 0's trips: times relative to then.
struct Snapshot {
  double time = 0;
  int trip = 0, count = 0;
  std::array<double, kMaxNodes> nodes;  // trips of each that have been served so far, over all groups
  std::array<double, 640> state;        // filled up to `count`
  void add(double x) {
    if (count < static_cast<int>(state.size())) state[count] = x;
    ++count;
  }
  bool same(const Snapshot& other) const {
    if (count != other.count || count > static_cast<int>(state.size())) return false;
    for (int i = 0; i < count; ++i)
      if (std::abs(state[i] - other.state[i]) > kClose) return false;
    return true;
  }
};

class Machine {
 public:
  Machine(const CostedLoop& loop, const Program& program, const Overheads& overheads, int groups, Timeline* timeline)
      : loop_(loop), program_(program), overheads_(overheads), count_(groups), timeline_(timeline) {
    for (const Step& step : program)
      if (step.kind == StepKind::Wait)
        reach_[step.node] = std::max<std::int8_t>(reach_[step.node], static_cast<std::int8_t>(step.back + 1));
  }

  std::optional<double> run() {
    while (!finished_) {
      const int next = nextEvent();
      if (next < 0) return std::nullopt;
      proceed(groups_[next], next);
    }
    return result_;
  }

 private:
  /// Moves the time to the next event and returns its group; -1 where there is none.
  int nextEvent() {
    int next = -1;
    double when = kNever;
    for (int g = 0; g < count_; ++g) {
      const Group& group = groups_[g];
      const double time = group.mode == Mode::Ready ? group.ready : group.mode == Mode::Working ? now_ + group.left * slowdown_ : kNever;
      if (time < when) when = time, next = g;
    }
    if (next < 0) return next;
    if (const double passed = (when - now_) / slowdown_; passed > 0)
      for (int g = 0; g < count_; ++g) groups_[g].left -= groups_[g].mode == Mode::Working ? passed : 0;
    now_ = std::max(now_, when);
    return next;
  }

  /// Runs steps of a group until it has to stop.
  void proceed(Group& group, int index) {
    if (group.mode == Mode::Working) {
      note(StepKind::Work, index, program_[group.step].node, group.ready, now_);
      group.mode = Mode::Ready;
      updateSlowdown();
      advance(group, index);
    }
    while (group.mode == Mode::Ready && group.ready <= now_ && !finished_) {
      group.ready = now_;
      if (!start(group, index, program_[group.step])) return;
      advance(group, index);
    }
  }

  /// Starts a step; false where the group stays on it.
  bool start(Group& group, int index, const Step& step) {
    switch (step.kind) {
      case StepKind::Issue:
        return issue(group, index, step.node);
      case StepKind::Wait:
        if (group.trip < step.back) return true;
        group.ready = std::max(now_, group.done[step.node][(group.trip - step.back) % kRemember]) + overheads_.wait;
        note(StepKind::Wait, index, step.node, now_, group.ready);
        return true;
      case StepKind::Work:
        group.mode = Mode::Working;
        group.left = workCycles(step.node);
        updateSlowdown();
        return false;
      case StepKind::TurnWait:
        if (turn_ != index) {
          group.mode = Mode::NoTurn;
          return false;
        }
        group.ready = std::max(now_, turnTime_);
        note(StepKind::Wait, index, -1, now_, group.ready);
        return true;
      case StepKind::TurnPass:
        break;
    }
    turn_ = (index + 1) % count_;
    turnTime_ = now_ + overheads_.turn;
    Group& next = groups_[turn_];
    if (next.mode == Mode::NoTurn) {
      note(StepKind::Wait, turn_, -1, next.ready, turnTime_);
      next.mode = Mode::Ready;
      next.ready = turnTime_;
    }
    return true;
  }

  /// Puts a node into its queue; false where too many of its kind are in flight.
  bool issue(Group& group, int index, int node) {
    const NodeCost& cost = loop_.nodes[node];
    if (const int depth = cost.copy ? kCopiesInFlight : kDotsInFlight; group.trip >= depth) {
      const double oldest = served(cost, group.done[node][(group.trip - depth) % kRemember]);
      if (oldest > now_) {
        note(StepKind::Wait, index, node, now_, oldest);
        group.ready = oldest;
        return false;
      }
    }
    double& free = queueFree_[cost.copy ? 1 : 0];
    const double begin = std::max(now_, free);
    free = begin + cost.cycles;
    group.done[node][group.trip % kRemember] = free + latency(cost);
    group.ready = now_ + overheads_.issue;
    note(StepKind::Issue, index, node, begin, free);
    return true;
  }

  double latency(const NodeCost& cost) const { return cost.copy ? overheads_.copyLatency : overheads_.dotLatency; }
  /// When the queue is through with what has its result at `done`.
  double served(const NodeCost& cost, double done) const { return done - latency(cost); }
  /// Of a node that is not queued; a synchronous dot is no arithmetic and has no slack added.
  double workCycles(int node) const {
    const NodeCost& cost = loop_.nodes[node];
    return cost.cycles * (cost.units[static_cast<int>(Unit::Tensor)] > 0 ? 1 : overheads_.arithmetic);
  }

  void advance(Group& group, int index) {
    if (++group.step < static_cast<int>(program_.size())) return;
    group.step = 0;
    ++group.trip;
    if (index == 0) endOfTrip();
  }

  /// What works at the same time shares every unit; the unit that is asked for most sets the pace of all.
  void updateSlowdown() {
    UnitCycles demand{};
    for (int g = 0; g < count_; ++g) {
      if (groups_[g].mode != Mode::Working) continue;
      const NodeCost& cost = loop_.nodes[program_[groups_[g].step].node];
      if (cost.cycles > 0)
        for (int unit = 0; unit < kUnits; ++unit) demand[unit] += cost.units[unit] / cost.cycles;
    }
    slowdown_ = std::max(1.0, std::ranges::max(demand));
  }

  void endOfTrip() {
    Snapshot& here = snapshots_[taken_];
    take(here);
    const bool last = here.trip >= kTrips;
    if (timeline_ == nullptr) {
      for (int earlier = taken_ - 1; earlier >= 0; --earlier) {
        if (!here.same(snapshots_[earlier])) continue;
        finished_ = true;
        result_ = (here.time - snapshots_[earlier].time) / (here.trip - snapshots_[earlier].trip);
        return;
      }
    }
    ++taken_;
    if (!last) return;
    finished_ = true;
    result_ = average(snapshots_[kSkip], here);
    if (timeline_ != nullptr) timeline_->begin = snapshots_[taken_ - 3].time, timeline_->end = here.time;
  }

  void take(Snapshot& s) const {
    s.time = now_, s.trip = groups_[0].trip, s.count = 0;
    s.nodes.fill(0);
    s.add(turn_);
    s.add(std::max(turnTime_ - now_, 0.0));
    for (const double free : queueFree_) s.add(std::max(free - now_, 0.0));
    for (int g = 0; g < count_; ++g) {
      const Group& group = groups_[g];
      s.add(group.step);
      s.add(group.trip - s.trip);
      s.add(group.mode == Mode::Ready ? std::max(group.ready - now_, 0.0) : -1 - static_cast<int>(group.mode));
      s.add(group.mode == Mode::Working ? group.left : 0);
      for (int node = 0; node < loop_.size(); ++node) {
        const int newest = group.trip - (reach_[node] > 0 && issuedThisTrip(group, node) ? 0 : 1);
        for (int back = 0; back < reach_[node]; ++back)
          s.add(newest - back >= 0 ? std::max(group.done[node][(newest - back) % kRemember] - now_, 0.0) : 0);
      }
      countNodes(group, s);
    }
  }

  bool issuedThisTrip(const Group& group, int node) const {
    for (int i = 0; i < group.step; ++i)
      if (program_[i].kind == StepKind::Issue && program_[i].node == node) return true;
    return false;
  }

  /// Trips of each node that have been served by now; what waits in a queue has not.
  void countNodes(const Group& group, Snapshot& s) const {
    for (int i = 0; i < static_cast<int>(program_.size()); ++i) {
      const Step& step = program_[i];
      if (step.kind != StepKind::Issue && step.kind != StepKind::Work) continue;
      const int issued = group.trip + (i < group.step ? 1 : 0);
      double count = issued;
      const NodeCost& cost = loop_.nodes[step.node];
      if (cost.queued && cost.cycles > 0)
        for (int trip = std::max(issued - kRemember, 0); trip < issued; ++trip)
          count -= std::clamp((served(cost, group.done[step.node][trip % kRemember]) - now_) / cost.cycles, 0.0, 1.0);
      if (i == group.step && group.mode == Mode::Working && cost.cycles > 0) count += 1 - group.left / workCycles(step.node);
      s.nodes[step.node] += count;
    }
  }

  /// Between two moments that are no repetition: the slowest node's pace, so that no unit can seem to do more than it can.
  double average(const Snapshot& from, const Snapshot& to) const {
    double least = kNever;
    for (int node = 0; node < loop_.size(); ++node) least = std::min(least, to.nodes[node] - from.nodes[node]);
    return (to.time - from.time) * count_ / least;
  }

  void note(StepKind kind, int group, int node, double begin, double end) {
    if (timeline_ != nullptr && end > begin) timeline_->spans.push_back({kind, group, node, begin, end});
  }

  const CostedLoop& loop_;
  const Program& program_;
  const Overheads overheads_;
  const int count_;
  Timeline* timeline_;
  std::array<std::int8_t, kMaxNodes> reach_{};  // how many trips' results of a node are still waited for
  std::array<Group, kMaxGroups> groups_;
  std::array<double, 2> queueFree_{};
  double now_ = 0, slowdown_ = 1, turnTime_ = 0, result_ = 0;
  int turn_ = 0, taken_ = 0;
  bool finished_ = false;
  std::array<Snapshot, kTrips + 1> snapshots_;
};

}  // namespace

std::optional<double> simulate(const CostedLoop& loop, const Program& program, const Overheads& overheads, int groups, Timeline* timeline) {
  if (timeline != nullptr) *timeline = {};
  return Machine(loop, program, overheads, groups == 0 ? loop.groups : groups, timeline).run();
}

}  // namespace fattn::gpu
