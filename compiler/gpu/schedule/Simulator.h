// SPDX-License-Identifier: Apache-2.0
// Simulates the groups of a loop on one SM until their trips repeat.
//
// A group issues its steps in order. Dots go to one queue that all groups share and that serves them one after the other, copies to a
// second one; a wait holds the group until the result is there. Arithmetic (and a dot where the machine's dots are synchronous)
// occupies units at the rates of its cost; what runs at the same time slows down together until no unit is asked for more than it has.
// A turn is handed from group to group.
#ifndef FATTN_COMPILER_GPU_SCHEDULE_SIMULATOR_H
#define FATTN_COMPILER_GPU_SCHEDULE_SIMULATOR_H

#include <optional>
#include <vector>

#include "compiler/gpu/schedule/Program.h"

namespace fattn::gpu {

/// Cycles that no table has: assumptions of the model, not measurements. A schedule is therefore simulated a second time with
/// these three times as long and arithmetic 1.4 times, and has to be good in both.
struct Overheads {
  double issue = 10;         ///< a group needs to issue a queued node
  double dotLatency = 60;    ///< from a dot's last cycle to its result
  double copyLatency = 600;  ///< from the end of a copy's transfer to its data
  double wait = 15;          ///< passing a wait
  double turn = 20;          ///< handing on the turn
  double arithmetic = 1;     ///< factor on the cycles of arithmetic
  Overheads stressed() const { return {issue, 3 * dotLatency, 3 * copyLatency, 3 * wait, 3 * turn, 1.4 * arithmetic}; }
};

/// What a group or a queue did; for drawing.
struct Span {
  StepKind kind = StepKind::Work;  ///< Issue: the time in the queue; Wait: blocked, for a result or a turn
  int group = 0, node = 0;
  double begin = 0, end = 0;
};

struct Timeline {
  std::vector<Span> spans;
  double begin = 0, end = 0;  ///< the last trips, in which the steady state is to be seen
};

/// Cycles a trip in the steady state; nothing where the groups wait for each other for ever. `groups`: 0 means the loop's.
std::optional<double> simulate(const CostedLoop& loop, const Program& program, const Overheads& overheads, int groups = 0,
                               Timeline* timeline = nullptr);

}  // namespace fattn::gpu

#endif
