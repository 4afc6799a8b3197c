// SPDX-License-Identifier: Apache-2.0
#include "simulator/Execute.h"

#include "simulator/Lanes.h"

namespace fattn::simulator {

std::uint64_t operandTaint(const Wave& wave, const Instruction& instruction, const Operand& operand, int number) {
  if (operand.kind == Operand::Scalar) {
    std::uint32_t undefined = wave.scalarUndefined(operand);
    if (operand.dwords == 2) undefined |= static_cast<std::uint32_t>(wave.scalarUndefined64(operand) >> 32);
    return undefined != 0 ? wave.allLanes : 0;
  }
  if (operand.kind != Operand::Vector) return 0;
  std::uint64_t undefined = 0;
  for (int i = 0; i < operand.dwords; ++i) undefined |= wave.undefinedLanes[slot(operand.index + i)];
  if (number != 0 || !instruction.permutation || undefined == 0) return undefined;
  const LanePermutation& permutation = *instruction.permutation;
  std::uint64_t moved = 0;
  for (int lane = 0; lane < wave.lanes; ++lane) {
    int from = permutation.from[static_cast<std::size_t>(lane)];
    bool readable = (permutation.valid >> lane & 1) != 0 && (permutation.fetchInactive || wave.active(from));
    if (readable && (undefined >> from & 1) != 0) moved |= std::uint64_t{1} << lane;
  }
  return moved;
}

std::uint64_t sourceTaint(const Wave& wave, const Instruction& instruction) {
  std::uint64_t taint = instruction.packs ? wave.allLanes : 0;
  for (int number = 0; instruction.has(number); ++number) {
    std::uint64_t of = operandTaint(wave, instruction, instruction.source(number), number);
    taint = instruction.packs ? taint & of : taint | of;
  }
  if (instruction.readsDestination) taint |= operandTaint(wave, instruction, instruction.operands[0], -1);
  return taint;
}

void setTaint(Wave& wave, const Operand& operand, std::uint64_t written, std::uint64_t taint) {
  if (operand.kind != Operand::Vector) return;
  for (int i = 0; i < operand.dwords; ++i) {
    std::uint64_t& undefined = wave.undefined(operand.index + i);
    undefined = (undefined & ~written) | (taint & written);
  }
}

void perform(Wave& wave, const Instruction& instruction) {
  if (!instruction.plainTaint) return instruction.handler(wave, instruction);
  std::uint64_t taint = sourceTaint(wave, instruction), written = writtenLanes(wave, instruction);
  instruction.handler(wave, instruction);
  setTaint(wave, instruction.operands[0], written, taint);
}

namespace {

/// Executes an instruction and notes what it did in memory.
void performTraced(Wave& wave, const Instruction& instruction) {
  const Statistics before = wave.group->statistics;
  perform(wave, instruction);
  const Statistics& after = wave.group->statistics;
  wave.trace->push_back({.number = static_cast<std::uint32_t>(&instruction - wave.group->code->data()),
                         .ldsPasses = static_cast<std::uint16_t>(after.ldsPasses - before.ldsPasses),
                         .globalBytes = static_cast<std::uint16_t>(after.globalBytes - before.globalBytes)});
}

}  // namespace

void step(Wave& wave) {
  const std::vector<Instruction>& code = *wave.group->code;
  if (wave.next >= code.size()) violate("runs past the end of the code");
  const Instruction& instruction = code[wave.next++];
  wave.current = &instruction;
  ++wave.executed;
  ++wave.group->statistics.instructions[static_cast<std::size_t>(instruction.category)];
  if (instruction.first) {
    wave.checkOperands(*instruction.first);
    wave.checkOperands(*instruction.second);
  } else {
    wave.checkOperands(instruction);
  }
  wave.trace != nullptr ? performTraced(wave, instruction) : perform(wave, instruction);
}

}  // namespace fattn::simulator
