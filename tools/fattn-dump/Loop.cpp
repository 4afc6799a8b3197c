// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-dump/Loop.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/gpu/schedule/CopyDistances.h"
#include "compiler/gpu/schedule/Gantt.h"
#include "fattn/Error.h"

namespace fattn::dump {
namespace {

using compiler::SourceLine;
using gpu::ScheduledLoop;

/// Text whose lines know their sources.
class LinedText {
 public:
  explicit LinedText(compiler::Stage& stage) : stage(stage) {}
  void add(const std::string& line, std::vector<SourceLine> sources = {}) {
    stage.text += line + "\n";
    stage.lines.push_back(std::move(sources));
  }
  void addLines(const std::string& text) {
    for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
      end = std::min(text.find('\n', at), text.size());
      add(text.substr(at, end - at));
    }
  }

 private:
  compiler::Stage& stage;
};

/// "tensor 512, shared 128": what the node asks of the units.
std::string unitsOf(const gpu::NodeCost& cost) {
  std::vector<std::string> parts;
  for (int unit = 0; unit < gpu::kUnits; ++unit)
    if (cost.units[unit] >= 0.5) parts.push_back(fmt::format("{} {:.0f}", gpu::name(static_cast<gpu::Unit>(unit)), cost.units[unit]));
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

std::string counted(int number, const char* what) { return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s"); }

void addCopies(const ScheduledLoop& loop, LinedText& text) {
  if (!loop.costed || !loop.schedule) return;
  for (std::size_t c = 0; c < loop.model.copies.size(); ++c) {
    const gpu::CopyAhead& copy = loop.model.copies[c];
    const int trips = loop.schedule->ahead[c].value_or(static_cast<std::uint8_t>(copy.most));
    text.add(fmt::format("  {} = {}: {} ahead, {} of {} bytes", copy.name, loop.copied[c].what, counted(trips, "trip"),
                         counted(gpu::slotsOf(*loop.costed, *loop.schedule, c), "slot"), copy.slotBytes),
             loop.copied[c].sources);
  }
}

void addNodes(const ScheduledLoop& loop, LinedText& text) {
  for (std::size_t n = 0; n < loop.model.nodes.size(); ++n) {
    const gpu::Node& node = loop.model.nodes[n];
    std::string line = fmt::format("  {} = {}", node.name, loop.origins[n].what);
    if (loop.costed) line += fmt::format(": {:.0f} cycles alone{}", loop.costed->nodes[n].cycles, unitsOf(loop.costed->nodes[n]));
    text.add(line + fmt::format(", {} registers", node.registers), loop.origins[n].sources);
  }
  addCopies(loop, text);
  std::vector<std::string> edges;
  for (const gpu::Edge& edge : loop.model.edges)
    edges.push_back(fmt::format("{} -> {}{}{}", loop.model.nodes[edge.from].name, loop.model.nodes[edge.to].name,
                                edge.distance == 0   ? ""
                                : edge.distance == 1 ? " of the next trip"
                                                     : fmt::format(" of {} trips later", edge.distance),
                                edge.chained ? " (the accumulator)"
                                : edge.order ? " (the order of memory)"
                                             : ""));
  if (!edges.empty()) text.add(fmt::format("  needed by: {}", fmt::join(edges, ", ")));
}

void addLimits(const ScheduledLoop& loop, LinedText& text) {
  text.add(fmt::format(
      "  {} thread{} in a group of warps, {} group{} side by side; copies run {} trip{} ahead at most; {} registers are carried or fixed",
      loop.model.threads, loop.model.threads == 1 ? "" : "s", loop.model.groups, loop.model.groups == 1 ? "" : "s", loop.ahead,
      loop.ahead == 1 ? "" : "s", loop.model.fixedRegisters));
  if (!loop.costed) {
    if (loop.schedule) text.add("  the table has no cycles of its dots: nothing is simulated");
    return;
  }
  text.add(fmt::format("  {}: {} registers a thread and {} bytes of shared memory; busiest unit: {}, {:.0f} cycles a trip",
                       loop.costed->target, loop.costed->registerLimit, loop.costed->sharedLimit, gpu::name(loop.costed->busiest()),
                       loop.costed->bound()));
  if (!loop.costed->unpriced.empty())
    text.add(fmt::format("  no rate in the table, counted as issue slots only: {}", fmt::join(loop.costed->unpriced, ", ")));
}

/// The search's best; of a schedule that was asked for what the model says of it.
std::vector<gpu::Candidate> candidatesOf(const ScheduledLoop& loop) try {
  if (!loop.found.best.empty() || !loop.schedule || !loop.costed) return loop.found.best;
  return {gpu::evaluate(*loop.costed, *loop.schedule)};
} catch (const Error&) {
  return {};  // its groups wait for each other for ever
}

void addSearch(const ScheduledLoop& loop, LinedText& text) {
  const std::vector<gpu::Candidate> candidates = candidatesOf(loop);
  if (candidates.empty()) return;
  text.add(fmt::format("  {:>6} {:>7} {:>9} {:>9}  schedule", "cycles", "slowed", "one group", "registers"));
  for (const gpu::Candidate& each : candidates)
    text.add(fmt::format("  {:6.0f} {:7.0f} {:9.0f} {:9}  {}{}", each.cycles, each.stressed, each.alone, each.resources.registers,
                         gpu::print(loop.model, each.schedule), loop.schedule && *loop.schedule == each.schedule ? "  (taken)" : ""));
}

void addLoop(const ScheduledLoop& loop, int number, LinedText& text) {
  const std::string why = loop.why.empty() ? "as the tile configuration says" : loop.why;
  text.add(loop.schedule ? fmt::format("loop {}: schedule {}, {}", number, gpu::print(loop.model, *loop.schedule), why)
                         : fmt::format("loop {} keeps the order of its text: {}", number, why));
  if (loop.model.nodes.empty()) return;
  addLimits(loop, text);
  addNodes(loop, text);
  addSearch(loop, text);
  if (loop.schedule && loop.costed) text.addLines(gpu::drawGantt(*loop.costed, *loop.schedule, /*turns=*/false));
}

}  // namespace

compiler::Stage scheduleStage(const std::vector<ScheduledLoop>& loops, const std::string& measured) {
  compiler::Stage stage{kScheduleStage, "txt", "", {}};
  LinedText text(stage);
  if (loops.empty()) text.add("no loop is scheduled: none has dots or copies ahead");
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (i > 0) text.add("");
    addLoop(loops[i], static_cast<int>(i) + 1, text);
  }
  if (!measured.empty()) {
    text.add("");
    text.addLines(measured);
  }
  return stage;
}

}  // namespace fattn::dump
