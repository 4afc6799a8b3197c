// SPDX-License-Identifier: Apache-2.0
// A loop and how its schedule was chosen: the very model, costs and search that the compiler worked with, for tools that show them.
#ifndef FATTN_COMPILER_GPU_SCHEDULE_SCHEDULEDLOOP_H
#define FATTN_COMPILER_GPU_SCHEDULE_SCHEDULEDLOOP_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/gpu/schedule/Search.h"
#include "compiler/text/SourceLine.h"

namespace fattn::gpu {

/// What a node of a loop stands for.
struct NodeOrigin {
  std::string what;                           ///< "dot 64 x 128 x 128", "12 operations from math.exp2"
  int operations = 0;                         ///< of the program
  std::vector<compiler::SourceLine> sources;  ///< their lines, each once, in order
};

struct ScheduledLoop {
  LoopModel model;
  std::vector<NodeOrigin> origins;   ///< of each node of the model
  std::vector<NodeOrigin> copied;    ///< of each copy of the model
  int ahead = 0;                     ///< trips that the copies from global memory run ahead of their use at most
  std::optional<CostedLoop> costed;  ///< priced, with the limits that the search kept; none where the table cannot price the loop, which
                                     ///< may have a schedule by name
  std::optional<Schedule> schedule;  ///< the one taken; none: the loop keeps the order of its text
  SearchResult found;                ///< what the search said; `best` is empty where nothing was searched
  std::string why;  ///< "of 7 legal, 3 that fit", "of 2011 legal that a walk looked at, 900 that fit", or why the order of the text stays;
                    ///< empty where the schedule was forced

  /// Dots of a trip.
  int dots() const;
  /// Operations of all nodes.
  int operations() const;
};

/// Gets each loop when its schedule is chosen. Must not throw: it is called from within a pass.
using ScheduledLoopSink = std::function<void(ScheduledLoop)>;

/// The loop with the most dots, of several the one with the fewest operations: where a loop was split, the part without masks.
/// Null where no loop has dots.
const ScheduledLoop* busiest(const std::vector<ScheduledLoop>& loops);

/// The order of the text as a schedule of as many nodes.
Schedule textOrder(int nodes);

}  // namespace fattn::gpu

#endif
