// SPDX-License-Identifier: Apache-2.0
// One trip of a group as the steps it issues in order: a schedule with its waits and turns.
#ifndef FATTN_COMPILER_GPU_SCHEDULE_PROGRAM_H
#define FATTN_COMPILER_GPU_SCHEDULE_PROGRAM_H

#include <vector>

#include "compiler/gpu/schedule/Schedule.h"

namespace fattn::gpu {

enum class StepKind : std::uint8_t { Issue, Wait, Work, TurnWait, TurnPass };

struct Step {
  StepKind kind = StepKind::Work;
  std::int8_t node = 0;
  std::int8_t back = 0;  ///< of a Wait: for what was issued this many trips ago
  bool operator==(const Step&) const = default;
};

using Program = std::vector<Step>;

/// Before each node: waits for queued results it uses (not for a chained accumulator). Queues complete in order, so a wait that an
/// earlier one implies, in this trip or by the one before, is left out. Where dots end in their trip, a wait for the last one stands behind
/// all nodes. `turns`: the first run of issues of dots without arithmetic or a
/// wait for this trip's own results in between is done by one group after the other.
Program makeProgram(const CostedLoop& loop, const Schedule& schedule, bool turns);

/// Whether turns mean anything: several groups, asynchronous dots, and arithmetic.
bool canTakeTurns(const CostedLoop& loop);

}  // namespace fattn::gpu

#endif
