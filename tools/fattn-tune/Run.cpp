// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-tune/Run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "kernels/attention/AttentionSupport.h"
#include "runtime/tune/Watchdog.h"
#include "tools/common/Interrupt.h"
#include "tools/common/Terminal.h"
#include "tools/fattn-tune/AttentionProblem.h"
#include "tools/fattn-tune/Display.h"
#include "tools/fattn-tune/Report.h"

namespace fattn::tuner {
namespace {

constexpr double kSecondsPerProblem = 20;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::int64_t nowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// What a process takes over from those that were given up before it.
struct Attempt {
  const Options& options;
  std::int64_t beganMs;  // of the first one
  tuning::Watched& watched;
  std::span<const tuning::Blame> blamed;

  bool resumes() const { return options.resume || !blamed.empty(); }
  std::int64_t knownSinceMs() const { return options.resume ? 0 : beganMs; }
};

// All problems are planned before the first is tuned: what is not supported is said at once.
std::vector<Result> planAll(const Attempt& attempt) {
  const Options& options = attempt.options;
  std::vector<Result> results;
  for (const AttentionConfig& problem : options.problems) {
    Result& result = results.emplace_back();
    result.plan = kernels::planTuning(problem);
    const kernels::ResolvedAttention resolved = kernels::resolve(problem);
    result.config = kernels::configOf(resolved.kind, resolved.target, resolved.tile);
    result.config.shape = kernels::tunedShape(problem);
    if (!options.dryRun) kernels::recordBlame(result.plan, attempt.blamed, kernels::tunedStore());
    if (attempt.resumes()) result.winner = kernels::tunedStore().read(result.plan.key).winner;
    if (result.winner && (result.winner->untried != 0 || result.winner->timeMs < attempt.knownSinceMs())) result.winner.reset();
    if (options.dryRun) result.status = Result::Status::Planned;
    if (result.winner) result.status = Result::Status::Known;
  }
  return results;
}

// An error of one problem, which may be that its operands do not fit into memory, is no reason not to tune the others; a lost device, or a
// cache that cannot be written, is one.
void tuneOne(const Attempt& attempt, Result& result, double budget, const tool::Interrupt& interrupt, Display& display) try {
  result.outcome = kernels::runTuning(result.plan,
                                      {.budgetSeconds = budget,
                                       .jobs = attempt.options.jobs,
                                       .mustKeep = true,
                                       .resume = attempt.resumes(),
                                       .knownSinceMs = attempt.knownSinceMs(),
                                       .watched = &attempt.watched,
                                       .stop = interrupt.token(),
                                       .progress = [&](const tuning::Progress& progress) { display.update(progress); }},
                                      kernels::tunedStore());
  result.winner = result.outcome.winner;
  result.status = result.winner                                         ? Result::Status::Tuned
                  : result.outcome.ending == tuning::Ending::Unfinished ? Result::Status::Unfinished
                                                                        : Result::Status::Cancelled;
} catch (const Error& error) {
  if (error.code() == ErrorCode::DeviceError || error.code() == ErrorCode::IoError) throw;
  result.status = Result::Status::Failed;
  result.error = error.constraint();
}

void tuneAll(const Attempt& attempt, std::vector<Result>& results, const tool::Interrupt& interrupt) {
  std::size_t left = 0;
  for (const Result& result : results) left += result.status == Result::Status::NotReached ? 1 : 0;
  const double spent = static_cast<double>(nowMs() - attempt.beganMs) * 1e-3;
  const double end =
      now() + (attempt.options.budgetSeconds ? *attempt.options.budgetSeconds - spent : kSecondsPerProblem * static_cast<double>(left));
  Display display(left);
  for (std::size_t problem = 0; Result& result : results) {
    if (result.status != Result::Status::NotReached) continue;
    const double share = (end - now()) / static_cast<double>(left--);  // what one problem leaves over is for the others
    if (share <= 0 || interrupt.happened()) break;
    display.begin(problem++, kernelText(result.config) + " " + shapeText(result.config));
    tuneOne(attempt, result, share, interrupt, display);
  }
}

int runOnce(const Attempt& attempt) {
  const Options& options = attempt.options;
  const tool::Interrupt interrupt;
  const double begin = now();
  std::vector<Result> results = planAll(attempt);
  if (!options.dryRun) tuneAll(attempt, results, interrupt);
  const double seconds = now() - begin;
  fmt::print("{}", options.json ? printJson(results, seconds, interrupt.happened()) : printTable(results, seconds, tool::wantsColor()));
  if (interrupt.happened()) return tool::kInterrupted;
  const bool failed = std::ranges::find(results, Result::Status::Failed, &Result::status) != results.end();
  return failed ? tool::kFailure : tool::kOk;
}

}  // namespace

int run(const Options& options, const std::function<int(const std::function<int()>&)>& reporting) {
  tuning::Watched nobody;
  const std::int64_t begin = nowMs();
  if (options.dryRun) return runOnce({options, begin, nobody, {}});
  return tuning::supervise([&](tuning::Watched& watched, std::span<const tuning::Blame> blamed) {
    return reporting([&] { return runOnce({options, begin, watched, blamed}); });
  });
}

}  // namespace fattn::tuner
