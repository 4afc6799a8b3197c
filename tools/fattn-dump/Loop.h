// SPDX-License-Identifier: Apache-2.0
// The loops of a kernel as the compiler scheduled them (compiler/gpu/schedule/ScheduledLoop.h), as a stage of text.
#ifndef FATTN_TOOLS_FATTN_DUMP_LOOP_H
#define FATTN_TOOLS_FATTN_DUMP_LOOP_H

#include <vector>

#include "compiler/driver/Stage.h"
#include "compiler/gpu/schedule/ScheduledLoop.h"

namespace fattn::dump {

inline constexpr const char* kScheduleStage = "schedule";

/// Of each loop its nodes with their costs, who needs whom, the schedule taken, the best of the search, and a drawing. A node's line is
/// tied to the source lines that the node stands for.
/// `measured`: lines that follow, of when the kernel ran; or empty.
compiler::Stage scheduleStage(const std::vector<gpu::ScheduledLoop>& loops, const std::string& measured = "");

}  // namespace fattn::dump

#endif
