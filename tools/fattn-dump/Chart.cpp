// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-dump/Chart.h"

#include <fmt/format.h>

#include <algorithm>

namespace fattn::dump {

std::optional<Chart> makeChart(const gpu::CostedLoop& loop, const gpu::Schedule& schedule, bool turns,
                               const std::vector<std::vector<compiler::SourceLine>>& sources) {
  gpu::Timeline timeline;
  const auto cycles = gpu::simulate(loop, gpu::makeProgram(loop, schedule, turns), {}, 0, &timeline);
  if (!cycles || timeline.end <= timeline.begin) return std::nullopt;
  Chart chart;
  chart.schedule = gpu::print(loop, schedule);
  chart.note = fmt::format("{:.0f} cycles a trip of {} group{}; the busiest unit, {}, works {:.0f}% of them", *cycles, loop.groups,
                           loop.groups == 1 ? "" : "s", gpu::name(loop.busiest()), *cycles > 0 ? 100 * loop.bound() / *cycles : 100);
  chart.begin = timeline.begin, chart.end = timeline.end;
  for (int n = 0; n < loop.size(); ++n) {
    const gpu::NodeCost& cost = loop.nodes[n];
    chart.nodes.push_back({loop.names[n],
                           fmt::format("{}, {:.0f} cycles alone", cost.queued ? cost.copy ? "copy" : "dot" : "arithmetic", cost.cycles),
                           n < static_cast<int>(sources.size()) ? sources[n] : std::vector<compiler::SourceLine>{}});
  }
  std::array<int, 2> queueRow = {-1, -1};
  for (const gpu::Span& span : timeline.spans)
    if (span.kind == gpu::StepKind::Issue) queueRow[loop.nodes[span.node].copy ? 1 : 0] = 0;
  for (int queue : {0, 1})
    if (queueRow[queue] == 0) {
      queueRow[queue] = static_cast<int>(chart.rows.size());
      chart.rows.emplace_back(queue == 0 ? "dots" : "copies");
    }
  const int groups = static_cast<int>(chart.rows.size());
  for (int group = 0; group < loop.groups; ++group) chart.rows.push_back(fmt::format("group {}", group));
  for (const gpu::Span& span : timeline.spans) {
    if (span.end <= timeline.begin || span.begin >= timeline.end) continue;
    const bool queued = span.kind == gpu::StepKind::Issue;
    chart.spans.push_back({queued ? queueRow[loop.nodes[span.node].copy ? 1 : 0] : groups + span.group, span.node,
                           !queued && span.kind != gpu::StepKind::Work, std::max(span.begin, timeline.begin),
                           std::min(span.end, timeline.end)});
  }
  return chart;
}

}  // namespace fattn::dump
