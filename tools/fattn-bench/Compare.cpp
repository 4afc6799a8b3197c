// SPDX-License-Identifier: Apache-2.0
// Verdicts on two runs.
#include <algorithm>
#include <cmath>

#include "runtime/tune/Statistics.h"
#include "tools/fattn-bench/Report.h"

namespace fattn::bench {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::Same:
      return "same";
    case Verdict::Faster:
      return "faster";
    case Verdict::Slower:
      return "slower";
    case Verdict::Machine:
      return "machine";
    case Verdict::New:
      break;
  }
  return "new";
}

Timing timingOf(const std::vector<double>& us) {
  const tuning::Estimate estimate = tuning::estimate(us);
  return {estimate.value, tuning::quantile(us, 0.25), tuning::quantile(us, 0.75), estimate.value > 0 ? estimate.error / estimate.value : 0,
          static_cast<int>(us.size())};
}

Share shareOf(const Measurement& m, const Ceilings& ceilings) {
  const auto matrix = ceilings.matrix.find(m.problem.dtype);
  const double arithmetic = matrix == ceilings.matrix.end() ? 0 : m.problem.flops() / matrix->second.value;
  const double memory = ceilings.copy ? m.problem.bytes() / ceilings.copy->value : 0;
  Share share{memory > arithmetic, {}};
  if (const double least = std::max(memory, arithmetic); least > 0) share.part = least / (m.timing.medianUs * 1e-6);
  return share;
}

Comparison compare(const Timing& before, const Timing& now, std::optional<double> ceilingBefore, std::optional<double> ceilingNow) {
  constexpr double kErrors = 3, kFloor = 0.01;
  Comparison result;
  result.ratio = now.medianUs > 0 ? before.medianUs / now.medianUs : 1;
  result.threshold = std::max(kFloor, kErrors * std::hypot(before.error, now.error));
  // Under a load that comes and goes, times have several modes, and a median may sit in another one the next time.
  const auto within = [](double value, const Timing& timing) { return value >= timing.lowUs && value <= timing.highUs; };
  const bool overlap = within(now.medianUs, before) || within(before.medianUs, now);
  const auto judge = [](double ratio, double threshold) {
    return ratio > 1 + threshold ? Verdict::Faster : ratio < 1 / (1 + threshold) ? Verdict::Slower : Verdict::Same;
  };
  const double machine = ceilingBefore && ceilingNow && *ceilingBefore > 0 ? *ceilingNow / *ceilingBefore : 1;
  const Verdict plain = judge(result.ratio, result.threshold), moved = judge(machine, result.threshold);
  result.threshold += std::abs(machine - 1);  // what a run's own noise does not show: how far the machine was off between the runs
  result.verdict = judge(result.ratio, result.threshold);
  if (plain != Verdict::Same && plain == moved && judge(result.ratio / machine, result.threshold) == Verdict::Same)
    result.verdict = Verdict::Machine;
  if (overlap) {
    result.threshold = std::max(result.threshold, std::abs(result.ratio - 1));
    result.verdict = Verdict::Same;
  }
  return result;
}

namespace {

const Measurement* findEarlier(const Run& before, const Measurement& now) {
  const Measurement* found = nullptr;
  int candidates = 0;
  for (const Measurement& each : before.measurements) {
    if (each.problem.name() != now.problem.name()) continue;
    if (each.config == now.config) return &each;
    found = &each;
    ++candidates;
  }
  return candidates == 1 ? found : nullptr;
}

std::optional<double> ceilingOf(const Ceilings& ceilings, bool memory, DType type) {
  if (memory) return ceilings.copy ? std::optional(ceilings.copy->value) : std::nullopt;
  const auto found = ceilings.matrix.find(type);
  return found == ceilings.matrix.end() ? std::nullopt : std::optional(found->second.value);
}

}  // namespace

std::vector<Comparison> compareRuns(const Run& before, const Run& now) {
  std::vector<Comparison> comparisons;
  for (const Measurement& m : now.measurements) {
    const Measurement* earlier = findEarlier(before, m);
    const bool memory = shareOf(m, now.ceilings).memory;
    comparisons.push_back(earlier == nullptr ? Comparison{}
                                             : compare(earlier->timing, m.timing, ceilingOf(before.ceilings, memory, m.problem.dtype),
                                                       ceilingOf(now.ceilings, memory, m.problem.dtype)));
  }
  return comparisons;
}

}  // namespace fattn::bench
