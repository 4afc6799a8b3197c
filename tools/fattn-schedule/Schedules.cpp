// SPDX-License-Identifier: Apache-2.0
// Reads a loop model, searches or takes the forced schedule, and prints.
#include "tools/fattn-schedule/Schedules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "compiler/gpu/schedule/Gantt.h"
#include "compiler/gpu/schedule/Search.h"
#include "fattn/Error.h"
#include "fattn/Version.h"
#include "tools/common/Program.h"
#include "tools/fattn-schedule/Json.h"
#include "tools/io/File.h"

namespace fattn::schedule {
namespace {

using gpu::Candidate;
using gpu::CostedLoop;
using gpu::SearchResult;

constexpr const char* kDescription =
    "Ranks the legal schedules of a loop: in which order one trip issues its dots, copies and arithmetic, and of which iteration each.";
constexpr const char* kFooter = R"(
Examples:
  fattn-schedule loop.json
      the best 8 schedules and a drawing of the first
  fattn-schedule loop.json --force "S PV1 E L" --turns
      what the model says of one schedule
  fattn-schedule loop.json --target nvidia:sm_80 --json

docs/schedule.md describes the model, its limits and the file.
Exit codes: 0 success, 1 failure, 2 wrong usage.)";

struct Options {
  std::string file, target = "nvidia:sm_90a", force;
  gpu::SearchOptions search;
  int width = 96;
  bool json = false;
};

std::string read(const std::string& file, std::istream& in) {
  constexpr std::size_t kMost = std::size_t{16} << 20;
  if (file != "-") return io::readText(file, kMost, "give the path of a loop model, or - for the standard input");
  std::string text(kMost + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMost) throw Error(ErrorCode::IoError, fmt::format("the standard input has more than {} bytes", kMost));
  return text;
}

double utilization(const CostedLoop& loop, const Candidate& c) { return c.cycles > 0 ? 100 * loop.bound() / c.cycles : 100; }

std::string printTable(const CostedLoop& loop, const SearchResult& found, const Options& options) {
  const std::string limits = fmt::format("{} registers and {} bytes of shared memory", loop.registerLimit, loop.sharedLimit);
  std::string text = options.force.empty() ? fmt::format("{}: {}{} legal schedules, {} within {}\n", loop.target,
                                                         found.complete ? "" : "looked at ", found.legal, found.fitting, limits)
                                           : fmt::format("{}: a forced schedule; the limits are {}\n", loop.target, limits);
  text += fmt::format("busiest unit: {}, {:.0f} cycles a trip of {} group{}\n", name(found.busiest), found.bound, loop.groups,
                      loop.groups == 1 ? "" : "s");
  if (!loop.unpriced.empty())
    text += fmt::format("no rate in the table, counted as issue slots only: {}\n", fmt::join(loop.unpriced, ", "));
  text += fmt::format("\n{:>6} {:>7} {:>5} {:>8} {:>9} {:>7}  {}\n", "cycles", "slowed", "busy", "one group", "registers", "shared",
                      "schedule");
  for (const Candidate& c : found.best)
    text += fmt::format("{:6.0f} {:7.0f} {:4.0f}% {:9.0f} {:9} {:7}  {}{}\n", c.cycles, c.stressed, utilization(loop, c), c.alone,
                        c.resources.registers, c.resources.shared, print(loop, c.schedule),
                        c.resources.registers > loop.registerLimit || c.resources.shared > loop.sharedLimit ? "  (does not fit)" : "");
  if (!found.best.empty())
    text += "\n" + gpu::drawGantt(loop, found.best.front().schedule, options.search.turns, options.search.overheads, options.width);
  return text;
}

std::string printJson(const CostedLoop& loop, const SearchResult& found, double milliseconds) {
  nlohmann::ordered_json document = {{"target", loop.target},
                                     {"legal", found.legal},
                                     {"fitting", found.fitting},
                                     {"simulated", found.simulated},
                                     {"complete", found.complete},
                                     {"bound_cycles", found.bound},
                                     {"busiest", name(found.busiest)},
                                     {"register_limit", loop.registerLimit},
                                     {"shared_limit", loop.sharedLimit},
                                     {"unpriced", loop.unpriced},
                                     {"search_ms", milliseconds},
                                     {"schedules", nlohmann::json::array()}};
  for (const Candidate& c : found.best)
    document["schedules"].push_back({{"schedule", print(loop, c.schedule)},
                                     {"cycles", c.cycles},
                                     {"slowed_cycles", c.stressed},
                                     {"one_group_cycles", c.alone},
                                     {"utilization", utilization(loop, c) / 100},
                                     {"registers", c.resources.registers},
                                     {"shared_bytes", c.resources.shared},
                                     {"moves", c.resources.moves}});
  return document.dump() + "\n";
}

void run(const Options& options, std::istream& in, std::ostream& out) {
  const CostedLoop loop = cost(parseLoop(read(options.file, in)), gpu::findTarget(options.target));
  SearchResult found;
  const auto start = std::chrono::steady_clock::now();
  if (options.force.empty()) {
    found = search(loop, options.search);
  } else {
    found = {.legal = 1, .bound = loop.bound(), .busiest = loop.busiest()};
    found.best = {evaluate(loop, forceSchedule(loop, options.force), options.search)};
    const auto& needs = found.best[0].resources;
    found.fitting = needs.registers <= loop.registerLimit && needs.shared <= loop.sharedLimit ? 1 : 0;
  }
  const double milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  out << (options.json ? printJson(loop, found, milliseconds) : printTable(loop, found, options));
}

}  // namespace

int runSchedules(std::vector<std::string> arguments, std::istream& in, std::ostream& out, std::ostream& err) {
  Options options;
  CLI::App app(kDescription, "fattn-schedule");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string(version()));
  app.add_option("file", options.file, "loop model (JSON), or - for the standard input")->required();
  app.add_option("--target", options.target, fmt::format("row of the machine table: {}", fmt::join(gpu::targetNames(), ", ")))
      ->capture_default_str();
  app.add_option("--force", options.force, "a schedule instead of a search, as it is printed: \"S PV1 E L\"");
  app.add_option("--best", options.search.best, "schedules to print")->capture_default_str()->check(CLI::Range(1, 100000));
  app.add_option("--stages", options.search.stages, "iterations that one trip works on at most")
      ->capture_default_str()
      ->check(CLI::Range(1, gpu::kMaxStages));
  app.add_option("--width", options.width, "columns of the drawing")->capture_default_str()->check(CLI::Range(16, 1000));
  app.add_flag("--turns", options.search.turns, "groups issue their dots one after the other");
  app.add_flag("--json", options.json, "one JSON object instead of a table");
  try {
    const auto shown = tool::readWords(app, arguments, [] {});
    if (!shown) {
      err << "fattn-schedule: " << shown.error().message << "\n  hint: " << shown.error().hint << "\n";
      return tool::kUsage;
    }
    if (shown->empty())
      run(options, in, out);
    else
      out << *shown;
    return tool::kOk;
  } catch (const Error& error) {
    err << "fattn-schedule: " << error.what() << "\n";
    return 1;
  }
}

}  // namespace fattn::schedule
