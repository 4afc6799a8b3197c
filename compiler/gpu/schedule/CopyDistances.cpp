// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/schedule/CopyDistances.h"

#include <algorithm>

namespace fattn::gpu {
namespace {

struct Readers {
  int first = 0, last = 0;  ///< stages
  bool runsOn = false;      ///< a reader of the last stage ends a trip later

  /// Trips from the first reader to the end of the last one.
  int late() const { return last - first + (runsOn ? 1 : 0); }
};

Readers readersOf(const Schedule& schedule, const std::vector<int>& nodes) {
  if (nodes.empty()) return {};
  const auto stageOf = [&](int node) { return static_cast<int>(schedule.stage[node]); };
  const auto [first, last] = std::ranges::minmax(nodes, {}, stageOf);
  Readers readers{.first = stageOf(first), .last = stageOf(last)};
  readers.runsOn = std::ranges::any_of(nodes, [&](int node) { return schedule.runsOn[node] && stageOf(node) == readers.last; });
  return readers;
}

}  // namespace

std::int64_t sharedBytes(const CostedLoop& loop, const Schedule& schedule) {
  std::int64_t bytes = loop.otherShared;
  for (std::size_t copy = 0; copy < loop.copies.size(); ++copy) bytes += slotsOf(loop, schedule, copy) * loop.copies[copy].slotBytes;
  for (const Exchanged& one : loop.exchanged) {
    const Readers readers = readersOf(schedule, one.readers);
    bytes += (readers.last - schedule.stage[one.filler] + (readers.runsOn ? 1 : 0) + 1) * one.slotBytes;
  }
  return bytes;
}

int slotsOf(const CostedLoop& loop, const Schedule& schedule, std::size_t copy) {
  const CopyAhead& one = loop.copies[copy];
  return readersOf(schedule, one.readers).late() + schedule.ahead[copy].value_or(static_cast<std::uint8_t>(one.most)) + 1;
}

Schedule withDistances(const CostedLoop& loop, Schedule schedule) {
  std::vector<std::size_t> late;  // copies that can run one trip less ahead
  for (std::size_t copy = 0; copy < loop.copies.size(); ++copy) {
    const CopyAhead& one = loop.copies[copy];
    if (schedule.ahead[copy]) continue;
    const Readers readers = readersOf(schedule, one.readers);
    const bool isShort = one.boxes && readers.runsOn && one.most > 1;
    schedule.ahead[copy] = static_cast<std::uint8_t>(one.most - (isShort ? 1 : 0));
    if (one.boxes && readers.late() > 0 && !isShort && one.most > 0) late.push_back(copy);
  }
  std::ranges::sort(late, {}, [&](std::size_t copy) { return std::pair(-loop.copies[copy].slotBytes, copy); });  // the largest first
  for (const std::size_t copy : late) {
    if (sharedBytes(loop, schedule) <= loop.blockShared) break;
    --*schedule.ahead[copy];
  }
  return schedule;
}

}  // namespace fattn::gpu
