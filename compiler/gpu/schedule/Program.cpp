// SPDX-License-Identifier: Apache-2.0
// From a schedule to steps.
#include "compiler/gpu/schedule/Program.h"

#include <algorithm>
#include <limits>

namespace fattn::gpu {
namespace {

/// How far each of the two queues (dots, copies) is known to be complete, as positions in the order of issue relative to this trip.
class Covered {
 public:
  bool add(bool copy, int position) {
    if (position <= upTo_[copy ? 1 : 0]) return false;
    upTo_[copy ? 1 : 0] = position;
    return true;
  }
  void nextTrip(int size) {
    for (int& position : upTo_) position -= size;
  }

 private:
  std::array<int, 2> upTo_ = {std::numeric_limits<int>::min() / 2, std::numeric_limits<int>::min() / 2};
};

/// Writes one trip after another; what an earlier wait covers needs none.
class TripWriter {
 public:
  TripWriter(const CostedLoop& loop, const Schedule& schedule) : loop_(loop), schedule_(schedule), at_(schedule.positions()) {
    program_.reserve(4 * kMaxNodes);
  }

  void writeTrip() {
    program_.clear();
    for (int place = 0; place < schedule_.size; ++place) {
      const int node = schedule_.order[place];
      addWaitsOf(node);
      add(loop_.nodes[node].queued ? StepKind::Issue : StepKind::Work, node);
    }
    if (loop_.dotsEndInTrip) addWaitForLastDot();
    covered_.nextTrip(schedule_.size);
  }

  Program take() { return std::move(program_); }

 private:
  void add(StepKind kind, int node, int back = 0) {
    program_.push_back({kind, static_cast<std::int8_t>(node), static_cast<std::int8_t>(back)});
  }

  void addWaitsOf(int node) {
    const int size = schedule_.size;
    for (const Edge& edge : loop_.edges) {
      if (edge.to != node || edge.chained || !loop_.nodes[edge.from].queued) continue;
      const int back = schedule_.stage[edge.to] + edge.distance - schedule_.stage[edge.from];
      if (covered_.add(loop_.nodes[edge.from].copy, at_[edge.from] % size - back * size)) add(StepKind::Wait, edge.from, back);
    }
  }

  /// Dots complete in order: the last one's wait is everybody's.
  void addWaitForLastDot() {
    for (int place = schedule_.size - 1; place >= 0; --place) {
      const int node = schedule_.order[place];
      if (!loop_.nodes[node].queued || loop_.nodes[node].copy || schedule_.runsOn[node]) continue;
      if (covered_.add(false, place)) add(StepKind::Wait, node);
      return;
    }
  }

  const CostedLoop& loop_;
  const Schedule& schedule_;
  const std::array<int, kMaxNodes> at_;  ///< of each node, its position
  Covered covered_;
  Program program_;
};

void insertTurns(const CostedLoop& loop, Program& program) {
  const auto isDot = [&](const Step& step) { return step.kind == StepKind::Issue && !loop.nodes[step.node].copy; };
  const auto first = std::ranges::find_if(program, isDot);
  auto last = first;
  for (auto it = first; it != program.end(); ++it) {
    if (it->kind == StepKind::Work || (it->kind == StepKind::Wait && it->back == 0)) break;
    if (isDot(*it)) last = it;
  }
  program.insert(last + 1, Step{.kind = StepKind::TurnPass});  // keeps the positions before it
  program.insert(std::ranges::find_if(program, isDot), Step{.kind = StepKind::TurnWait});
}

}  // namespace

bool canTakeTurns(const CostedLoop& loop) {
  const auto isQueuedDot = [](const NodeCost& node) { return node.queued && !node.copy; };
  const auto isWork = [](const NodeCost& node) { return !node.queued; };
  return loop.groups > 1 && std::ranges::any_of(loop.nodes, isQueuedDot) && std::ranges::any_of(loop.nodes, isWork);
}

Program makeProgram(const CostedLoop& loop, const Schedule& schedule, bool turns) {
  TripWriter writer(loop, schedule);
  writer.writeTrip();  // finds out what the trip before covers
  writer.writeTrip();
  Program program = writer.take();
  if (turns && canTakeTurns(loop)) insertTurns(loop, program);
  return program;
}

}  // namespace fattn::gpu
