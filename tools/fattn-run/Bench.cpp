// SPDX-License-Identifier: Apache-2.0
// The median of many launches: single ones are disturbed by whatever else the machine does.
#include "tools/fattn-run/Bench.h"

#include <algorithm>
#include <vector>

#include "tools/io/Metrics.h"

namespace fattn::run {

Timing bench(Engine& engine) {
  constexpr double kWarmUpUs = 1e5, kMeasureUs = 1e6;
  constexpr int kLeast = 5, kMost = 10000;
  double spent = 0;
  for (int i = 0; i < 2 || (spent < kWarmUpUs && i < kMost); ++i) spent += engine.launch();
  std::vector<double> times;
  spent = 0;
  while (static_cast<int>(times.size()) < kLeast || (spent < kMeasureUs && static_cast<int>(times.size()) < kMost)) {
    times.push_back(engine.launch());
    spent += times.back();
  }
  return {io::median(times), *std::ranges::min_element(times), *std::ranges::max_element(times), static_cast<int>(times.size())};
}

}  // namespace fattn::run
