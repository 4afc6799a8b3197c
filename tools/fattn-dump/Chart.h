// SPDX-License-Identifier: Apache-2.0
// The schedule of a loop as a Gantt chart: which node occupies which unit of the machine when, as the compiler's simulator sees it.
#ifndef FATTN_TOOLS_FATTN_DUMP_CHART_H
#define FATTN_TOOLS_FATTN_DUMP_CHART_H

#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/Stage.h"
#include "compiler/gpu/schedule/Simulator.h"
#include "tools/fattn-dump/Loop.h"

namespace fattn::dump {

struct Chart {
  struct Node {
    std::string name;
    std::string what;                           ///< "dot, 256 cycles"
    std::vector<compiler::SourceLine> sources;  ///< its operations' lines
  };
  struct Span {
    int row = 0, node = -1;  ///< node -1: a wait for a turn
    bool waits = false;
    double begin = 0, end = 0;
    double part = 1;  ///< of the row's unit that the node takes
  };
  std::string schedule;  ///< "S PV1 E L"
  std::string note;      ///< cycles a trip and how much of them the busiest unit works
  std::vector<Node> nodes;
  std::vector<std::string> rows;
  std::vector<Span> spans;
  double begin = 0, end = 0;
};

/// A loop in the order of its text, with its copies ahead: `programs` of them side by side on an SM, and beside it in words what the
/// search finds best. Nothing where the machine table lacks a figure for it.
std::optional<Chart> chartOf(const TileLoop& loop, const std::string& target, int programs);

/// Simulates the schedule. Nothing where its groups wait for each other for ever. `sources`: a list a node, or empty.
std::optional<Chart> makeChart(const gpu::CostedLoop& loop, const gpu::Schedule& schedule, bool turns,
                               const std::vector<std::vector<compiler::SourceLine>>& sources = {});

}  // namespace fattn::dump

#endif
