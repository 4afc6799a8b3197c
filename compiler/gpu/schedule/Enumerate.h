// SPDX-License-Identifier: Apache-2.0
// Every legal schedule of a loop, each steady state once.
#ifndef FATTN_COMPILER_GPU_SCHEDULE_ENUMERATE_H
#define FATTN_COMPILER_GPU_SCHEDULE_ENUMERATE_H

#include <vector>

#include "compiler/gpu/schedule/Schedule.h"

namespace fattn::gpu {

struct Enumeration {
  std::vector<Schedule> schedules;  ///< legal and canonical, no two alike
  bool complete = true;             ///< false: there are more than the limit
};

/// Places the nodes one position after the other, each with a stage below `stages`. Placing a node narrows the stages of its unplaced
/// neighbours; a branch ends as soon as one of them has none left.
Enumeration enumerate(const CostedLoop& loop, int stages = 2, std::size_t limit = 100000);

}  // namespace fattn::gpu

#endif
