// SPDX-License-Identifier: Apache-2.0
// Lifetimes on the circle of a trip's places.
#include "compiler/gpu/schedule/Resources.h"

#include <algorithm>

#include "compiler/gpu/schedule/CopyDistances.h"

namespace fattn::gpu {

Resources resources(const CostedLoop& loop, const Schedule& schedule) {
  const int size = schedule.size;
  const auto at = schedule.positions();
  std::array<int, kMaxNodes> end = at;  // the place behind the last one
  for (int node = 0; node < size; ++node) ++end[node];
  for (const auto& [from, to, distance, chained, reuse, order] : loop.edges)
    if (!order) end[from] = std::max(end[from], at[to] + distance * size + (reuse ? 0 : loop.nodes[to].queued ? 2 : 1));
  Resources result;
  std::array<int, kMaxNodes> alive{};
  result.shared = loop.fixedShared;
  if (!loop.copies.empty()) result.shared += sharedBytes(loop, withDistances(loop, schedule));
  for (int node = 0; node < size; ++node) {
    result.lateStages += schedule.stage[node];
    if (loop.registers[node] == 0 && loop.shared[node] == 0) continue;
    const int length = end[node] - at[node], whole = length / size, rest = length % size;
    if (whole > 0)
      for (int place = 0; place < size; ++place) alive[place] += whole * loop.registers[node];
    for (int i = 0, place = at[node] % size; i < rest; ++i) {
      alive[place] += loop.registers[node];
      if (++place == size) place = 0;
    }
    const int copies = whole + (rest > 0 ? 1 : 0);
    result.shared += copies * loop.shared[node];
    result.moves += (copies - 1) * loop.registers[node];
  }
  for (int place = 0; place < size; ++place) alive[place] += loop.working[schedule.order[place]];
  result.registers = loop.fixedRegisters + *std::max_element(alive.begin(), alive.begin() + std::max(size, 1));
  return result;
}

}  // namespace fattn::gpu
