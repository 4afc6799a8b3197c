// SPDX-License-Identifier: Apache-2.0
// A best-first search. One group alone runs each of its steps no later than it would among others, so its time (and the busiest
// unit's) bounds the score from below; it is cheap to simulate. Schedules are simulated with all groups in the order of that bound,
// until the next bound is worse than the worst of the best. Those with few register moves come first: where the best are as fast as the
// busiest unit, none with more moves is simulated at all.
//
// A loop with more schedules than the limit is walked: from a legal schedule to its neighbours, of which the best one that has been found
// so far goes next. Schedules beyond the limits lead on until one is found that fits.
#include "compiler/gpu/schedule/Search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <tuple>

#include "compiler/gpu/schedule/Enumerate.h"
#include "compiler/gpu/schedule/Neighbours.h"

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

  /// The simulation of all groups; false where they block each other, or where the first of two simulations shows that the entry cannot be
  /// among the best.
  bool finish(Entry& entry, const std::vector<Entry>& best) const {
    Candidate& c = entry.candidate;
    const Program program = makeProgram(loop_, c.schedule, options_.turns);
    const auto plain = simulate(loop_, program, options_.overheads);
    if (!plain) return false;
    c.cycles = std::max(c.cycles, *plain);
    c.stressed = std::max(c.stressed, c.cycles);
    if (isHopeless(entry, best)) return false;
    const auto stressed = simulate(loop_, program, options_.overheads.stressed());
    if (!stressed) return false;
    c.stressed = std::max(c.stressed, *stressed);
    return true;
  }

  SearchResult run() {
    const Enumeration all = enumerate(loop_, options_.stages, options_.limit);
    SearchResult result{.legal = all.schedules.size(), .complete = all.complete, .bound = loop_.bound(), .busiest = loop_.busiest()};
    for (const Entry& entry : all.complete ? bestOf(all.schedules, result) : walk(all.schedules.front(), result))
      result.best.push_back(entry.candidate);
    return result;
  }

 private:
  std::vector<Entry> bestOf(const std::vector<Schedule>& schedules, SearchResult& result) const {
    std::vector<Fit> fits = fitting(schedules);
    result.fitting = fits.size();
    const auto moves = [](const Fit& fit) { return fit.resources.moves; };
    std::ranges::sort(fits, {}, [](const Fit& fit) { return std::pair(fit.resources.moves, fit.index); });
    std::vector<Entry> best;
    for (auto first = fits.begin(); first != fits.end();) {
      const auto last = std::ranges::upper_bound(first, fits.end(), moves(*first), {}, moves);
      if (isHopeless(leastWith(moves(*first)), best)) break;
      take(schedules, {first, last}, best, result);
      first = last;
    }
    return best;
  }

  /// Whether an entry whose score is still a bound cannot be among the best.
  bool isHopeless(const Entry& entry, const std::vector<Entry>& best) const {
    return isFull(best) && !options_.exhaustive && best.back().better(entry);
  }

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
    for (Entry& entry : prepared) {
      if (isHopeless(entry, best)) break;
      ++result.simulated;
      if (finish(entry, best)) keep(entry, best);
    }
  }

  void keep(const Entry& entry, std::vector<Entry>& best) const {
    best.insert(std::ranges::upper_bound(best, entry, [](const Entry& a, const Entry& b) { return a.better(b); }), entry);
    if (best.size() > static_cast<std::size_t>(options_.best)) best.pop_back();
  }

  /// What a walk may go on from. Those beyond the limits come last, the one that needs the least of them first.
  struct Waypoint {
    double excess = 0;  // of registers and of shared memory beyond the limits, each as a part of its limit
    Entry entry;
    bool operator<(const Waypoint& other) const {
      if (excess != other.excess) return excess < other.excess;
      return entry.better(other.entry) || (!other.entry.better(entry) && entry.index < other.entry.index);
    }
  };

  double excessOf(const Resources& needs) const {
    const auto beyond = [](double needed, double limit) { return std::max(needed / std::max(limit, 1.0) - 1, 0.0); };
    return beyond(needs.registers, loop_.registerLimit) + beyond(static_cast<double>(needs.shared), static_cast<double>(loop_.sharedLimit));
  }

  std::vector<Entry> walk(const Schedule& from, SearchResult& result) const {
    std::vector<Entry> best;
    std::set<Waypoint> open;
    std::set<std::array<std::uint8_t, 2 * kMaxNodes>> seen;
    std::optional<Waypoint> smallest;
    result.legal = 0;
    const auto look = [&](const Schedule& schedule) {
      if (!seen.insert(keyOf(schedule)).second) return;
      Waypoint point{.entry = {.candidate = {.schedule = schedule, .resources = resources(loop_, schedule)}, .index = result.legal++}};
      point.excess = excessOf(point.entry.candidate.resources);
      if (!smallest || point.excess < smallest->excess) smallest = point;
      if (point.excess == 0 && !rank(point.entry, best, result)) return;
      if (point.excess == 0 || best.empty()) open.insert(point);
    };
    look(from);
    while (!open.empty() && result.legal < options_.walk && result.simulated < options_.simulations) {
      const Waypoint here = *open.begin();
      open.erase(open.begin());
      for (const Schedule& next : neighbours(loop_, here.entry.candidate.schedule, options_.stages)) look(next);
    }
    if (result.fitting == 0) refuse(smallest->entry.candidate, "no schedule that was looked at fits");
    return best;
  }

  /// Whether a schedule of a walk can be run and may be among the best, where it is then put.
  bool rank(Entry& entry, std::vector<Entry>& best, SearchResult& result) const {
    ++result.fitting;
    if (isHopeless(leastWith(entry.candidate.resources.moves), best) || !prepare(entry) || isHopeless(entry, best)) return false;
    ++result.simulated;
    if (!finish(entry, best)) return false;
    keep(entry, best);
    return true;
  }

  static std::array<std::uint8_t, 2 * kMaxNodes> keyOf(const Schedule& schedule) {
    std::array<std::uint8_t, 2 * kMaxNodes> key{};
    std::ranges::copy(schedule.order, key.begin());
    std::ranges::copy(schedule.stage, key.begin() + kMaxNodes);
    return key;
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
    if (fits.empty() && smallest != nullptr) refuse({.schedule = *smallest, .resources = least}, "no schedule fits");
    return fits;
  }

  [[noreturn]] void refuse(const Candidate& smallest, std::string_view what) const {
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("{} on {}: the smallest, `{}`, needs {} registers a thread and {} bytes of shared memory; the limits are {} and {}",
                    what, loop_.target, print(loop_, smallest.schedule), smallest.resources.registers, smallest.resources.shared,
                    loop_.registerLimit, loop_.sharedLimit),
        "take smaller tiles, or fewer groups with more registers each");
  }

  const CostedLoop& loop_;
  const SearchOptions& options_;
  Bounds bounds_;
};

void verify(const SearchOptions& options) {
  if (options.limit < 1) throw Error(ErrorCode::InvalidArgument, "no schedule may be enumerated", "a walk begins at the first one");
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
  if (!searcher.prepare(entry) || !searcher.finish(entry, {}))
    throw Error(ErrorCode::InvalidArgument, fmt::format("schedule `{}`: the groups wait for each other for ever", print(loop, schedule)),
                "schedule it without turns");
  return entry.candidate;
}

}  // namespace fattn::gpu
