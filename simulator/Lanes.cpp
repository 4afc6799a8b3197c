// SPDX-License-Identifier: Apache-2.0
#include "simulator/Lanes.h"

#include <algorithm>
#include <cstring>

namespace fattn::simulator {
namespace {

/// Lanes with a source lane that may be read.
std::uint64_t sourceLanes(const Wave& wave, const LanePermutation& permutation) {
  if (permutation.fetchInactive) return permutation.valid;
  std::uint64_t lanes = 0;
  for (int lane = 0; lane < wave.lanes; ++lane)
    if ((permutation.valid >> lane & 1) != 0 && wave.active(permutation.from[static_cast<std::size_t>(lane)]))
      lanes |= std::uint64_t{1} << lane;
  return lanes;
}

void selectPart(std::uint8_t selection, bool signExtend, const std::uint32_t* from, std::uint32_t* into) {
  int shift = selection < 4 ? selection * 8 : selection == 5 ? 16 : 0;
  int width = selection < 4 ? 8 : selection < 6 ? 16 : 32;
  for (int lane = 0; lane < 64; ++lane) {
    std::uint32_t value = from[lane] << (32 - width - shift);
    into[lane] = signExtend ? static_cast<std::uint32_t>(static_cast<std::int32_t>(value) >> (32 - width)) : value >> (32 - width);
  }
}

/// Puts results into the selected part of the destination.
void mergePart(const SubDword& part, const std::uint32_t* old, std::uint32_t* values) {
  std::uint8_t selection = part.select[0];
  if (selection == 6) return;
  int shift = selection < 4 ? selection * 8 : selection == 5 ? 16 : 0;
  int width = selection < 4 ? 8 : 16;
  std::uint32_t mask = ((1U << width) - 1) << shift;
  for (int lane = 0; lane < 64; ++lane) {
    std::uint32_t value = values[lane] << shift & mask, rest = 0;
    if (part.unused == 2)
      rest = old[lane] & ~mask;
    else if (part.unused == 1 && (values[lane] >> (width - 1) & 1) != 0)
      rest = ~((mask << 1 | mask) | ((1U << shift) - 1)) & ~mask;
    values[lane] = value | rest;
  }
}

}  // namespace

std::uint64_t writtenLanes(const Wave& wave, const Instruction& instruction) {
  if (!instruction.permutation) return wave.exec;
  const LanePermutation& permutation = *instruction.permutation;
  std::uint64_t lanes = wave.exec & permutation.writable;
  return permutation.zeroInvalid ? lanes : lanes & sourceLanes(wave, permutation);
}

const std::uint32_t* fetchBits(Wave& wave, const Instruction& instruction, const Operand& operand, int number, std::uint32_t* scratch) {
  const std::uint32_t* row = operand.kind == Operand::Vector ? wave.row(operand.index) : scratch;
  if (row == scratch) {
    std::fill_n(scratch, 64, wave.scalar(operand));
  } else if (number == 0 && instruction.permutation) {
    const LanePermutation& permutation = *instruction.permutation;
    std::uint64_t readable = sourceLanes(wave, permutation);
    for (int lane = 0; lane < wave.lanes; ++lane)
      scratch[lane] = (readable >> lane & 1) != 0 ? row[permutation.from[static_cast<std::size_t>(lane)]] : 0;
    row = scratch;
  }
  if (instruction.subDword && number < 2) {
    selectPart(instruction.subDword->select[slot(number + 1)], operand.signExtend, row, scratch);
    row = scratch;
  }
  return row;
}

const std::uint32_t* fetchFloat(Wave& wave, const Instruction& instruction, const Operand& operand, int number, std::uint32_t* scratch) {
  const std::uint32_t* data = fetchBits(wave, instruction, operand, number, scratch);
  if (!operand.negate && !operand.absolute) return data;
  std::uint32_t keep = operand.absolute ? 0x7fffffff : 0xffffffff, flip = operand.negate ? 0x80000000 : 0;
  for (int lane = 0; lane < 64; ++lane) scratch[lane] = (data[lane] & keep) ^ flip;
  return scratch;
}

const std::uint32_t* fetch16(Wave& wave, const Instruction& instruction, const Operand& operand, int number, bool isFloat,
                             std::uint32_t* scratch) {
  const std::uint32_t* data = fetchBits(wave, instruction, operand, number, scratch);
  bool high = operand.half == 2 || (operand.half == 0 && (instruction.opSel >> number & 1) != 0);
  int shift = high && operand.kind != Operand::Constant ? 16 : 0;
  std::uint32_t keep = isFloat && operand.absolute ? 0x7fff : 0xffff, flip = isFloat && operand.negate ? 0x8000 : 0;
  for (int lane = 0; lane < 64; ++lane) scratch[lane] = ((data[lane] >> shift) & keep) ^ flip;
  return scratch;
}

void fetch64(Wave& wave, const Instruction& instruction, const Operand& operand, bool isFloat, std::uint64_t* into) {
  if (operand.kind != Operand::Vector) {
    std::fill_n(into, 64, wave.scalar64(operand));
  } else {
    std::uint32_t low[64], high[64];
    Operand part = operand;
    const std::uint32_t* lows = fetchBits(wave, instruction, part, 0, low);
    part.index = static_cast<std::uint16_t>(part.index + 1);
    const std::uint32_t* highs = fetchBits(wave, instruction, part, 0, high);
    if (instruction.permutation && &operand != &instruction.source(0)) lows = wave.row(operand.index), highs = wave.row(operand.index + 1);
    for (int lane = 0; lane < wave.lanes; ++lane) into[lane] = lows[lane] | static_cast<std::uint64_t>(highs[lane]) << 32;
  }
  if (!isFloat || (!operand.negate && !operand.absolute)) return;
  std::uint64_t sign = std::uint64_t{1} << 63;
  for (int lane = 0; lane < 64; ++lane)
    into[lane] = (into[lane] & (operand.absolute ? ~sign : ~std::uint64_t{0})) ^ (operand.negate ? sign : 0);
}

void store32(Wave& wave, const Instruction& instruction, std::uint32_t* values) {
  int index = instruction.operands[0].index;
  if (instruction.subDword) mergePart(*instruction.subDword, wave.row(index), values);
  wave.write(index, values, writtenLanes(wave, instruction));
}

void scaleAndClamp(const Instruction& instruction, float& value) {
  if (instruction.outputShift != 0) value = std::ldexp(value, instruction.outputShift);
  if (instruction.clamp) value = value > 0 ? std::min(value, 1.0F) : 0.0F;
}

void storeFloat(Wave& wave, const Instruction& instruction, std::uint32_t* values) {
  if (instruction.clamp || instruction.outputShift != 0)
    for (int lane = 0; lane < wave.lanes; ++lane) {
      auto value = std::bit_cast<float>(values[lane]);
      scaleAndClamp(instruction, value);
      values[lane] = std::bit_cast<std::uint32_t>(value);
    }
  store32(wave, instruction, values);
}

void store16(Wave& wave, const Instruction& instruction, std::uint32_t* values) {
  const Operand& destination = instruction.operands[0];
  if (instruction.clamp || instruction.outputShift != 0)
    for (int lane = 0; lane < wave.lanes; ++lane) {
      float value = halfToFloat(values[lane]);
      scaleAndClamp(instruction, value);
      values[lane] = floatToHalf(value);
    }
  if (instruction.subDword) return store32(wave, instruction, values);
  const std::uint32_t* old = wave.row(destination.index);
  bool high = destination.half == 2 || (destination.half == 0 && (instruction.opSel >> (instruction.count - instruction.writes) & 1) != 0);
  if (high)
    for (int lane = 0; lane < wave.lanes; ++lane) values[lane] = values[lane] << 16 | (old[lane] & 0xffff);
  else if (!wave.chip().clearsHighHalf() || instruction.keepsHigh)
    for (int lane = 0; lane < wave.lanes; ++lane) values[lane] |= old[lane] & 0xffff0000;
  wave.write(destination.index, values, writtenLanes(wave, instruction));
}

void store64(Wave& wave, const Instruction& instruction, const std::uint64_t* values) {
  std::uint32_t low[64], high[64];
  for (int lane = 0; lane < wave.lanes; ++lane) {
    std::uint64_t value = values[lane];
    low[lane] = static_cast<std::uint32_t>(value), high[lane] = static_cast<std::uint32_t>(value >> 32);
  }
  int index = instruction.operands[0].index;
  wave.write(index, low, writtenLanes(wave, instruction));
  wave.write(index + 1, high, writtenLanes(wave, instruction));
}

}  // namespace fattn::simulator
