// SPDX-License-Identifier: Apache-2.0
// Tunes a kernel: the search of runtime/tune, its figures in the store of tuned configurations.
#ifndef FATTN_KERNELS_CORE_TUNING_H
#define FATTN_KERNELS_CORE_TUNING_H

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/TuneProblem.h"
#include "runtime/cache/TunedStore.h"
#include "runtime/tune/Search.h"
#include "runtime/tune/Watchdog.h"

namespace fattn::kernels {

/// What a tuning would do.
struct TunePlan {
  TuneProblem problem;
  cache::TuneKey key;
  std::vector<TileConfig> candidates;                      ///< all, the safe one among them or not
  std::vector<std::pair<TileConfig, std::string>> pruned;  ///< of them, and why
};
/// Throws Error{Unsupported} for a target that is no device.
TunePlan planTuning(TuneProblem problem);

struct TuneOptions {
  double budgetSeconds = 60;
  int jobs = 0;                        ///< threads that compile; 0: one a core
  bool mustKeep = false;               ///< throws Error{IoError} where a figure cannot be written to the store
  bool resume = false;                 ///< takes what is known of this bucket instead of measuring it again
  std::int64_t knownSinceMs = 0;       ///< of that only what is not older, in milliseconds since 1970
  tuning::Watched* watched = nullptr;  ///< who watches over compilations and measurements, if anybody does
  std::stop_token stop{};
  std::function<void(const tuning::Progress&)> progress{};
};
/// One candidate of one problem, as a line that a tuning::Blame names it by.
std::string blameText(const TunePlan& plan, const TileConfig& tile);
/// Tunes, and keeps what it finds in the store as it finds it. Throws Error.
tuning::Outcome runTuning(const TunePlan& plan, const TuneOptions& options, cache::TunedStore& store);

/// Keeps the candidates of this problem that were given up as failures, so that they are not tried again.
void recordBlame(const TunePlan& plan, std::span<const tuning::Blame> blamed, cache::TunedStore& store);

/// For compile() with FATTN_TUNE=on: tunes into this process's store within FATTN_TUNE_BUDGET, one thread at a time, once in a process for
/// each problem. Whether it did. A failure is a warning. A candidate that hangs is given up and kept as a failure, and the thread that
/// measures it left to itself; the process tunes nothing after that.
bool tuneWithinCompile(const TuneProblem& problem);
/// The same with another search than runTuning(). What `search` refers to has to live as long as the process.
using TuneSearch = std::function<tuning::Outcome(const TunePlan&, const TuneOptions&, cache::TunedStore&)>;
bool tuneWithinCompile(const TuneProblem& problem, const TuneSearch& search);

}  // namespace fattn::kernels

#endif
