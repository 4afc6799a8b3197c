// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-dump/Chart.h"

#include <fmt/format.h>

#include <algorithm>

namespace fattn::dump {
namespace {

std::string kindOf(const gpu::NodeCost& cost) {
  if (cost.copy) return "copy";
  return cost.units[static_cast<int>(gpu::Unit::Tensor)] > 0 ? "dot" : "arithmetic";
}

/// Rows for the queues that are in use and for the groups, and what is on them.
void addGroups(const gpu::CostedLoop& loop, const gpu::Timeline& timeline, Chart& chart) {
  std::array<int, 2> queueRow = {-1, -1};
  for (const gpu::Span& span : timeline.spans)
    if (span.kind == gpu::StepKind::Issue && loop.nodes[span.node].cycles > 0) queueRow[loop.nodes[span.node].copy ? 1 : 0] = 0;
  for (int queue : {0, 1})
    if (queueRow[queue] == 0) {
      queueRow[queue] = static_cast<int>(chart.rows.size());
      chart.rows.emplace_back(queue == 0 ? "dots" : "copies");
    }
  const int groups = static_cast<int>(chart.rows.size());
  for (int group = 0; group < loop.groups; ++group) chart.rows.push_back(fmt::format("group {}", group));
  for (const gpu::Span& span : timeline.spans) {
    const bool queued = span.kind == gpu::StepKind::Issue;
    const int row = queued ? queueRow[loop.nodes[span.node].copy ? 1 : 0] : groups + span.group;
    if (row >= 0) chart.spans.push_back({row, span.node, !queued && span.kind != gpu::StepKind::Work, span.begin, span.end, 1});
  }
}

/// A row for each unit that arithmetic (and synchronous dots) keeps busy for a twentieth of the time at least.
void addUnits(const gpu::CostedLoop& loop, const gpu::Timeline& timeline, double cycles, Chart& chart) {
  for (int unit = 0; unit < gpu::kUnits; ++unit) {
    if (unit == static_cast<int>(gpu::Unit::Issue) || unit == static_cast<int>(gpu::Unit::Copy)) continue;
    double busy = 0;
    for (const gpu::NodeCost& node : loop.nodes)
      if (!node.queued) busy += node.units[unit] * loop.groups;
    if (busy < 0.05 * cycles) continue;
    const int row = static_cast<int>(chart.rows.size());
    chart.rows.emplace_back(gpu::name(static_cast<gpu::Unit>(unit)));
    for (const gpu::Span& span : timeline.spans) {
      if (span.kind != gpu::StepKind::Work || span.end <= span.begin) continue;
      const double part = std::min(1.0, loop.nodes[span.node].units[unit] / (span.end - span.begin));
      if (part > 0.02) chart.spans.push_back({row, span.node, false, span.begin, span.end, part});
    }
  }
}

}  // namespace

std::optional<Chart> makeChart(const gpu::CostedLoop& loop, const gpu::Schedule& schedule, bool turns,
                               const std::vector<gpu::NodeOrigin>& origins) {
  gpu::Timeline timeline;
  const auto cycles = gpu::simulate(loop, gpu::makeProgram(loop, schedule, turns), {}, 0, &timeline);
  if (!cycles || timeline.end <= timeline.begin) return std::nullopt;
  Chart chart;
  chart.title = "Schedule";
  chart.schedule = gpu::print(loop, schedule);
  chart.note =
      fmt::format("predicted: {:.0f} cycles a trip of {} group{}; the busiest unit, {}, works {:.0f}% of them", *cycles, loop.groups,
                  loop.groups == 1 ? "" : "s", gpu::name(loop.busiest()), *cycles > 0 ? 100 * loop.bound() / *cycles : 100);
  chart.begin = timeline.begin, chart.end = timeline.end;
  for (int n = 0; n < loop.size(); ++n) {
    const gpu::NodeOrigin* origin = n < static_cast<int>(origins.size()) ? &origins[n] : nullptr;
    chart.nodes.push_back(
        {loop.names[n],
         fmt::format("{}, {:.0f} cycles alone", origin != nullptr ? origin->what : kindOf(loop.nodes[n]), loop.nodes[n].cycles),
         origin != nullptr ? origin->sources : std::vector<compiler::SourceLine>{}});
  }
  addGroups(loop, timeline, chart);
  addUnits(loop, timeline, *cycles, chart);
  std::erase_if(chart.spans, [&](const Chart::Span& span) { return span.end <= timeline.begin || span.begin >= timeline.end; });
  for (Chart::Span& span : chart.spans) {
    span.begin = std::max(span.begin, timeline.begin);
    span.end = std::min(span.end, timeline.end);
  }
  return chart;
}

std::optional<Chart> chartOf(const gpu::ScheduledLoop& loop) {
  if (!loop.costed) return std::nullopt;
  auto chart = makeChart(*loop.costed, loop.schedule.value_or(gpu::textOrder(loop.costed->size())), /*turns=*/false, loop.origins);
  if (!chart) return chart;
  if (!loop.schedule)
    chart->note += "; the order of the text: " + loop.why;
  else
    chart->note += loop.why.empty() ? "; the order that the tile configuration names" : "; the search's choice " + loop.why;
  if (loop.ahead > 0) chart->note += fmt::format("; copies run {} trip{} ahead", loop.ahead, loop.ahead == 1 ? "" : "s");
  return chart;
}

}  // namespace fattn::dump
