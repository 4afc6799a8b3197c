// SPDX-License-Identifier: Apache-2.0
// Measurements in turns, and what they say about who is the fastest.
#ifndef FATTN_RUNTIME_TUNE_RANKING_H
#define FATTN_RUNTIME_TUNE_RANKING_H

#include <span>
#include <vector>

#include "runtime/tune/Search.h"
#include "runtime/tune/Statistics.h"

namespace fattn::tuning {

struct Contestant {
  TileConfig tile;
  Trial* trial = nullptr;
  double us = 0;              ///< what is known before
  std::vector<double> turns;  ///< one time a turn, microseconds
};

/// One turn: every contestant after the other, `backwards` from the last. Short kernels are launched several times, of which the median
/// counts.
void takeTurn(std::span<Contestant> contestants, bool backwards);

/// How much less time `a` takes than `b`, from the ratios of each pair of turns: the first and the last turn of an ABBA are one pair.
/// value: time of b / time of a.
Estimate gainOf(const Contestant& a, const Contestant& b);

struct Verdict {
  std::size_t winner = 0;  ///< index; 0, the safe configuration, unless another is faster by more than the noise
  Estimate gain{1, 0};     ///< over contestant 0
  bool decided = false;    ///< more turns would not change it
};
/// Precondition: at least one contestant, all with the same number of turns, which is even.
Verdict judge(std::span<const Contestant> contestants);

}  // namespace fattn::tuning

#endif
