// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-bench/Measure.h"

#include <algorithm>
#include <chrono>

#include "runtime/tune/Statistics.h"

namespace fattn::bench {
namespace {

double steadySeconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Stopwatch {
 public:
  explicit Stopwatch(Device& device) : device_(device), begin_(device.createEvent()), end_(device.createEvent()) {}
  double launch(Contestant& contestant, const std::function<void()>& flush) {
    if (flush) flush();
    begin_->record({});
    contestant.launch();
    end_->record({});
    return device_.elapsedMs(*begin_, *end_) * 1000;
  }

 private:
  Device& device_;
  std::unique_ptr<Event> begin_, end_;
};

bool preciseEnough(const std::vector<Contestant>& contestants, double precision) {
  return std::ranges::all_of(contestants, [=](const Contestant& c) {
    const tuning::Estimate estimate = tuning::estimate(c.us);
    return estimate.error <= precision * estimate.value;
  });
}

}  // namespace

void takeTurns(Device& device, std::vector<Contestant>& contestants, const Rules& rules, const std::function<void()>& flush,
               const std::function<void(int turn, double secondsLeft)>& progress) {
  const std::function<double()> now = rules.now ? rules.now : steadySeconds;
  Stopwatch watch(device);
  const double begin = now();
  for (int round = 0; round < 2; ++round)
    for (Contestant& contestant : contestants) watch.launch(contestant, flush);
  for (int turn = 0; turn < rules.most; ++turn) {
    const double left = rules.seconds - (now() - begin);
    if (turn >= rules.least && (left <= 0 || preciseEnough(contestants, rules.precision))) break;
    if (turn > 0 && rules.stop.stop_requested()) break;
    progress(turn, std::max(left, 0.0));
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      Contestant& contestant = contestants[turn % 2 == 0 ? i : contestants.size() - 1 - i];
      contestant.us.push_back(watch.launch(contestant, flush));
    }
  }
}

}  // namespace fattn::bench
