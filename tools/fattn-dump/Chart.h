// SPDX-License-Identifier: Apache-2.0
// Two trips of a loop as a Gantt chart: which node occupies which unit of the machine when, as the compiler's simulator sees it, or what
// warp groups did when the kernel ran (RoleTrace.h).
#ifndef FATTN_TOOLS_FATTN_DUMP_CHART_H
#define FATTN_TOOLS_FATTN_DUMP_CHART_H

#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/Stage.h"
#include "compiler/gpu/schedule/ScheduledLoop.h"

namespace fattn::dump {

struct Chart {
  struct Node {
    std::string name;
    std::string what;                           ///< "dot 64 x 128 x 128, 256 cycles alone"
    std::vector<compiler::SourceLine> sources;  ///< its operations' lines
  };
  struct Span {
    int row = 0, node = -1;  ///< node -1: a wait for a turn
    bool waits = false;
    double begin = 0, end = 0;
    double part = 1;  ///< of the row's unit that the node takes
  };
  std::string title;     ///< "Schedule"
  std::string schedule;  ///< "S PV1 E L"
  std::string note;      ///< cycles a trip, and of a prediction how much of them the busiest unit works
  std::vector<Node> nodes;
  std::vector<std::string> rows;
  std::vector<Span> spans;
  double begin = 0, end = 0;
};

/// The loop in the schedule that the compiler took, as its search simulated it. Nothing where the machine table cannot price the loop.
std::optional<Chart> chartOf(const gpu::ScheduledLoop& loop);

/// Simulates the schedule. Nothing where its groups wait for each other for ever. `origins`: one a node, or empty.
std::optional<Chart> makeChart(const gpu::CostedLoop& loop, const gpu::Schedule& schedule, bool turns,
                               const std::vector<gpu::NodeOrigin>& origins = {});

}  // namespace fattn::dump

#endif
