// SPDX-License-Identifier: Apache-2.0
// Executing one instruction of a wave, and what its sources' undefined values do to its results.
#ifndef FATTN_SIMULATOR_EXECUTE_H
#define FATTN_SIMULATOR_EXECUTE_H

#include <cstdint>

#include "simulator/Wave.h"

namespace fattn::simulator {

/// Executes the next instruction. Throws Violation.
void step(Wave& wave);

/// Executes an instruction that has been checked for waits.
void perform(Wave& wave, const Instruction& instruction);

/// Lanes in which an operand is undefined; all of them where a scalar register is.
std::uint64_t operandTaint(const Wave& wave, const Instruction& instruction, const Operand& operand, int number);
/// Lanes in which a source of the instruction is undefined.
std::uint64_t sourceTaint(const Wave& wave, const Instruction& instruction);
/// The lanes that were written are as undefined as `taint` says.
void setTaint(Wave& wave, const Operand& operand, std::uint64_t written, std::uint64_t taint);

}  // namespace fattn::simulator

#endif
