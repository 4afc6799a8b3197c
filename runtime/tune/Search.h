// SPDX-License-Identifier: Apache-2.0
// The search for the fastest tile configuration of one problem.
//
//   prune     what the machine cannot hold is recorded with the reason and costs nothing
//   sweep     every candidate is compiled, in parallel and ahead, and launched a few times; fewer where it is clearly hopeless
//   refine    the best three and the safe one are tried with the variants that they have
//   halve     the best sixteen take turns, then the best eight: their order in the sweep is mostly noise
//   check     the best four must compute what the safe configuration computes
//   rank      they and the safe configuration take turns, forwards and backwards (ABBA); each is compared with the safe one's time of the
//   same
//             turn, so that a clock or a temperature that drifts concerns both. The winner is the safe configuration unless another one is
//             faster by more than the noise: whoever tunes is never worse off for it.
//
// Every figure is handed to the caller's `keep` as it arrives, and reported only after that. docs/tuning.md has the rules in numbers.
#ifndef FATTN_RUNTIME_TUNE_SEARCH_H
#define FATTN_RUNTIME_TUNE_SEARCH_H

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/cache/Tuned.h"

namespace fattn::tuning {

/// One candidate, compiled and loaded. Used by one thread at a time.
class Trial {
 public:
  virtual ~Trial() = default;
  /// Launches once for each element, each time with cold caches, and writes how many microseconds it took. Throws Error.
  virtual void measure(std::span<double> us) = 0;
};

/// What is searched.
struct Space {
  std::vector<TileConfig> candidates;  ///< the promising ones first: a budget may end before the last
  /// Choices that matter less than the candidates' own and are tried for the best few of them only. May be empty.
  std::function<std::vector<TileConfig>(const TileConfig&)> variants{};
  TileConfig safe;  ///< what is used untuned: correct, and the one to beat; need not be among the candidates
};

struct Progress;

/// What the search does not know itself. Only `compile` is called from several threads at once; an Error that it throws makes the candidate
/// a failed one. Anything but an Error passes through search().
struct Callbacks {
  /// Why a candidate need not be tried, if so. May be empty.
  std::function<std::optional<std::string>(const TileConfig&)> reject;
  std::function<std::unique_ptr<Trial>(const TileConfig&)> compile;
  /// How the results differ beyond rounding, if so. May be empty.
  std::function<std::optional<std::string>(Trial& candidate, Trial& safe)> check;
  /// Keeps what was found. May be empty.
  std::function<void(std::span<const cache::TunePoint>, const std::optional<cache::TuneWinner>&)> keep;
  /// May be empty.
  std::function<void(const Progress&)> progress;
};

struct Settings {
  double budgetSeconds = 60;  ///< the search ends soon after; it takes at least a few launches of the safe configuration
  int jobs = 0;               ///< threads that compile; 0: one a core
  /// Whether to compile while the device measures. Not where the device is the host: one would disturb the other.
  bool overlap = true;
  std::size_t finalists = 4;
  std::stop_token stop{};
  std::function<double()> now{};          ///< seconds; empty: the steady clock
  std::vector<cache::TunePoint> known{};  ///< of an earlier search on this device: not measured again in the sweep
};

enum class Step : std::uint8_t { Sweep, Halve, Rank };

/// Reported after each figure.
struct Progress {
  Step step;
  std::size_t done, total;         ///< candidates of the sweep, or turns of a later step
  double seconds, budgetSeconds;   ///< spent, and given
  const cache::TunePoint* point;   ///< what has just become known; nullptr for a turn of the later steps
  std::optional<TileConfig> best;  ///< so far
  double bestUs = 0, safeUs = 0;
};

enum class Ending : std::uint8_t {
  Complete,    ///< every candidate was tried
  Budget,      ///< the time ended the sweep after at least half of the candidates; there is a winner all the same
  Unfinished,  ///< the time ended it before: too few for a verdict; what was measured is kept, there is no winner
  Cancelled,   ///< stopped; what was measured is kept, there is no winner
};

struct Outcome {
  Ending ending = Ending::Complete;
  std::optional<cache::TuneWinner> winner;
  bool safeIsBest = false;
  double safeUs = 0;     ///< of the safe configuration, in the ranking where there was one
  double gain = 1;       ///< safe time / winner's time, from the paired comparison
  double gainNoise = 0;  ///< its standard error
  std::size_t measured = 0, failed = 0, pruned = 0, untried = 0, reused = 0;
  double seconds = 0;
};

/// Throws Error where the safe configuration cannot be compiled or launched, and where the device is lost.
Outcome search(const Space& space, const Callbacks& callbacks, const Settings& settings);

}  // namespace fattn::tuning

#endif
