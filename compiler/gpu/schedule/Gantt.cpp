// SPDX-License-Identifier: Apache-2.0
// Spans of the simulation to rows of characters.
#include "compiler/gpu/schedule/Gantt.h"

#include <fmt/format.h>

#include "compiler/gpu/schedule/Canvas.h"

namespace fattn::gpu {

std::string drawGantt(const CostedLoop& loop, const Schedule& schedule, bool turns, const Overheads& overheads, int width) {
  Timeline timeline;
  const auto cycles = simulate(loop, makeProgram(loop, schedule, turns), overheads, 0, &timeline);
  if (!cycles || timeline.end <= timeline.begin) return "";
  const Canvas canvas(timeline.begin, timeline.end, width);
  std::array<std::string, 2> queues;
  std::vector<std::string> groups(loop.groups, std::string(width, ' '));
  for (const Span& span : timeline.spans) {
    const std::string name = span.node < 0 ? "" : loop.names[span.node];
    if (span.kind == StepKind::Issue)
      canvas.draw(queues[loop.nodes[span.node].copy ? 1 : 0], span.begin, span.end, fmt::format("{}:{}", name, span.group), '=');
    else if (span.kind == StepKind::Work)
      canvas.draw(groups[span.group], span.begin, span.end, name, '-');
    else
      canvas.fill(groups[span.group], span.begin, span.end, '.');
  }
  std::string text = fmt::format("{:.0f} cycles in {} columns; queue rows: node:group; group rows: |name-- works, ... waits\n",
                                 timeline.end - timeline.begin, width);
  if (!queues[0].empty()) text += fmt::format("{:>8} {}\n", "dots", queues[0]);
  if (!queues[1].empty()) text += fmt::format("{:>8} {}\n", "copies", queues[1]);
  for (int g = 0; g < loop.groups; ++g) text += fmt::format("{:>8} {}\n", fmt::format("group {}", g), groups[g]);
  return text;
}

}  // namespace fattn::gpu
