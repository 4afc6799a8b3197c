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
  const int size = schedule.size;
  const auto at = schedule.positions();
  Program program;
  program.reserve(4 * kMaxNodes);
  Covered covered;
  for (int pass = 0; pass < 2; ++pass) {  // the first one finds out what the trip before covers
    program.clear();
    for (int place = 0; place < size; ++place) {
      const int node = schedule.order[place];
      for (const auto& [from, to, distance, chained, reuse, order] : loop.edges) {
        if (to != node || chained || !loop.nodes[from].queued) continue;
        const int back = schedule.stage[to] + distance - schedule.stage[from];
        if (covered.add(loop.nodes[from].copy, at[from] % size - back * size))
          program.push_back({StepKind::Wait, static_cast<std::int8_t>(from), static_cast<std::int8_t>(back)});
      }
      program.push_back({loop.nodes[node].queued ? StepKind::Issue : StepKind::Work, static_cast<std::int8_t>(node), 0});
    }
    // Dots complete in order: the last one's wait is everybody's.
    for (int place = size - 1; loop.dotsEndInTrip && place >= 0; --place) {
      const NodeCost& cost = loop.nodes[schedule.order[place]];
      if (!cost.queued || cost.copy) continue;
      if (covered.add(false, place)) program.push_back({StepKind::Wait, static_cast<std::int8_t>(schedule.order[place]), 0});
      break;
    }
    covered.nextTrip(size);
  }
  if (turns && canTakeTurns(loop)) insertTurns(loop, program);
  return program;
}

}  // namespace fattn::gpu
