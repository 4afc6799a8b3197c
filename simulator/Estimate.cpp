// SPDX-License-Identifier: Apache-2.0
#include "simulator/Estimate.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace fattn::simulator {
namespace {

constexpr std::uint64_t kMostSamples = 5;
// Clocks between the starts of workgroups: a device starts one after the other, and how far apart depends on what it did before. At some
// distance waves may get in each other's way all along, which is neither usual nor avoidable, so that of several distances the middle
// counts.
constexpr std::array<std::int64_t, 5> kApart = {150, 400, 900, 1500, 2200};
constexpr std::uint64_t kMostScheduled = 1'000'000;  // workgroups that are dealt out one by one

std::uint64_t workgroupsOf(const Estimate::Place& grid) { return std::uint64_t{1} * grid[0] * grid[1] * grid[2]; }

/// Of workgroups that are numbered along x first.
Estimate::Place placeAt(std::uint64_t number, const Estimate::Place& grid) {
  return {static_cast<std::uint32_t>(number % grid[0]), static_cast<std::uint32_t>(number / grid[0] % grid[1]),
          static_cast<std::uint32_t>(number / grid[0] / grid[1])};
}

std::vector<Estimate::Place> chooseSamples(const Estimate::Place& grid) {
  std::vector<Estimate::Place> samples;
  const std::uint64_t all = workgroupsOf(grid);
  if (all <= kMostSamples) {
    for (std::uint64_t i = 0; i < all; ++i) samples.push_back(placeAt(i, grid));
    return samples;
  }
  // Each dimension's fifths once, in another order for each: what follows from the place along one of them is seen along that one.
  constexpr std::array<std::uint64_t, 3> kSteps = {1, 2, 3};
  for (std::uint64_t i = 0; i < kMostSamples; ++i) {
    Estimate::Place place{};
    for (std::size_t d = 0; d < place.size(); ++d)
      place[d] = static_cast<std::uint32_t>((2 * (i * kSteps[d] % kMostSamples) + 1) * grid[d] / (2 * kMostSamples));
    samples.push_back(place);
  }
  return samples;
}

/// Between two known places in proportion, beyond them as at the last.
double between(const std::map<std::uint32_t, double>& known, std::uint32_t at) {
  const auto above = known.lower_bound(at);
  if (above == known.begin()) return above->second;
  const auto below = std::prev(above);
  if (above == known.end()) return below->second;
  const double share = static_cast<double>(at - below->first) / static_cast<double>(above->first - below->first);
  return below->second + share * (above->second - below->second);
}

}  // namespace

int residentGroups(const Chip& chip, const Kernel& kernel, int waves) {
  const Pace& pace = paceOf(chip);
  const int granule = pace.registerGranule, registers = std::max(kernel.vectorRegisters(chip), 1);
  const int ofSimd = std::min(pace.wavesPerSimd, pace.registers / ((registers + granule - 1) / granule * granule));
  const std::int64_t byLocal = kernel.ldsBytes == 0 ? pace.wavesPerSimd : std::int64_t{chip.ldsBytes} * pace.ldsPasses / kernel.ldsBytes;
  return static_cast<int>(std::min<std::int64_t>(ofSimd * pace.simds / waves, byLocal));
}

Estimate::Estimate(const Chip& chip, const std::vector<TimedInstruction>& code, const Place& grid, int resident, DieOrder order)
    : chip_(chip), code_(code), grid_(grid), order_(order), samples_(chooseSamples(grid)) {
  for (Place& sample : samples_) sample = order_.blockOf(sample, grid_);
  const auto units = static_cast<std::uint64_t>(paceOf(chip).computeUnits);
  const std::uint64_t share = (workgroupsOf(grid) + units - 1) / units;  // of a compute unit, where there are few
  resident_ = static_cast<int>(std::clamp<std::uint64_t>(share, 1, static_cast<std::uint64_t>(std::max(resident, 1))));
}

void Estimate::add(const Trace& trace, const Place& place) {
  const std::vector<const Trace*> groups(static_cast<std::size_t>(resident_), &trace);
  std::vector<Timing> timings;
  for (const std::int64_t apart : kApart) {
    timings.push_back(timingOf(chip_, code_, groups, apart));
    if (resident_ == 1) break;  // nothing to be apart from
  }
  const auto middle = timings.begin() + timings.size() / 2;
  std::ranges::nth_element(timings, middle, {}, &Timing::clocks);
  Timing& timing = *middle;
  clocks_.emplace_back(order_.programOf(place, grid_), static_cast<double>(timing.clocks));
  if (clocks_.size() == samples_.size() / 2 + 1) timing_ = std::move(timing);
}

/// The clocks of samples by their place along a dimension, those at one place as their mean.
std::map<std::uint32_t, double> Estimate::along(std::size_t dimension) const {
  std::map<std::uint32_t, std::pair<double, int>> sums;
  for (const auto& [place, clocks] : clocks_) {
    auto& [sum, count] = sums[place[dimension]];
    sum += clocks, ++count;
  }
  std::map<std::uint32_t, double> means;
  for (const auto& [at, sum] : sums) means[at] = sum.first / sum.second;
  return means;
}

/// The dimension along which a straight line explains most of what workgroups differ by.
std::size_t Estimate::decisive() const {
  std::size_t best = 0;
  double most = -1;
  for (std::size_t d = 0; d < 3; ++d) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (const auto& [place, clocks] : clocks_)
      n += 1, x += place[d], y += clocks, xx += 1.0 * place[d] * place[d], xy += place[d] * clocks;
    const double spread = xx - x * x / n, together = xy - x * y / n;
    const double explained = spread > 0 ? together * together / spread : 0;
    if (explained > most * 1.0001) best = d, most = explained;
  }
  return best;
}

double Estimate::microseconds() const {
  const Pace& pace = paceOf(chip_);
  const auto dies = static_cast<std::uint64_t>(pace.dies);
  const std::uint64_t slots = static_cast<std::uint64_t>(pace.computeUnits) * static_cast<std::uint64_t>(resident_) / dies;  // of a die
  const std::uint64_t all = workgroupsOf(grid_), each = std::max<std::uint64_t>(all / kMostScheduled, 1);
  using Free = std::priority_queue<double, std::vector<double>, std::greater<>>;  // when each place for a workgroup has none
  std::vector<Free> free(dies, Free({}, std::vector<double>(slots)));
  const std::size_t d = decisive();
  const std::map<std::uint32_t, double> known = along(d);
  double last = 0;
  for (std::uint64_t i = 0; i < all; i += each) {
    Free& die = free[i / each % dies];
    const double end = die.top() + between(known, order_.programOf(placeAt(i, grid_), grid_)[d]) * static_cast<double>(each);
    die.pop();
    die.push(end);
    last = std::max(last, end);
  }
  return last / (pace.gigahertz * 1e3);
}

}  // namespace fattn::simulator
