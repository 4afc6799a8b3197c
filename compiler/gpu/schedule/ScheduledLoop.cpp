// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/schedule/ScheduledLoop.h"

#include <algorithm>
#include <utility>

namespace fattn::gpu {

int ScheduledLoop::dots() const {
  return static_cast<int>(std::ranges::count_if(model.nodes, [](const Node& node) { return node.kind == NodeKind::Dot; }));
}

int ScheduledLoop::operations() const {
  int all = 0;
  for (const NodeOrigin& origin : origins) all += origin.operations;
  return all;
}

const ScheduledLoop* busiest(const std::vector<ScheduledLoop>& loops) {
  const ScheduledLoop* best = nullptr;
  const auto rank = [](const ScheduledLoop& loop) { return std::pair(-loop.dots(), loop.operations()); };
  for (const ScheduledLoop& loop : loops)
    if (loop.dots() > 0 && (best == nullptr || rank(loop) < rank(*best))) best = &loop;
  return best;
}

Schedule textOrder(int nodes) {
  Schedule schedule{.size = nodes};
  for (int node = 0; node < nodes; ++node) schedule.order[node] = static_cast<std::uint8_t>(node);
  return schedule;
}

}  // namespace fattn::gpu
