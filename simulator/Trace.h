// SPDX-License-Identifier: Apache-2.0
// What the waves of a workgroup have executed, instruction by instruction: what the model of time (Timing.h) reads.
#ifndef FATTN_SIMULATOR_TRACE_H
#define FATTN_SIMULATOR_TRACE_H

#include <cstdint>
#include <vector>

namespace fattn::simulator {

/// One instruction that a wave has executed.
struct Executed {
  std::uint32_t number = 0;       ///< of the instruction in CodeObject::code()
  std::uint16_t ldsPasses = 0;    ///< that its access of local memory took, with bank conflicts
  std::uint16_t globalBytes = 0;  ///< that its lanes asked for in global memory
};

/// Of a workgroup: the instructions of each wave, in order.
struct Trace {
  std::vector<std::vector<Executed>> waves;
};

}  // namespace fattn::simulator

#endif
