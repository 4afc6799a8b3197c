// SPDX-License-Identifier: Apache-2.0
// How far each copy of a loop runs ahead of its first reader.
#ifndef FATTN_COMPILER_GPU_SCHEDULE_COPYDISTANCES_H
#define FATTN_COMPILER_GPU_SCHEDULE_COPYDISTANCES_H

#include "compiler/gpu/schedule/Schedule.h"

namespace fattn::gpu {

/// Decides what the schedule does not say yet. A copy runs as far ahead as it may. A buffer has a slot for each trip from its copy to its
/// last reader, and one more where that is a dot that runs on. Boxes run one trip less ahead
/// - where a dot that runs on reads them last, so that their buffer has no slot more;
/// - of those that a later stage reads, too, the largest first, until the block's shared memory suffices. Such a slot is free in the middle
///   of a trip, when that reader has ended, and the copy fills it then.
Schedule withDistances(const CostedLoop& loop, Schedule schedule);

/// Bytes of shared memory that the block's buffers have together, with the distances that are decided, else the most.
std::int64_t sharedBytes(const CostedLoop& loop, const Schedule& schedule);

/// Slots of the copy's buffer.
int slotsOf(const CostedLoop& loop, const Schedule& schedule, std::size_t copy);

}  // namespace fattn::gpu

#endif
