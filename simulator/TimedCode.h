// SPDX-License-Identifier: Apache-2.0
// What the model of time has to know of an instruction: which unit executes it for how long, which registers it waits for.
#ifndef FATTN_SIMULATOR_TIMEDCODE_H
#define FATTN_SIMULATOR_TIMEDCODE_H

#include <array>
#include <cstdint>
#include <vector>

#include "simulator/Counters.h"
#include "simulator/Instruction.h"
#include "simulator/Pace.h"

namespace fattn::simulator {

/// What executes an instruction. A SIMD starts at most one instruction of each unit in a step, each of another wave.
enum class Unit : std::uint8_t {
  Vector,
  Transcendental,
  Matrix,
  Scalar,
  ScalarMemory,
  Local,
  Global,
  Wait,
  Barrier,  ///< s_barrier, and gfx12's wait for the signals of all waves
  Signal,   ///< gfx12: the first half of a barrier
  Priority,
  Idle,  ///< s_nop
  Free,  ///< takes no time: a hint
};

/// Neighbouring vector registers.
struct Registers {
  std::uint16_t first = 0, count = 0;
};

struct TimedInstruction {
  Unit unit = Unit::Free;
  std::uint8_t counter = 0;               ///< of an access: the bits of the counters that follow it
  bool direct = false;                    ///< a load from global to local memory
  bool accumulates = false;               ///< matrix: its third source may be a product that has just ended
  std::uint8_t sources = 0, results = 0;  ///< how many of the below
  std::int32_t clocks = 0;                ///< that its unit is busy; steps of Idle; the number of Priority
  std::array<Registers, 6> read{};
  std::array<Registers, 2> written{};
  std::array<std::int16_t, 4> limits{-1, -1, -1, -1};  ///< Wait: of each Counter, how many accesses may be on their way; -1: any number
};

/// Of each instruction of the code.
std::vector<TimedInstruction> timedCode(const std::vector<Instruction>& code, const Chip& chip);

}  // namespace fattn::simulator

#endif
