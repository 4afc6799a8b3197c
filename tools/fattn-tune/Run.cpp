// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-tune/Run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "kernels/TunedAttention.h"
#include "tools/common/Terminal.h"
#include "tools/fattn-tune/Display.h"
#include "tools/fattn-tune/Interrupt.h"
#include "tools/fattn-tune/Report.h"

namespace fattn::tuner {
namespace {

constexpr double kSecondsPerProblem = 20;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// All problems are planned before the first is tuned: what is not supported is said at once.
std::vector<Result> planAll(const Options& options) {
  std::vector<Result> results;
  for (const AttentionConfig& problem : options.problems) {
    Result& result = results.emplace_back();
    result.plan = kernels::planTuning(problem);
    if (options.resume) result.winner = kernels::tunedStore().read(result.plan.key).winner;
    if (options.dryRun) result.status = Result::Status::Planned;
    if (result.winner) result.status = Result::Status::Known;
  }
  return results;
}

// An error of one problem, which may be that its operands do not fit into memory, is no reason not to tune the others; a lost device, or a
// cache that cannot be written, is one.
void tuneOne(const Options& options, Result& result, double budget, const Interrupt& interrupt, Display& display) try {
  result.outcome = kernels::tuneAttention(result.plan,
                                          {.budgetSeconds = budget,
                                           .jobs = options.jobs,
                                           .mustKeep = true,
                                           .resume = options.resume,
                                           .stop = interrupt.token(),
                                           .progress = [&](const tune::Progress& progress) { display.update(progress); }},
                                          kernels::tunedStore());
  result.winner = result.outcome.winner;
  result.status = result.winner ? Result::Status::Tuned : Result::Status::Cancelled;
} catch (const Error& error) {
  if (error.code() == ErrorCode::DeviceError || error.code() == ErrorCode::IoError) throw;
  result.status = Result::Status::Failed;
  result.error = error.constraint();
}

void tuneAll(const Options& options, std::vector<Result>& results, const Interrupt& interrupt) {
  std::size_t left = 0;
  for (const Result& result : results) left += result.status == Result::Status::NotReached ? 1 : 0;
  const double end = now() + options.budgetSeconds.value_or(kSecondsPerProblem * static_cast<double>(left));
  Display display(left);
  for (std::size_t problem = 0; Result& result : results) {
    if (result.status != Result::Status::NotReached) continue;
    const double share = (end - now()) / static_cast<double>(left--);  // what one problem leaves over is for the others
    if (share <= 0 || interrupt.happened()) break;
    display.begin(problem++, kernelText(result.plan.config) + " " + shapeText(result.plan.config));
    tuneOne(options, result, share, interrupt, display);
  }
}

}  // namespace

int run(const Options& options) {
  const Interrupt interrupt;
  const double begin = now();
  std::vector<Result> results = planAll(options);
  if (!options.dryRun) tuneAll(options, results, interrupt);
  const double seconds = now() - begin;
  fmt::print("{}", options.json ? printJson(results, seconds, interrupt.happened()) : printTable(results, seconds, tool::wantsColor()));
  if (interrupt.happened()) return tool::kInterrupted;
  const bool failed = std::ranges::find(results, Result::Status::Failed, &Result::status) != results.end();
  return failed ? tool::kFailure : tool::kOk;
}

}  // namespace fattn::tuner
