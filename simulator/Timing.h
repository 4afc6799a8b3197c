// SPDX-License-Identifier: Apache-2.0
// A model of time: how many clocks a compute unit takes for what waves have executed.
//
// The waves of all workgroups that a compute unit holds at once are dealt to its SIMDs in turn. A wave issues its instructions in order,
// one a step. A SIMD starts one instruction of each unit a step, of the wave with the highest priority, and among equals of the oldest
// (AMD, "Instinct MI300 Instruction Set Architecture", S_SETPRIO). Instructions wait for the registers that they read, for their unit, and
// at waits and barriers. Accesses of local and global memory complete in order, behind a latency and behind the bytes that were asked for
// before. Figures: Pace.h. Left out: caches and memory's own speed, instruction fetch, other clocks than the nominal one, and what else the
// hardware does not tell.
#ifndef FATTN_SIMULATOR_TIMING_H
#define FATTN_SIMULATOR_TIMING_H

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/CodeObject.h"
#include "simulator/TimedCode.h"
#include "simulator/Trace.h"

namespace fattn::simulator {

struct Timing {
  std::int64_t clocks = 0;  ///< from the first instruction to the end of the last wave
  // Clocks in which units were busy; the SIMDs' mean of those that each of them has.
  double matrix = 0, vector = 0;  ///< `vector`: with transcendental functions, and with matrix products where they share its port
  double local = 0, global = 0;
  std::int64_t instructions = 0;
  std::vector<std::int64_t> waited;  ///< of each instruction of the code: clocks that waves stood at it, beyond a step, all together
};

/// Of these workgroups on one compute unit, each of which starts `apart` clocks behind the one before. `code` is timedCode() of the object
/// that they executed.
Timing timingOf(const Chip& chip, const std::vector<TimedInstruction>& code, std::span<const Trace* const> groups, std::int64_t apart);

}  // namespace fattn::simulator

#endif
