// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/Ranking.h"

#include <algorithm>
#include <cmath>

namespace fattn::tuning {
namespace {

constexpr double kTurnUs = 2000;  // launches of a turn are to take this long
constexpr double kMostLaunches = 3;
constexpr double kSignificant = 2;     // standard errors that a gain has to exceed
constexpr double kWorthwhile = 0.005;  // and this: half a percent is nothing to change a configuration for
constexpr double kDecided = 4;         // standard errors between the first two at which more turns are a waste
constexpr std::size_t kDecisiveTurns = 12;

}  // namespace

void takeTurn(std::span<Contestant> contestants, bool backwards) {
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    Contestant& one = contestants[backwards ? contestants.size() - 1 - i : i];
    std::vector<double> us(static_cast<std::size_t>(std::clamp(kTurnUs / std::max(one.us, 1e-3), 1.0, kMostLaunches)));
    one.trial->measure(us);
    one.turns.push_back(median(us));
  }
}

Estimate gainOf(const Contestant& a, const Contestant& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i + 1 < std::min(a.turns.size(), b.turns.size()); i += 2)
    ratios.push_back((b.turns[i] + b.turns[i + 1]) / (a.turns[i] + a.turns[i + 1]));
  return ratios.empty() ? Estimate{b.us / a.us, 1} : estimate(ratios);
}

Verdict judge(std::span<const Contestant> contestants) {
  std::vector<Estimate> gains = {{1, 0}};
  std::size_t first = 0;
  for (std::size_t i = 1; i < contestants.size(); ++i) {
    gains.push_back(gainOf(contestants[i], contestants[0]));
    if (gains[i].value > gains[first].value) first = i;
  }
  auto exceeds = [&](const Estimate& gain, double errors) { return gain.value - 1 > std::max(errors * gain.error, kWorthwhile); };
  Verdict verdict;
  if (first != 0 && exceeds(gains[first], kSignificant)) verdict = {.winner = first, .gain = gains[first], .decided = false};
  verdict.decided = contestants[0].turns.size() >= kDecisiveTurns;
  for (std::size_t i = 0; i < contestants.size() && verdict.decided; ++i)
    if (i != verdict.winner) verdict.decided = exceeds(gainOf(contestants[verdict.winner], contestants[i]), kDecided);
  return verdict;
}

}  // namespace fattn::tuning
