// SPDX-License-Identifier: Apache-2.0
// Measures a kernel: repeated launches, the median and the spread.
#ifndef FATTN_TOOLS_FATTN_RUN_BENCH_H
#define FATTN_TOOLS_FATTN_RUN_BENCH_H

#include "tools/fattn-run/Engine.h"

namespace fattn::run {

struct Timing {
  double medianUs = 0, minUs = 0, maxUs = 0;
  int repetitions = 0;
};

/// Warm-up launches for a tenth of a second (at least 2), then at least 5 measured ones and as many as fit in a second, at most 10000.
Timing bench(Engine& engine);

}  // namespace fattn::run

#endif
