// SPDX-License-Identifier: Apache-2.0
// Draws the steady state of a schedule as text.
#ifndef FATTN_COMPILER_GPU_SCHEDULE_GANTT_H
#define FATTN_COMPILER_GPU_SCHEDULE_GANTT_H

#include <string>

#include "compiler/gpu/schedule/Simulator.h"

namespace fattn::gpu {

/// Two trips, `width` characters wide: a row for each queue in use (which node of which group it serves) and one for each group (names:
/// arithmetic; dots: waiting; blank: issuing). Empty where the groups wait for each other for ever.
std::string drawGantt(const CostedLoop& loop, const Schedule& schedule, bool turns, const Overheads& overheads = {}, int width = 96);

}  // namespace fattn::gpu

#endif
