// SPDX-License-Identifier: Apache-2.0
// What a schedule needs of registers and shared memory, and the instructions it adds to the loop.
#ifndef FATTN_COMPILER_GPU_SCHEDULE_RESOURCES_H
#define FATTN_COMPILER_GPU_SCHEDULE_RESOURCES_H

#include "compiler/gpu/schedule/Schedule.h"

namespace fattn::gpu {

struct Resources {
  int registers = 0;        ///< a thread, at the worst place of the trip
  std::int64_t shared = 0;  ///< bytes a block
  int moves = 0;            ///< registers that are copied every trip because a value outlives the next one of its name
  int lateStages = 0;       ///< sum of the stages: the length of prologue and epilogue
};

/// A value lives from the issue of its node to its last use; a queued dot still reads its operands while the next node is issued, and an
/// elementwise node that reuses its operand's registers ends it as it starts. A
/// value alive in k trips at once takes k times its registers, or k slots of shared memory.
Resources resources(const CostedLoop& loop, const Schedule& schedule);

}  // namespace fattn::gpu

#endif
