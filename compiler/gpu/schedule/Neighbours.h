// SPDX-License-Identifier: Apache-2.0
// Schedules that differ from another one in the place and the stage of one node.
#ifndef FATTN_COMPILER_GPU_SCHEDULE_NEIGHBOURS_H
#define FATTN_COMPILER_GPU_SCHEDULE_NEIGHBOURS_H

#include <vector>

#include "compiler/gpu/schedule/Schedule.h"

namespace fattn::gpu {

/// The legal ones with stages below `stages`, canonical, no two alike.
std::vector<Schedule> neighbours(const CostedLoop& loop, const Schedule& schedule, int stages);

}  // namespace fattn::gpu

#endif
