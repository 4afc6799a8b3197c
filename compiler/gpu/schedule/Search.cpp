// SPDX-License-Identifier: Apache-2.0
// A best-first search. One group alone runs each of its steps no later than it would among others, so its time (and the busiest
// unit's) bounds the score from below; it is cheap to simulate. Schedules are simulated with all groups in the order of that bound,
// until the next bound is worse than the worst of the best. Those with few register moves come first: where the best are as fast as the
// busiest unit, none with more moves is simulated at all.
#include "compiler/gpu/schedule/Search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>

#include "compiler/gpu/schedule/Enumerate.h"

namespace fattn::gpu {
namespace {

/// Lower bounds of a loop's cycles a trip, as simulated with and without stress.
struct Bounds {
  double plain = 0, stressed = 0;
  Bounds(const CostedLoop& loop, const Overheads& overheads)
      : plain(unitBound(loop, overheads)), stressed(unitBound(loop, overheads.stressed())) {}

 private:
  static double unitBound(const CostedLoop& loop, const Overheads& overheads) {
    UnitCycles sum{};
    for (const NodeCost& node : loop.nodes) {
      const bool arithmetic = !node.queued && node.units[static_cast<int>(Unit::Tensor)] == 0;
      for (int unit = 0; unit < kUnits; ++unit) sum[unit] += node.units[unit] * (arithmetic ? overheads.arithmetic : 1);
    }
    return std::ranges::max(sum) * loop.groups;
  }
};

struct Entry {
  Candidate candidate;
  double bound = 0;  // of the score
  std::size_t index = 0;
  bool operator<(const Entry& other) const { return key(bound) < other.key(other.bound); }
  bool better(const Entry& other) const { return key(candidate.score()) < other.key(other.candidate.score()); }

 private:
  std::tuple<double, int, double, int, int, std::size_t> key(double first) const {
    return {std::round(first),
            candidate.resources.moves,
            std::round(candidate.alone),
            candidate.resources.lateStages,
            candidate.resources.registers,
            index};
  }
};

/// A schedule within the limits.
struct Fit {
  std::size_t index = 0;
  Resources resources = {};
};

class Searcher {
 public:
  Searcher(const CostedLoop& loop, const SearchOptions& options) : loop_(loop), options_(options), bounds_(loop, options.overheads) {}

  /// Everything but the simulation of all groups; false where one group alone cannot run it.
  bool prepare(Entry& entry) const {
    Candidate& c = entry.candidate;
    const Program program = makeProgram(loop_, c.schedule, options_.turns);
    const auto alone = simulate(loop_, program, options_.overheads, 1);
    if (!alone) return false;
    c.alone = *alone;
    c.cycles = std::max(*alone, bounds_.plain);
    c.stressed = std::max(bounds_.stressed, c.cycles);
    entry.bound = c.score();
    return true;
  }

  /// The simulation of all groups; false where they block each other.
  bool finish(Candidate& c) const {
    const Program program = makeProgram(loop_, c.schedule, options_.turns);
    const auto plain = simulate(loop_, program, options_.overheads), stressed = simulate(loop_, program, options_.overheads.stressed());
    if (!plain || !stressed) return false;
    c.cycles = std::max(c.cycles, *plain);
    c.stressed = std::max({c.stressed, *stressed, c.cycles});
    return true;
  }

  SearchResult run() {
    const Enumeration all = enumerate(loop_, options_.stages, options_.limit);
    SearchResult result{.legal = all.schedules.size(), .complete = all.complete, .bound = loop_.bound(), .busiest = loop_.busiest()};
    std::vector<Fit> fits = fitting(all.schedules);
    result.fitting = fits.size();
    const auto moves = [](const Fit& fit) { return fit.resources.moves; };
    std::ranges::sort(fits, {}, [](const Fit& fit) { return std::pair(fit.resources.moves, fit.index); });
    std::vector<Entry> best;
    for (auto first = fits.begin(); first != fits.end();) {
      const auto last = std::ranges::upper_bound(first, fits.end(), moves(*first), {}, moves);
      if (isFull(best) && !options_.exhaustive && best.back().better(leastWith(moves(*first)))) break;
      take(all.schedules, {first, last}, best, result);
      first = last;
    }
    for (Entry& entry : best) result.best.push_back(entry.candidate);
    return result;
  }

 private:
  bool isFull(const std::vector<Entry>& best) const { return best.size() == static_cast<std::size_t>(options_.best); }

  /// As good as a schedule with so many moves can be.
  Entry leastWith(int moves) const {
    Entry least;
    least.candidate.resources.moves = moves;
    least.candidate.cycles = bounds_.plain;
    least.candidate.stressed = std::max(bounds_.stressed, bounds_.plain);
    return least;
  }

  /// Puts those that are among the best there.
  void take(const std::vector<Schedule>& schedules, std::span<const Fit> fits, std::vector<Entry>& best, SearchResult& result) const {
    std::vector<Entry> prepared;
    for (const Fit& fit : fits) {
      Entry entry{.candidate = {.schedule = schedules[fit.index], .resources = fit.resources}, .index = fit.index};
      if (prepare(entry)) prepared.push_back(entry);
    }
    std::ranges::sort(prepared, [](const Entry& a, const Entry& b) { return a < b; });
    const auto better = [](const Entry& a, const Entry& b) { return a.better(b); };
    for (Entry& entry : prepared) {
      if (isFull(best) && !options_.exhaustive && best.back().better(entry)) break;  // entry's score is still its bound
      ++result.simulated;
      if (!finish(entry.candidate)) continue;
      best.insert(std::ranges::upper_bound(best, entry, better), entry);
      if (best.size() > static_cast<std::size_t>(options_.best)) best.pop_back();
    }
  }

  std::vector<Fit> fitting(const std::vector<Schedule>& schedules) const {
    std::vector<Fit> fits;
    const Schedule* smallest = nullptr;
    Resources least;
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      const Resources needs = resources(loop_, schedules[i]);
      if (smallest == nullptr || std::tie(needs.registers, needs.shared) < std::tie(least.registers, least.shared))
        smallest = &schedules[i], least = needs;
      if (needs.registers <= loop_.registerLimit && needs.shared <= loop_.sharedLimit) fits.push_back({i, needs});
    }
    if (fits.empty() && smallest != nullptr)
      throw Error(ErrorCode::Unsupported,
                  fmt::format("no schedule fits on {}: the smallest, `{}`, needs {} registers a thread and {} bytes of shared memory; the "
                              "limits are {} and {}",
                              loop_.target, print(loop_, *smallest), least.registers, least.shared, loop_.registerLimit, loop_.sharedLimit),
                  "take smaller tiles, or fewer groups with more registers each");
    return fits;
  }

  const CostedLoop& loop_;
  const SearchOptions& options_;
  Bounds bounds_;
};

void verify(const SearchOptions& options) {
  if (options.best < 1) throw Error(ErrorCode::InvalidArgument, fmt::format("{} schedules to keep", options.best), "keep at least 1");
  if (options.stages < 1 || options.stages > kMaxStages)
    throw Error(ErrorCode::InvalidArgument, fmt::format("schedules of {} stages", options.stages),
                fmt::format("legal are 1 to {}", kMaxStages));
}

}  // namespace

SearchResult search(const CostedLoop& loop, const SearchOptions& options) {
  verify(options);
  return Searcher(loop, options).run();
}

Candidate evaluate(const CostedLoop& loop, const Schedule& schedule, const SearchOptions& options) {
  verify(options);
  const Searcher searcher(loop, options);
  Entry entry{.candidate = {.schedule = schedule, .resources = resources(loop, schedule)}};
  if (!searcher.prepare(entry) || !searcher.finish(entry.candidate))
    throw Error(ErrorCode::InvalidArgument, fmt::format("schedule `{}`: the groups wait for each other for ever", print(loop, schedule)),
                "schedule it without turns");
  return entry.candidate;
}

}  // namespace fattn::gpu
