// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/schedule/Neighbours.h"

#include <algorithm>

namespace fattn::gpu {
namespace {

/// What moves as one: a node, or nodes that begin together.
using Moving = std::vector<int>;

bool isIn(const Moving& nodes, int node) { return std::ranges::find(nodes, node) != nodes.end(); }

std::vector<Moving> unitsOf(const CostedLoop& loop) {
  std::vector<Moving> units = loop.together;
  for (int node = 0; node < loop.size(); ++node)
    if (std::ranges::none_of(loop.together, [&](const Moving& unit) { return isIn(unit, node); })) units.push_back({node});
  std::ranges::sort(units);
  return units;
}

/// Nodes in the order of issue, without those that move.
std::vector<int> without(const Schedule& schedule, const Moving& unit) {
  std::vector<int> others;
  for (int place = 0; place < schedule.size; ++place)
    if (!isIn(unit, schedule.order[place])) others.push_back(schedule.order[place]);
  return others;
}

/// Whether the edges of the unit are kept. Edges between other nodes always are: these keep their stages and their order.
bool isLegal(const CostedLoop& loop, const Moving& unit, const std::array<int, kMaxNodes>& at) {
  return std::ranges::all_of(loop.edges, [&](const Edge& edge) {
    return (!isIn(unit, edge.from) && !isIn(unit, edge.to)) || at[edge.from] < at[edge.to] + edge.distance * loop.size();
  });
}

}  // namespace

std::vector<Schedule> neighbours(const CostedLoop& loop, const Schedule& schedule, int stages) {
  std::vector<Schedule> found;
  const int size = schedule.size;
  for (const Moving& unit : unitsOf(loop)) {
    const std::vector<int> others = without(schedule, unit);
    const int length = static_cast<int>(unit.size());
    // canonical() moves all stages so that the lowest is 0: the unit may stand before all others, or behind them.
    for (int stage = -stages; stage <= stages; ++stage)
      for (int place = 0; place + length <= size; ++place) {
        std::array<int, kMaxNodes> at{};
        for (int i = 0; i < static_cast<int>(others.size()); ++i)
          at[others[i]] = schedule.stage[others[i]] * size + i + (i >= place ? length : 0);
        for (int i = 0; i < length; ++i) at[unit[i]] = stage * size + place + i;
        if (!isLegal(loop, unit, at)) continue;
        const Schedule moved = canonical(at, size);
        const bool isShallow = std::ranges::all_of(moved.stage, [&](int of) { return of < stages; });
        if (isShallow && moved != schedule && keepsGroups(loop, moved) && std::ranges::find(found, moved) == found.end())
          found.push_back(moved);
      }
  }
  return found;
}

}  // namespace fattn::gpu
