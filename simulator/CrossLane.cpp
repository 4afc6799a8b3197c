// SPDX-License-Identifier: Apache-2.0
// Values that go from lane to lane, and between lanes and scalar registers.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "simulator/Execute.h"
#include "simulator/Lanes.h"
#include "simulator/ScalarFunctions.h"

namespace fattn::simulator {
namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;

/// Takes lane `from(lane)` of a register for each lane of EXEC; -1: zero. The result may be read when a wait covers it.
template <class From>
void gather(Wave& wave, int into, int source, From from) {
  Wave::Row values{};
  U64 undefined = 0;
  for (int lane = 0; lane < wave.lanes; ++lane) {
    if (!wave.active(lane)) continue;
    int other = from(lane);
    if (other < 0) continue;
    values[static_cast<std::size_t>(lane)] = wave.row(source)[other];
    undefined |= (wave.undefined(source) >> other & 1) << lane;
  }
  wave.write(into, values.data());
  wave.undefined(into) = (wave.undefined(into) & ~wave.exec) | undefined;
}

void issueLocal(Wave& wave, const Instruction& instruction) {
  wave.counters.issue({.counters = Counters::bit(Counter::Local),
                       .source = &instruction,
                       .registers = Operand::Vector,
                       .first = instruction.operands[0].index,
                       .count = 1});
}

/// Each lane names the lane that it takes from, times 4.
void backwardPermute(Wave& wave, const Instruction& instruction) {
  wave.checkDefined(instruction.source(0), "the number of a lane");
  const U* address = wave.row(instruction.source(0).index);
  gather(wave, instruction.operands[0].index, instruction.source(1).index, [&](int lane) {
    int from = static_cast<int>((address[lane] + static_cast<U>(instruction.offset)) / 4 % static_cast<U>(wave.lanes));
    return wave.active(from) ? from : -1;
  });
  issueLocal(wave, instruction);
}

/// Each lane names the lane that it gives to; the highest of several wins.
void forwardPermute(Wave& wave, const Instruction& instruction) {
  wave.checkDefined(instruction.source(0), "the number of a lane");
  const U* address = wave.row(instruction.source(0).index);
  std::array<int, 64> giver;
  giver.fill(-1);
  for (int lane = 0; lane < wave.lanes; ++lane)
    if (wave.active(lane)) giver[(address[lane] + static_cast<U>(instruction.offset)) / 4 % static_cast<U>(wave.lanes)] = lane;
  gather(wave, instruction.operands[0].index, instruction.source(1).index, [&](int lane) { return giver[static_cast<std::size_t>(lane)]; });
  issueLocal(wave, instruction);
}

/// The offset names a permutation of four lanes, or masks for the number of a lane among 32.
void swizzle(Wave& wave, const Instruction& instruction) {
  int pattern = static_cast<int>(instruction.raw & 0xffff);
  if (pattern >= 0xc000) violate(fmt::format("swizzles by the pattern {:#x}; simulated are permutations of four lanes and masks", pattern));
  gather(wave, instruction.operands[0].index, instruction.source(0).index, [&](int lane) {
    int from = (pattern & 0x8000) != 0 ? (lane & ~3) | (pattern >> (lane & 3) * 2 & 3)
                                       : (lane & ~31) | (((lane & pattern & 31) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
    return wave.active(from) ? from : -1;
  });
  issueLocal(wave, instruction);
}

/// Lane i of each 16 takes the lane that 4 bits of two scalars name, of its own 16 or (exchange) of the 16 beside them.
template <bool exchange>
void permuteRow(Wave& wave, const Instruction& instruction) {
  bool fetchInactive = (instruction.opSel & 1) != 0, zeroInvalid = (instruction.opSel & 2) != 0;
  wave.checkDefined(instruction.source(1), "the selection of lanes");
  wave.checkDefined(instruction.source(2), "the selection of lanes");
  U64 select = wave.scalar(instruction.source(1)) | static_cast<U64>(wave.scalar(instruction.source(2))) << 32;
  int into = instruction.operands[0].index, source = instruction.source(0).index;
  Wave::Row old = wave.rows[static_cast<std::size_t>(into)], from = wave.rows[static_cast<std::size_t>(source)];
  U64 oldUndefined = wave.undefined(into), sourceUndefined = wave.undefined(source), undefined = 0;
  for (int lane = 0; lane < wave.lanes; ++lane) {
    if (!wave.active(lane)) continue;
    int other = ((lane & ~15) ^ (exchange ? 16 : 0)) | static_cast<int>(select >> (lane & 15) * 4 & 15);
    auto at = static_cast<std::size_t>(lane);
    if (wave.active(other) || fetchInactive) {
      old[at] = from[static_cast<std::size_t>(other)];
      undefined |= (sourceUndefined >> other & 1) << lane;
    } else if (zeroInvalid) {
      old[at] = 0;
    } else {
      undefined |= (oldUndefined >> lane & 1) << lane;
    }
  }
  wave.write(into, old.data());
  wave.undefined(into) = (oldUndefined & ~wave.exec) | undefined;
}

/// The upper lanes of the first register change places with the lower ones of the second, in blocks of `block` lanes.
template <int block>
void swapBlocks(Wave& wave, const Instruction& instruction) {
  int first = instruction.operands[0].index, second = instruction.operands[1].index;
  U64 bothUndefined[2] = {wave.undefined(first), wave.undefined(second)};
  for (int lane = 0; lane < wave.lanes; ++lane) {
    if ((lane & block) == 0 || !wave.active(lane) || !wave.active(lane - block)) continue;
    std::swap(wave.row(first)[lane], wave.row(second)[lane - block]);
    U64 high = bothUndefined[0] >> lane & 1, low = bothUndefined[1] >> (lane - block) & 1;
    wave.undefined(first) = (wave.undefined(first) & ~(U64{1} << lane)) | low << lane;
    wave.undefined(second) = (wave.undefined(second) & ~(U64{1} << (lane - block))) | high << (lane - block);
  }
}

void swapRegisters(Wave& wave, const Instruction& instruction) {
  int first = instruction.operands[0].index, second = instruction.operands[1].index;
  Wave::Row a = wave.rows[static_cast<std::size_t>(first)], b = wave.rows[static_cast<std::size_t>(second)];
  U64 undefinedA = wave.undefined(first), undefinedB = wave.undefined(second);
  wave.write(first, b.data());
  wave.write(second, a.data());
  setTaint(wave, instruction.operands[0], wave.exec, undefinedB);
  setTaint(wave, instruction.operands[1], wave.exec, undefinedA);
}

int firstLane(const Wave& wave) { return wave.exec == 0 ? 0 : std::countr_zero(wave.exec); }

void readLane(Wave& wave, const Operand& into, const Operand& source, int lane) {
  if (source.kind != Operand::Vector) return wave.setScalar(into.index, wave.scalar(source), wave.scalarUndefined(source));
  wave.setScalar(into.index, wave.row(source.index)[lane], (wave.undefined(source.index) >> lane & 1) != 0 ? ~0U : 0);
}

void readFirstLane(Wave& wave, const Instruction& instruction) {
  readLane(wave, instruction.operands[0], instruction.source(0), firstLane(wave));
}

void readNamedLane(Wave& wave, const Instruction& instruction) {
  wave.checkDefined(instruction.source(1), "the number of a lane");
  readLane(wave, instruction.operands[0], instruction.source(0),
           static_cast<int>(wave.scalar(instruction.source(1)) % static_cast<U>(wave.lanes)));
}

void writeNamedLane(Wave& wave, const Instruction& instruction) {
  wave.checkDefined(instruction.source(1), "the number of a lane");
  U lane = wave.scalar(instruction.source(1)) % static_cast<U>(wave.lanes);
  int into = instruction.operands[0].index;
  wave.row(into)[lane] = wave.scalar(instruction.source(0));
  setTaint(wave, instruction.operands[0], U64{1} << lane, scalarIsUndefined(wave, instruction.source(0)) ? ~U64{0} : 0);
}

/// Bits of the mask below the lane, in the lower or upper 32 lanes, plus a number.
template <bool upper>
void countBelow(Wave& wave, const Instruction& instruction) {
  alignas(64) U masks[64], others[64];
  const U* mask = fetchBits(wave, instruction, instruction.source(0), 0, masks);
  const U* other = fetchBits(wave, instruction, instruction.source(1), 1, others);
  alignas(64) U result[64] = {};
  for (int lane = 0; lane < wave.lanes; ++lane) {
    int below = upper ? std::max(0, lane - 32) : std::min(lane, 32);
    U taken = below >= 32 ? ~0U : (1U << below) - 1;
    result[lane] = static_cast<U>(std::popcount(mask[lane] & taken)) + other[lane];
  }
  store32(wave, instruction, result);
}

Row plainRow(std::string_view name, Handler handler, std::uint8_t count) { return {.name = name, .handler = handler, .count = count}; }

}  // namespace

std::vector<Row> crossLaneRows() {
  std::vector<Row> rows;
  rows.push_back(ownRow("v_permlane16_b32", permuteRow<false>, 1));
  rows.push_back(ownRow("v_permlanex16_b32", permuteRow<true>, 1));
  rows.push_back(ownRow("v_permlane32_swap_b32", swapBlocks<32>, 2));
  rows.push_back(ownRow("v_permlane16_swap_b32", swapBlocks<16>, 2));
  rows.push_back(ownRow("v_swap_b32", swapRegisters, 2));
  rows.push_back(ownRow("v_readfirstlane_b32", readFirstLane, 1));
  rows.push_back(ownRow("v_readlane_b32", readNamedLane, 1));
  rows.push_back(ownRow("v_writelane_b32", writeNamedLane, 1));
  rows.push_back(plainRow("v_mbcnt_lo_u32_b32", countBelow<false>, 2));
  rows.push_back(plainRow("v_mbcnt_hi_u32_b32", countBelow<true>, 2));
  return rows;
}

std::vector<Row> localRows() {
  return {ownRow("ds_bpermute_b32", backwardPermute, 1), ownRow("ds_permute_b32", forwardPermute, 1), ownRow("ds_swizzle_b32", swizzle, 1)};
}

}  // namespace fattn::simulator
