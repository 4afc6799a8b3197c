// SPDX-License-Identifier: Apache-2.0
// Depth-first enumeration of legal canonical schedules.
#include "compiler/gpu/schedule/Enumerate.h"

#include <algorithm>

namespace fattn::gpu {
namespace {

/// Stages that a node may still take.
struct Range {
  int low = 0, high = 0;
};
using Ranges = std::array<Range, kMaxNodes>;

class Enumerator {
 public:
  Enumerator(const CostedLoop& loop, int stages, std::size_t limit) : loop_(loop), limit_(limit) {
    current_.size = loop.size();
    for (Range& range : start_) range.high = stages - 1;
  }

  Enumeration run() {
    place(0, start_);
    return std::move(result_);
  }

 private:
  void place(int position, const Ranges& ranges) {
    if (position == loop_.size()) return finish();
    for (int node = 0; node < loop_.size() && result_.complete; ++node) {
      if (isPlaced(node)) continue;
      // The first node has stage 0: this is what makes a schedule canonical.
      const int high = position == 0 ? 0 : ranges[node].high;
      for (int stage = ranges[node].low; stage <= high; ++stage) {
        Ranges next = ranges;
        if (!keepsGroups(position, node, stage) || !narrow(node, stage, next)) continue;
        placed_ |= 1U << node;
        current_.order[position] = static_cast<std::uint8_t>(node);
        current_.stage[node] = static_cast<std::uint8_t>(stage);
        place(position + 1, next);
        placed_ &= ~(1U << node);
      }
    }
  }

  bool isPlaced(int node) const { return (placed_ >> node & 1U) != 0; }

  /// Whether the node may stand there: nodes that begin together follow each other, and a tile that is exchanged within a trip has one
  /// stage.
  bool keepsGroups(int position, int node, int stage) const {
    const int before = position == 0 ? -1 : current_.order[position - 1];
    for (const std::vector<int>& nodes : loop_.together)
      for (std::size_t i = 1; i < nodes.size(); ++i)
        if ((nodes[i - 1] == before) != (nodes[i] == node) || (nodes[i] == node && stage != current_.stage[before])) return false;
    const auto differs = [&](int other) { return isPlaced(other) && current_.stage[other] != stage; };
    for (const std::vector<int>& nodes : loop_.oneTrip)
      if (std::ranges::find(nodes, node) != nodes.end() && std::ranges::any_of(nodes, differs)) return false;
    return true;
  }

  /// Neighbours that are not placed yet come later in the trip: a successor's stage plus the distance is at least ours, ours plus the
  /// distance is more than a predecessor's stage.
  bool narrow(int node, int stage, Ranges& ranges) const {
    for (const auto& [from, to, distance, chained, reuse, order] : loop_.edges) {
      if (from == to) continue;  // of distance 1: always satisfied
      const int other = from == node ? to : from;
      if ((from != node && to != node) || isPlaced(other)) continue;
      Range& range = ranges[other];
      if (from == node)
        range.low = std::max(range.low, stage - distance);
      else
        range.high = std::min(range.high, stage + distance - 1);
      if (range.low > range.high) return false;
    }
    return true;
  }

  void finish() {
    if (result_.schedules.size() == limit_)
      result_.complete = false;
    else
      result_.schedules.push_back(current_);
  }

  const CostedLoop& loop_;
  std::size_t limit_;
  Ranges start_{};
  unsigned placed_ = 0;
  Schedule current_;
  Enumeration result_;
};

}  // namespace

Enumeration enumerate(const CostedLoop& loop, int stages, std::size_t limit) { return Enumerator(loop, stages, limit).run(); }

}  // namespace fattn::gpu
