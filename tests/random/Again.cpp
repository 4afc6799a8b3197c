// SPDX-License-Identifier: Apache-2.0
#include "tests/random/Again.h"

#include <fmt/format.h>

#include <cstdio>

#include "tests/generator/Reducer.h"
#include "tests/generator/Text.h"
#include "tests/random/Report.h"
#include "tests/support/Context.h"

namespace fattn::random {
namespace {

constexpr int kTimes = 3;
constexpr std::chrono::seconds kReducing{60};

/// The request once more in a process that has done nothing else.
Result runAlone(const CampaignOptions& options, const Request& request) {
  Result result;
  Workers workers(workerOptions(options, 1));
  workers.run({toLine(request)}, [&](std::size_t, const Reply& reply) { result = resultOf(request.draw, reply); });
  return result;
}

/// The first of a few runs that fails; the last one where none does.
Result runSomeTimes(const CampaignOptions& options, const Request& request) {
  Result result;
  for (int i = 0; i < kTimes; ++i)
    if (result = runAlone(options, request); result.outcome.verdict != Verdict::Agreed) break;
  return result;
}

/// The smallest program found that fails like this one, as a test. The configuration stays as it is.
std::string reduced(const CampaignOptions& options, const Result& failed) {
  auto context = test::makeContext();
  generator::Program program = generator::generate(*context, failed.draw);
  Workers workers(workerOptions(options, 1));
  auto until = Worker::Clock::now() + kReducing;
  int attempts = 0;
  auto fails = [&](generator::Program& smaller) {
    if (Worker::Clock::now() > until) return false;
    ++attempts;
    Request request{.draw = failed.draw, .choices = smaller.choices};
    Result result;
    workers.run({toLine(request)}, [&](std::size_t, const Reply& reply) { result = resultOf(request.draw, reply); });
    return result.outcome.verdict == failed.outcome.verdict;
  };
  generator::Reduction reduction = generator::reduce(*context, program, failed.draw.options(), fails);
  return fmt::format("reduced in {} attempts:\n{}", attempts, generator::print(reduction.program, failed.draw));
}

void lookAt(const CampaignOptions& options, const Result& first) {
  fmt::print("\n== {}\n", describe(first));
  Request request{.draw = first.draw};
  Result alone = runSomeTimes(options, request);
  if (alone.outcome.verdict == Verdict::Agreed) {
    fmt::print("alone it agreed {} times: it depends on what runs beside it, or on chance\n", kTimes);
    return;
  }
  fmt::print("alone: {}\n{}\n", describe(alone), reduced(options, alone));
}

}  // namespace

void runAgain(const CampaignOptions& options, const std::vector<Result>& results) {
  int looked = 0;
  for (const Result& result : results) {
    Verdict verdict = result.outcome.verdict;
    if (verdict == Verdict::Agreed || verdict == Verdict::Refused) continue;
    if (looked++ < options.reduce)
      lookAt(options, result);
    else
      fmt::print("not run again: {}\n", describe(result));
    std::fflush(stdout);
  }
}

}  // namespace fattn::random
