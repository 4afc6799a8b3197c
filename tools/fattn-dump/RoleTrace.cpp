// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-dump/RoleTrace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "compiler/gpu/schedule/Canvas.h"
#include "fattn/Error.h"

namespace fattn::dump {
namespace {

using Role = RoleTrace::Role;

struct Span {
  std::string what;
  double begin, end;
};

/// What a role did, from its marks.
struct Activity {
  std::vector<Span> waits, dots, copies;
};

bool starts(const std::string& text, std::string_view with, std::string& rest) {
  if (!text.starts_with(with)) return false;
  rest = text.substr(with.size());
  return true;
}

/// A dot is in flight from its issue, and behind the group's dots before it, to the end of the wait for it.
Activity activityOf(const Role& role) {
  Activity result;
  std::map<std::string, double> begun;
  std::map<std::string, std::vector<double>> issued;
  double lastDot = 0;
  for (const auto& [event, time] : role.events) {
    std::string what, dot;
    if (starts(event, "issue ", what)) {
      issued[what].push_back(time);
    } else if (starts(event, "begin ", what)) {
      begun[what] = time;
    } else if (starts(event, "end ", what) && begun.contains(what)) {
      const bool copies = starts(what, "copy ", dot);
      if (!copies) starts(what, "wait ", dot);
      (copies ? result.copies : result.waits).push_back({dot.empty() ? what : dot, begun[what], time});
      auto flight = issued.find(dot);
      if (copies || flight == issued.end() || flight->second.empty()) continue;
      result.dots.push_back({dot, std::max(flight->second.front(), lastDot), time});
      lastDot = time;
      flight->second.erase(flight->second.begin());
    }
  }
  return result;
}

bool isDot(const std::string& event) { return event.starts_with("issue ") || event.starts_with("begin dot "); }

/// The times at which a group begins trips of its loop: those of the dot that it does most often, the first of them in a trip. A barrier or
/// a turn may be waited for twice in a trip.
std::vector<double> tripsOf(const Role& role) {
  const bool hasDots = std::ranges::any_of(role.events, [](const auto& event) { return isDot(event.first); });
  std::map<std::string, std::vector<double>> times;
  for (const auto& [event, time] : role.events)
    if (hasDots ? isDot(event) : event.starts_with("begin ")) times[event].push_back(time);
  std::vector<double> most;
  for (const auto& [event, at] : times)
    if (at.size() > most.size() || (at.size() == most.size() && at.front() < most.front())) most = at;
  return most;
}

double median(std::vector<double> numbers) {
  std::ranges::nth_element(numbers, numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2));
  return numbers[numbers.size() / 2];
}

/// Two trips that together are about as long as two usual ones, as near to the middle as there are, else those whose length is nearest to
/// that. One of the two may take longer each time: groups own results in turns.
std::size_t usualTrips(const std::vector<double>& both, double usual) {
  const auto count = static_cast<std::ptrdiff_t>(both.size());
  auto difference = [&](std::ptrdiff_t at) { return std::fabs(both[static_cast<std::size_t>(at)] - usual); };
  std::ptrdiff_t nearest = 0;
  for (std::ptrdiff_t away = 0; away <= count; ++away)
    for (const std::ptrdiff_t at : {count / 2 - away, count / 2 + away}) {
      if (at < 0 || at >= count) continue;
      if (difference(at) < 0.1 * usual) return static_cast<std::size_t>(at);
      if (difference(at) < difference(nearest)) nearest = at;
    }
  return static_cast<std::size_t>(nearest);
}

/// What is drawn.
struct Window {
  double begin, end;
  double usual;       ///< cycles of a trip: half of the median of two that follow each other
  std::size_t trips;  ///< of how many that is
};

/// Nothing where the first role has no loop of three trips.
std::optional<Window> windowOf(const RoleTrace& trace) {
  const std::vector<double> trips = trace.roles.empty() ? std::vector<double>{} : tripsOf(trace.roles.front());
  if (trips.size() < 3) return std::nullopt;
  std::vector<double> both;
  for (std::size_t i = 2; i < trips.size(); ++i) both.push_back(trips[i] - trips[i - 2]);
  const double usual = std::max(median(both), 2.0);
  const std::size_t first = usualTrips(both, usual);
  return Window{.begin = trips[first], .end = trips[first + 2], .usual = usual / 2, .trips = trips.size() - 1};
}

std::string headOf(const RoleTrace& trace) {
  return fmt::format("kernel '{}' for {} on {}, launch {}, its first block", trace.kernel, trace.target, trace.device, trace.launch);
}

/// What is spent on each of these in a trip of usual length.
std::string sharesOf(const std::vector<Span>& spans, double begin, double end, double trips) {
  std::map<std::string, double> sums;
  for (const Span& span : spans)
    if (const double part = std::min(span.end, end) - std::max(span.begin, begin); part > 0) sums[span.what] += part;
  std::vector<std::string> texts;
  for (const auto& [what, sum] : sums)
    if (sum >= trips) texts.push_back(fmt::format("{} {:.0f}", what, sum / trips));
  return texts.empty() ? "nothing" : fmt::format("{}", fmt::join(texts, ", "));
}

void drawRole(const Role& role, double begin, double end, double usual, int width, std::string& text) {
  const gpu::Canvas canvas(begin, end, width);
  const Activity activity = activityOf(role);
  const bool copies = role.name == "copies";
  auto add = [&](const std::string& name, const std::string& row) { text += fmt::format("{:>8} {}\n", name, row); };
  if (!activity.dots.empty()) {
    std::string row;
    for (const Span& dot : activity.dots) canvas.draw(row, dot.begin, dot.end, dot.what, '=');
    add("dots", row);
  }
  std::string row(static_cast<std::size_t>(width), copies ? ' ' : '-');
  for (const Span& span : copies ? activity.copies : activity.waits) canvas.draw(row, span.begin, span.end, span.what, copies ? '=' : '.');
  add(role.name, row);
  const double trips = (end - begin) / usual;
  text += fmt::format("{:>8} {} {}\n", "", copies ? "copying, and waiting for slots, in a trip:" : "waits in a trip:",
                      sharesOf(copies ? activity.copies : activity.waits, begin, end, trips));
}

/// Rows for the dots, the waits and the work of each group, and for the copies.
class ChartWriter {
 public:
  explicit ChartWriter(const Window& window) {
    chart_.title = "Measured";
    chart_.begin = window.begin, chart_.end = window.end;
  }

  void add(const Role& role) {
    const Activity activity = activityOf(role);
    if (!activity.dots.empty()) {
      row("dots of " + role.name);
      for (const Span& dot : activity.dots) span(dot, "dot " + dot.what + ", in flight until it is waited for", false);
    }
    row(role.name);
    for (const Span& copy : activity.copies) span(copy, "copy " + copy.what + ", from the wait for its slot to its issue", false);
    if (!activity.copies.empty()) return;
    double worked = chart_.begin;
    for (const Span& wait : activity.waits) {
      span({"work", worked, wait.begin}, "everything between waits", false);
      span(wait, "", true);
      worked = std::max(worked, wait.end);
    }
    span({"work", worked, chart_.end}, "everything between waits", false);
  }

  Chart take() { return std::move(chart_); }

 private:
  void row(std::string name) { chart_.rows.push_back(std::move(name)); }

  void span(const Span& span, const std::string& what, bool waits) {
    const double begin = std::max(span.begin, chart_.begin), end = std::min(span.end, chart_.end);
    if (end <= begin) return;
    const int row = static_cast<int>(chart_.rows.size()) - 1;
    chart_.spans.push_back({.row = row, .node = nodeOf(span.what, what), .waits = waits, .begin = begin, .end = end});
  }

  int nodeOf(const std::string& name, const std::string& what) {
    const auto [known, fresh] = nodes_.try_emplace({name, what}, static_cast<int>(chart_.nodes.size()));
    if (fresh) chart_.nodes.push_back({.name = name, .what = what, .sources = {}});
    return known->second;
  }

  Chart chart_;
  std::map<std::pair<std::string, std::string>, int> nodes_;
};

}  // namespace

RoleTrace readRoleTrace(const std::string& file) try {
  std::ifstream stream(file);
  if (!stream) throw Error(ErrorCode::InvalidArgument, "cannot read the timeline '" + file + "'");
  const nlohmann::json json = nlohmann::json::parse(stream);
  RoleTrace trace{
      .kernel = json.at("kernel"), .target = json.at("target"), .device = json.at("device"), .launch = json.at("launch"), .roles = {}};
  for (const auto& role : json.at("roles")) {
    Role& into = trace.roles.emplace_back(Role{.name = role.at("name"), .full = role.at("full"), .events = {}});
    for (const auto& event : role.at("events")) into.events.emplace_back(event.at(0), event.at(1));
  }
  return trace;
} catch (const nlohmann::json::exception& error) {
  throw Error(ErrorCode::InvalidArgument, "'" + file + "' is no timeline of warp groups: " + error.what(),
              "a program that runs with FATTN_TRACE=FOLDER writes some there, one for each kernel that it launches on an NVIDIA GPU");
}

std::string drawRoleTrace(const RoleTrace& trace, int width) {
  std::string text = "measured: " + headOf(trace) + "\n";
  if (trace.roles.empty()) return text + "  no role noted anything\n";
  const std::optional<Window> window = windowOf(trace);
  if (!window) return text + "  no loop had three trips\n";
  const auto [begin, end, usual, count] = *window;
  text += fmt::format(
      "  {:.0f} cycles a trip, the median of {}; {:.0f} cycles in {} columns; dots: in flight, until they are waited for;\n"
      "  group rows: |what it waits for..., - everything else; copies: |name and = until it is issued\n",
      usual, count, end - begin, width);
  for (const Role& role : trace.roles) drawRole(role, begin, end, usual, width, text);
  for (const Role& role : trace.roles)
    if (role.full) text += fmt::format("  {} noted more, for which there was no room\n", role.name);
  return text;
}

std::optional<Chart> chartOf(const RoleTrace& trace) {
  const std::optional<Window> window = windowOf(trace);
  if (!window) return std::nullopt;
  ChartWriter writer(*window);
  for (const Role& role : trace.roles) writer.add(role);
  Chart chart = writer.take();
  chart.note = fmt::format("{}: {:.0f} cycles a trip, the median of {}", headOf(trace), window->usual, window->trips);
  return chart;
}

}  // namespace fattn::dump
