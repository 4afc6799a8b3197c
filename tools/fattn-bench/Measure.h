// SPDX-License-Identifier: Apache-2.0
// Measures several contestants in turns.
#ifndef FATTN_TOOLS_FATTN_BENCH_MEASURE_H
#define FATTN_TOOLS_FATTN_BENCH_MEASURE_H

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "fattn/Device.h"

namespace fattn::bench {

struct Contestant {
  std::string name;
  std::function<void()> launch;  ///< gives the device one unit of work; need not wait
  std::vector<double> us;        ///< one time a turn
};

struct Rules {
  double seconds = 20;            ///< of measuring
  int least = 6, most = 400;      ///< turns
  double precision = 0.002;       ///< standard error of every median, relative, at which measuring ends early
  std::function<double()> now{};  ///< seconds; empty: the steady clock
  std::stop_token stop{};         ///< ends measuring after the turn under way
};

/// Warms up, then lets the contestants take turns, forwards and backwards alternately, until the time is over or every median is known well
/// enough. On a GPU what the caches hold is overwritten before each launch, if `flush` is given.
void takeTurns(Device& device, std::vector<Contestant>& contestants, const Rules& rules, const std::function<void()>& flush,
               const std::function<void(int turn, double secondsLeft)>& progress);

}  // namespace fattn::bench

#endif
