// SPDX-License-Identifier: Apache-2.0
#include "tests/random/Again.h"

#include <fmt/format.h>

#include <cstdio>

#include "tests/random/Report.h"

namespace fattn::random {
namespace {

constexpr int kTimes = 3;

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

void lookAt(const CampaignOptions& options, const Result& first) {
  fmt::print("\n== {}\n", describe(first));
  Request request{.draw = first.draw};
  Result alone = runSomeTimes(options, request);
  if (alone.outcome.verdict == Verdict::Agreed) {
    fmt::print("alone it agreed {} times: it depends on what runs beside it, or on chance\n", kTimes);
    return;
  }
  fmt::print("alone: {}\n", describe(alone));
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
