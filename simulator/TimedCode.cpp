// SPDX-License-Identifier: Apache-2.0
#include "simulator/TimedCode.h"

#include <algorithm>
#include <string_view>

namespace fattn::simulator {
namespace {

/// Multiplications of whole numbers of 32 bits, and arithmetic of f64 other than its simplest, run at a quarter of the rate.
bool isSlowVector(std::string_view name) {
  return name.starts_with("v_mul_lo_u32") || name.starts_with("v_mul_hi_") || name.starts_with("v_mad_u64_u32") ||
         name.starts_with("v_mad_i64_i32") || name.starts_with("v_mad_co_");
}

void addRegisters(const Operand& operand, std::array<Registers, 6>& list, std::uint8_t& count) {
  if (operand.kind == Operand::Vector && count < list.size()) list[count++] = {operand.index, operand.dwords};
}

void addOperands(const Instruction& instruction, TimedInstruction& timed) {
  for (int number = 0; instruction.has(number); ++number) addRegisters(instruction.source(number), timed.read, timed.sources);
  if (instruction.readsDestination) addRegisters(instruction.operands[0], timed.read, timed.sources);
  for (int i = 0; i < std::min<int>(instruction.writes, 2); ++i) {
    const Operand& result = instruction.operands[slot(i)];
    if (result.kind == Operand::Vector && timed.results < timed.written.size())
      timed.written[timed.results++] = {result.index, result.dwords};
  }
}

void limit(TimedInstruction& timed, Counter counter, std::uint32_t left) {
  timed.limits[static_cast<std::size_t>(counter)] = static_cast<std::int16_t>(left);
}

/// As Control.cpp executes them.
void addWait(const Instruction& instruction, const Chip& chip, TimedInstruction& timed) {
  const std::string_view name = instruction.mnemonic;
  const std::uint32_t fields = instruction.raw & 0xffff;
  if (name == "s_waitcnt") {
    limit(timed, Counter::Loads, chip.isCdna() ? (fields & 15) | (fields >> 14 & 3) << 4 : fields >> 10 & 63);
    limit(timed, Counter::Local, chip.isCdna() ? fields >> 8 & 15 : fields >> 4 & 63);
    return;
  }
  if (name == "s_waitcnt_vscnt") return limit(timed, Counter::Stores, static_cast<std::uint32_t>(instruction.operands[1].value));
  const auto value = static_cast<std::uint32_t>(instruction.operands[0].value);
  const bool two = name.ends_with("_dscnt") && name != "s_wait_dscnt";
  if (name.find("loadcnt") != name.npos) limit(timed, Counter::Loads, two ? value >> 8 : value);
  if (name.find("storecnt") != name.npos) limit(timed, Counter::Stores, two ? value >> 8 : value);
  if (name.find("kmcnt") != name.npos) limit(timed, Counter::Scalars, value);
  if (name.find("dscnt") != name.npos) limit(timed, Counter::Local, two ? value & 0xff : value);
}

/// The unit of an instruction that has to do with the order of a wave alone.
Unit controlUnit(std::string_view name) {
  if (name == "s_nop") return Unit::Idle;
  if (name == "s_setprio") return Unit::Priority;
  if (name == "s_barrier" || name == "s_barrier_wait") return Unit::Barrier;
  if (name == "s_barrier_signal") return Unit::Signal;
  if (name == "s_delay_alu" || name == "s_clause") return Unit::Free;
  return Unit::Scalar;
}

Unit unitOf(const Instruction& instruction) {
  switch (instruction.category) {
    case Category::Vector:
      return Unit::Vector;
    case Category::Transcendental:
      return instruction.mnemonic.starts_with("v_s_") ? Unit::Scalar : Unit::Transcendental;
    case Category::Matrix:
      return Unit::Matrix;
    case Category::ScalarLoad:
      return Unit::ScalarMemory;
    case Category::Global:
      return Unit::Global;
    case Category::Local:
      return Unit::Local;
    case Category::Wait:
      return Unit::Wait;
    case Category::Scalar:
    case Category::Barrier:
    case Category::Branch:
    case Category::Other:
      break;
  }
  return controlUnit(instruction.mnemonic);
}

std::uint8_t counterOf(const Instruction& instruction, Unit unit, const Chip& chip) {
  if (unit == Unit::Local) return Counters::bit(Counter::Local);
  if (unit == Unit::ScalarMemory) return Counters::bit(chip.hasSplitCounters() ? Counter::Scalars : Counter::Local);
  const bool loads = instruction.access.kind == Access::Load || instruction.returns || chip.storesCountAsLoads();
  return Counters::bit(loads ? Counter::Loads : Counter::Stores);
}

TimedInstruction timedInstruction(const Instruction& instruction, const Chip& chip, const Pace& pace) {
  TimedInstruction timed{.unit = unitOf(instruction)};
  if (instruction.first) {
    addOperands(*instruction.first, timed);
    addOperands(*instruction.second, timed);
  } else {
    addOperands(instruction, timed);
  }
  timed.clocks = pace.step;
  if (timed.unit == Unit::Vector && isSlowVector(instruction.mnemonic)) timed.clocks *= 4;
  if (timed.unit == Unit::Transcendental) timed.clocks = pace.transcendental;
  if (timed.unit == Unit::Matrix) timed.clocks = matrixClocks(pace, instruction.mnemonic), timed.accumulates = true;
  if (timed.unit == Unit::Idle || timed.unit == Unit::Priority) timed.clocks = static_cast<std::int32_t>(instruction.operands[0].value);
  if (timed.unit == Unit::Wait) addWait(instruction, chip, timed);
  if (timed.unit == Unit::Local || timed.unit == Unit::ScalarMemory || timed.unit == Unit::Global)
    timed.counter = counterOf(instruction, timed.unit, chip);
  timed.direct = timed.unit == Unit::Global && instruction.lds;
  return timed;
}

}  // namespace

std::vector<TimedInstruction> timedCode(const std::vector<Instruction>& code, const Chip& chip) {
  std::vector<TimedInstruction> timed;
  timed.reserve(code.size());
  for (const Instruction& instruction : code) timed.push_back(timedInstruction(instruction, chip, paceOf(chip)));
  return timed;
}

}  // namespace fattn::simulator
