// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/Search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "fattn/Error.h"
#include "runtime/tune/CompileQueue.h"
#include "runtime/tune/Ranking.h"

namespace fattn::tuning {
namespace {

using cache::TunePoint;
using Status = TunePoint::Status;

// The numbers of docs/tuning.md.
constexpr double kSweepShare = 0.55, kRefineShare = 0.65, kHalveShare = 0.8;  // of the budget, at which a step ends
constexpr double kHopelessAtOnce = 2, kHopeless = 1.25;                       // times the best, after the first launches and after a few
constexpr double kSweepUs = 20000, kLongUs = 10000;  // launches of a candidate are to take this long; longer ones need no warm-up
constexpr std::size_t kMostSamples = 20, kFirstLaunches = 2, kDisturbedLaunches = 4;
constexpr double kDisturbed = 0.1;  // spread of the safe configuration over its median from which on a device counts as disturbed
constexpr std::size_t kRefined = 3;
constexpr double kContender = 1.2;  // times the best: slower ones cannot win any more
constexpr std::size_t kLevels[] = {16, 8};
constexpr int kTurnsOfLevel = 4, kTurnsOfRanking = 60;
constexpr double kRankSeconds = 3;                       // after which the ranking ends, if it has had its least turns
constexpr int kLeastTurns = 12, kLeastTurnsInHaste = 6;  // the second where the budget is spent

// Disturbances only ever make a launch slower: of a few launches the lower quartile says more than the median.
double score(std::span<const double> us) { return quantile(us, 0.25); }

struct Entry {
  TileConfig tile;
  std::unique_ptr<Trial> trial;  // none if the figure is from an earlier search
  double us = 0;                 // its score
};

std::int64_t nowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double steadySeconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Session {
 public:
  Session(const Space& space, const Callbacks& callbacks, const Settings& settings)
      : space_(space), callbacks_(callbacks), settings_(settings), begin_(now()) {}

  Outcome run();

 private:
  double now() const { return settings_.now ? settings_.now() : steadySeconds(); }
  double spent() const { return now() - begin_; }
  bool timeIsUp(double share) const { return spent() > share * settings_.budgetSeconds; }
  bool stopped() const { return settings_.stop.stop_requested(); }

  std::vector<TileConfig> prune(const std::vector<TileConfig>& tiles);
  void measureSafe();
  void sweep(std::vector<TileConfig> tiles, double share);
  void refine();
  std::vector<double> sample(Trial& trial) const;
  void tryOne(const TileConfig& tile, std::unique_ptr<Trial> trial);
  void requireHealth(const TileConfig& suspect, const std::string& failure);
  void halve(std::vector<Contestant>& contestants);
  bool makeReady(Entry& entry);
  std::vector<Contestant> finalists(const std::vector<Contestant>& ranked);
  void rank(std::vector<Contestant>& contestants);
  void recordTurns(std::span<const Contestant> contestants, const std::optional<cache::TuneWinner>& winner);

  void keep(std::span<const TunePoint> points, const std::optional<cache::TuneWinner>& winner = {});
  void keepFailure(const TileConfig& tile, std::string reason);
  void report(Step step, std::size_t done, std::size_t total, const TunePoint* point);

  const Space& space_;
  const Callbacks& callbacks_;
  const Settings& settings_;
  const double begin_;
  Entry safe_;
  std::vector<Entry> entries_;  // measured, the safe one not among them
  std::size_t done_ = 0, total_ = 0;
  std::optional<TileConfig> best_;
  double bestUs_ = 0;
  bool disturbed_ = false;
  Outcome outcome_;
};

void Session::keep(std::span<const TunePoint> points, const std::optional<cache::TuneWinner>& winner) {
  if (callbacks_.keep) callbacks_.keep(points, winner);
}

void Session::keepFailure(const TileConfig& tile, std::string reason) {
  ++outcome_.failed;
  TunePoint point{.tile = tile, .status = Status::Failed, .reason = std::move(reason), .timeMs = nowMs()};
  keep({&point, 1});
  report(Step::Sweep, done_, total_, &point);
}

void Session::report(Step step, std::size_t done, std::size_t total, const TunePoint* point) {
  if (!callbacks_.progress) return;
  callbacks_.progress({.step = step,
                       .done = done,
                       .total = total,
                       .seconds = spent(),
                       .budgetSeconds = settings_.budgetSeconds,
                       .point = point,
                       .best = best_,
                       .bestUs = bestUs_,
                       .safeUs = safe_.us});
}

// What cannot work is known without trying, and what an earlier search has found out need not be tried again.
std::vector<TileConfig> Session::prune(const std::vector<TileConfig>& tiles) {
  std::vector<TileConfig> open;
  std::vector<TunePoint> pruned;
  for (const TileConfig& tile : tiles) {
    const bool seen = tile == space_.safe || std::ranges::find(open, tile) != open.end() ||
                      std::ranges::find(entries_, tile, &Entry::tile) != entries_.end();
    if (seen) continue;
    if (std::optional<std::string> reason = callbacks_.reject ? callbacks_.reject(tile) : std::nullopt) {
      pruned.push_back({.tile = tile, .status = Status::Pruned, .reason = std::move(*reason), .timeMs = nowMs()});
      continue;
    }
    const auto known =
        std::ranges::find_if(settings_.known, [&](const TunePoint& point) { return point.tile == tile && point.status != Status::Pruned; });
    if (known == settings_.known.end()) {
      open.push_back(tile);
      continue;
    }
    ++outcome_.reused;
    if (known->status == Status::Measured) entries_.push_back({.tile = tile, .trial = {}, .us = known->medianUs});
  }
  outcome_.pruned += pruned.size();
  if (!pruned.empty()) keep(pruned);
  return open;
}

// One launch may be disturbed, two seldom are; on a device that is known to be disturbed it takes the best of a few to see that a candidate
// is hopeless.
std::vector<double> Session::sample(Trial& trial) const {
  std::vector<double> us(disturbed_ ? kDisturbedLaunches : kFirstLaunches);
  trial.measure(us);
  const double first = std::ranges::min(us);
  if (bestUs_ > 0 && first > kHopelessAtOnce * bestUs_) return us;
  if (first <= kLongUs) us.clear();
  auto more = [&](std::size_t count) {
    us.resize(us.size() + count);
    trial.measure(std::span(us).last(count));
  };
  if (us.size() < 2) more(2);
  if (bestUs_ > 0 && std::ranges::min(us) > kHopeless * bestUs_) return us;
  const double wanted = std::clamp(kSweepUs / std::max(median(us), 1e-3), 3.0, static_cast<double>(kMostSamples));
  if (const auto count = static_cast<std::size_t>(wanted); count > us.size()) more(count - us.size());
  return us;
}

void Session::measureSafe() {
  safe_ = {.tile = space_.safe, .trial = callbacks_.compile(space_.safe), .us = 0};
  std::vector<double> us = sample(*safe_.trial);
  disturbed_ = spread(us) > kDisturbed * median(us);
  safe_.us = bestUs_ = score(us);
  best_ = space_.safe;
  TunePoint point{.tile = space_.safe,
                  .medianUs = median(us),
                  .spreadUs = spread(us),
                  .samples = static_cast<std::int64_t>(us.size()),
                  .timeMs = nowMs()};
  ++outcome_.measured;
  keep({&point, 1});
  for (const Entry& entry : entries_)
    if (entry.us < bestUs_) {
      bestUs_ = entry.us;
      best_ = entry.tile;
    }
  report(Step::Sweep, ++done_, total_, &point);
}

// After a failed launch: a device that is lost fails everything that follows, and would leave a record full of wrong verdicts. Only the one
// that lost it is recorded, so that a later search on a sound device passes it over.
void Session::requireHealth(const TileConfig& suspect, const std::string& failure) {
  double us = 0;
  try {
    safe_.trial->measure({&us, 1});
  } catch (const Error&) {
    keepFailure(suspect, failure + " (and the device was lost)");
    throw;
  }
}

void Session::tryOne(const TileConfig& tile, std::unique_ptr<Trial> trial) {
  std::vector<double> us;
  std::string failure;
  try {
    us = sample(*trial);
  } catch (const Error& error) {
    failure = error.constraint();
  }
  if (!failure.empty()) {
    requireHealth(tile, failure);
    return keepFailure(tile, std::move(failure));
  }
  ++outcome_.measured;
  TunePoint point{
      .tile = tile, .medianUs = median(us), .spreadUs = spread(us), .samples = static_cast<std::int64_t>(us.size()), .timeMs = nowMs()};
  const double found = score(us);
  if (found < bestUs_) {
    bestUs_ = found;
    best_ = tile;
  }
  keep({&point, 1});
  if (found > kContender * bestUs_) trial.reset();
  entries_.push_back({.tile = tile, .trial = std::move(trial), .us = found});
  report(Step::Sweep, done_, total_, &point);
}

void Session::sweep(std::vector<TileConfig> tiles, double share) {
  CompileQueue queue(tiles, callbacks_.compile, settings_.jobs, settings_.overlap);
  std::size_t tried = 0;
  while (!stopped() && !timeIsUp(share)) {
    std::optional<CompileQueue::Result> result = queue.next();
    if (!result) break;
    ++tried;
    ++done_;
    if (result->trial)
      tryOne(tiles[result->index], std::move(result->trial));
    else
      keepFailure(tiles[result->index], std::move(result->failure));
  }
  outcome_.untried += tiles.size() - tried;
  if (outcome_.untried != 0) outcome_.ending = Ending::Budget;
}

void Session::refine() {
  if (!space_.variants || stopped()) return;
  std::ranges::sort(entries_, {}, &Entry::us);
  std::vector<TileConfig> tiles = space_.variants(safe_.tile);
  for (const Entry& entry : std::span(entries_).first(std::min(entries_.size(), kRefined)))
    for (const TileConfig& variant : space_.variants(entry.tile)) tiles.push_back(variant);
  tiles = prune(tiles);
  total_ += tiles.size();
  sweep(std::move(tiles), kRefineShare);
}

// A trial that was let go, or was never made as its figure is an old one.
bool Session::makeReady(Entry& entry) {
  if (entry.trial) return true;
  try {
    entry.trial = callbacks_.compile(entry.tile);
    return true;
  } catch (const Error& error) {
    keepFailure(entry.tile, error.constraint());
    return false;
  }
}

void Session::halve(std::vector<Contestant>& contestants) {
  const std::size_t levels = std::size(kLevels);
  for (std::size_t level = 0; level < levels; ++level) {
    if (contestants.size() <= settings_.finalists) return;
    contestants.resize(std::min(contestants.size(), kLevels[level]));
    const double share = kRefineShare + (kHalveShare - kRefineShare) * static_cast<double>(level + 1) / static_cast<double>(levels);
    for (int turn = 0; turn < kTurnsOfLevel && !stopped() && (turn == 0 || !timeIsUp(share)); ++turn) {
      takeTurn(contestants, turn % 2 != 0);
      report(Step::Halve, level * kTurnsOfLevel + static_cast<std::size_t>(turn) + 1, levels * kTurnsOfLevel, nullptr);
    }
    if (stopped()) return;
    for (Contestant& one : contestants) one.us = score(one.turns);
    std::ranges::sort(contestants, {}, &Contestant::us);
  }
}

// The safe one first, then the best that compute the same.
std::vector<Contestant> Session::finalists(const std::vector<Contestant>& ranked) {
  std::vector<Contestant> chosen = {{.tile = safe_.tile, .trial = safe_.trial.get(), .us = safe_.us, .turns = {}}};
  for (const Contestant& one : ranked) {
    if (chosen.size() > settings_.finalists || stopped()) break;
    if (callbacks_.check) {
      std::optional<std::string> difference;
      try {
        difference = callbacks_.check(*one.trial, *safe_.trial);
      } catch (const Error& error) {
        difference = error.constraint();
        requireHealth(one.tile, *difference);
      }
      if (difference) {
        --outcome_.measured;
        keepFailure(one.tile, "wrong result: " + *difference);
        continue;
      }
    }
    chosen.push_back({.tile = one.tile, .trial = one.trial, .us = one.us, .turns = {}});
  }
  return chosen;
}

void Session::recordTurns(std::span<const Contestant> contestants, const std::optional<cache::TuneWinner>& winner) {
  std::vector<TunePoint> points;
  for (const Contestant& one : contestants)
    if (!one.turns.empty())
      points.push_back({.tile = one.tile,
                        .medianUs = median(one.turns),
                        .spreadUs = spread(one.turns),
                        .samples = static_cast<std::int64_t>(one.turns.size()),
                        .timeMs = nowMs()});
  keep(points, winner);
}

void Session::rank(std::vector<Contestant>& contestants) {
  Verdict verdict;
  const double begin = spent();
  for (int turn = 0; turn < kTurnsOfRanking; turn += 2) {
    if (stopped()) return;
    takeTurn(contestants, false);
    takeTurn(contestants, true);
    verdict = judge(contestants);
    const Contestant& first = contestants[verdict.winner];
    best_ = first.tile;
    bestUs_ = median(first.turns);
    safe_.us = median(contestants[0].turns);
    report(Step::Rank, static_cast<std::size_t>(turn) + 2, kTurnsOfRanking, nullptr);
    const bool enough = spent() - begin > kRankSeconds && turn + 2 >= kLeastTurns, late = timeIsUp(1) && turn + 2 >= kLeastTurnsInHaste;
    if (verdict.decided || contestants.size() == 1 || enough || late) break;
  }
  const Contestant& first = contestants[verdict.winner];
  outcome_.winner = cache::TuneWinner{.tile = first.tile,
                                      .medianUs = bestUs_,
                                      .spreadUs = spread(first.turns),
                                      .timeMs = nowMs(),
                                      .untried = static_cast<std::int64_t>(outcome_.untried)};
  outcome_.safeIsBest = verdict.winner == 0;
  outcome_.gain = verdict.gain.value;
  outcome_.gainNoise = verdict.gain.error;
  recordTurns(contestants, outcome_.winner);
}

Outcome Session::run() {
  std::vector<TileConfig> open = prune(space_.candidates);
  total_ = open.size() + 1;
  measureSafe();
  const std::size_t candidates = open.size() + outcome_.reused;
  sweep(std::move(open), kSweepShare);
  if (!stopped() && outcome_.untried * 2 > candidates) {
    outcome_.ending = Ending::Unfinished;
    outcome_.safeUs = safe_.us;
    outcome_.seconds = spent();
    return outcome_;
  }
  refine();
  std::vector<Contestant> contestants;
  std::ranges::sort(entries_, {}, &Entry::us);
  for (Entry& entry : entries_) {
    if (stopped() || entry.us > kContender * bestUs_ || contestants.size() == kLevels[0]) break;
    if (makeReady(entry)) contestants.push_back({.tile = entry.tile, .trial = entry.trial.get(), .us = entry.us, .turns = {}});
  }
  if (!stopped()) halve(contestants);
  std::vector<Contestant> last;
  if (!stopped()) last = finalists(contestants);
  if (!stopped()) rank(last);
  if (!outcome_.winner) outcome_.ending = Ending::Cancelled;
  outcome_.safeUs = safe_.us;
  outcome_.seconds = spent();
  return outcome_;
}

}  // namespace

Outcome search(const Space& space, const Callbacks& callbacks, const Settings& settings) {
  return Session(space, callbacks, settings).run();
}

}  // namespace fattn::tuning
