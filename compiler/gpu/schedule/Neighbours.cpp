// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/schedule/Neighbours.h"

#include <algorithm>

namespace fattn::gpu {
namespace {

/// Nodes in the order of issue, without the one that moves.
struct Others {
  int size = 0;
  std::array<std::uint8_t, kMaxNodes> order{};
};

Others without(const Schedule& schedule, int node) {
  Others others;
  for (int place = 0; place < schedule.size; ++place)
    if (schedule.order[place] != node) others.order[others.size++] = schedule.order[place];
  return others;
}

/// Whether the edges of a node are kept. Edges between other nodes always are: these keep their stages and their order.
bool isLegal(const CostedLoop& loop, int node, const std::array<int, kMaxNodes>& at) {
  return std::ranges::all_of(loop.edges, [&](const Edge& edge) {
    return (edge.from != node && edge.to != node) || at[edge.from] < at[edge.to] + edge.distance * loop.size();
  });
}

}  // namespace

std::vector<Schedule> neighbours(const CostedLoop& loop, const Schedule& schedule, int stages) {
  std::vector<Schedule> found;
  const int size = schedule.size;
  for (int node = 0; node < size; ++node) {
    const Others others = without(schedule, node);
    // canonical() moves all stages so that the lowest is 0: the node may stand before all others, or behind them.
    for (int stage = -stages; stage <= stages; ++stage)
      for (int place = 0; place < size; ++place) {
        std::array<int, kMaxNodes> at{};
        for (int i = 0; i < others.size; ++i) at[others.order[i]] = schedule.stage[others.order[i]] * size + i + (i >= place ? 1 : 0);
        at[node] = stage * size + place;
        if (!isLegal(loop, node, at)) continue;
        const Schedule moved = canonical(at, size);
        const bool isShallow = std::ranges::all_of(moved.stage, [&](int of) { return of < stages; });
        if (isShallow && moved != schedule && std::ranges::find(found, moved) == found.end()) found.push_back(moved);
      }
  }
  return found;
}

}  // namespace fattn::gpu
