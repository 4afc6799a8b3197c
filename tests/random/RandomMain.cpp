// SPDX-License-Identifier: Apache-2.0
// Reads the options of a campaign, runs it, tells on the way how far it is, and prints what was found.
#include "tests/random/RandomMain.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "fattn/Error.h"
#include "tests/random/Again.h"
#include "tests/random/Campaign.h"
#include "tests/random/Report.h"
#include "tests/random/Serve.h"

namespace fattn::random {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Writes each result to the record, failures to the terminal as they come, and every now and then how far it is.
class Progress {
 public:
  explicit Progress(const CampaignOptions& options) {
    if (options.record.empty()) return;
    record_.open(options.record);
    if (!record_) throw Error(ErrorCode::IoError, fmt::format("'{}' cannot be written", options.record));
  }
  void see(const Result& result) {
    report_.add(result);
    if (record_.is_open()) record_ << describe(result) << std::endl;
    Verdict verdict = result.outcome.verdict;
    if (verdict != Verdict::Agreed && verdict != Verdict::Refused && ++shown_ <= kShown) fmt::print("{}\n", describe(result));
    if (secondsSince(said_) < kEverySeconds) return;
    said_ = Clock::now();
    fmt::print("{} draws so far: {} refused, {} wrong, {} crashed, {} timed out\n", report_.draws(), report_.count(Verdict::Refused),
               report_.count(Verdict::Wrong), report_.count(Verdict::Crashed), report_.count(Verdict::TimedOut));
    std::fflush(stdout);
  }
  const Report& report() const { return report_; }

 private:
  static constexpr double kEverySeconds = 20;
  static constexpr int kShown = 40;
  Report report_;
  std::ofstream record_;
  int shown_ = 0;
  Clock::time_point said_ = Clock::now();
};

int runCampaign(const CampaignOptions& given) {
  CampaignOptions options = completed(given);
  Device& device = openDevice(options.device);
  fmt::print("{}: {}, driver {}\n", device.name(), device.description(), device.driverVersion());
  Progress progress(options);
  Clock::time_point begin = Clock::now();
  std::vector<Result> results = runDraws(options, [&](const Result& result) { progress.see(result); });
  double seconds = secondsSince(begin);
  fmt::print("{}", progress.report().table());
  std::string source = options.programs.empty() ? fmt::format("seed {}", options.seed) : options.programs;
  fmt::print("{}; from {} in {:.1f} s, {} processes\n", progress.report().summary(), source, seconds,
             options.inProcess ? 1 : options.processes);
  std::fflush(stdout);
  if (!options.inProcess && options.programs.empty()) runAgain(options, results);
  return progress.report().good(options.allowRefusals) ? 0 : 1;
}

}  // namespace

int randomMain(int argc, char** argv, std::vector<std::string> self) {
  CampaignOptions options;
  options.self = std::move(self);
  bool worker = false;
  CLI::App app("Runs random tile programs on a device and compares what they write with the interpreter.");
  app.add_option("--draws,-n", options.draws, "How many draws of a program and a configuration")->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of the first draw; the others follow it")->capture_default_str();
  app.add_option("--draw", options.only, "This draw alone, as a report names it: \"program=7 stages=2 ...\"");
  app.add_option("--programs", options.programs, "A folder: the programs in it instead, each in every configuration");
  app.add_option("--device", options.device, "cuda, cuda:1, host")->capture_default_str();
  app.add_option("--targets", options.targets, "Chips to compile for, drawn from (default: the device's)")->delimiter(',');
  app.add_option("--processes,-j", options.processes, "Workers (default: one a core)");
  app.add_option("--limit", options.limitSeconds, "Seconds for a draw")->capture_default_str();
  app.add_option("--seconds", options.totalSeconds, "Begin no other draw after so many seconds");
  app.add_option("--record", options.record, "Write a line for each draw to this file");
  app.add_option("--reduce", options.reduce, "Failures to run again alone and to reduce, at the most")->capture_default_str();
  app.add_flag("--allow-known-refusals", options.allowRefusals, "Refusals that are known are no failures");
  app.add_flag("--in-process", options.inProcess, "Everything in this process, one after the other; for compute-sanitizer");
  app.add_flag("--worker", worker)->group("");
  CLI11_PARSE(app, argc, argv);
  try {
    return worker ? serve(options.device) : runCampaign(options);
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}

}  // namespace fattn::random
