// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic and bits of a lane.
#include <algorithm>
#include <bit>

#include "simulator/Execute.h"
#include "simulator/Lanes.h"

namespace fattn::simulator {
namespace {

using U = std::uint32_t;
using I = std::int32_t;
using U16 = std::uint16_t;
using I16 = std::int16_t;
using U64 = std::uint64_t;
using I64 = std::int64_t;

constexpr I signed24(U value) { return static_cast<I>(value << 8) >> 8; }
constexpr U bits(U value, U offset, U width) { return width == 0 ? 0 : (value >> (offset & 31)) & (width >= 32 ? ~0U : (1U << width) - 1); }

/// v_perm_b32: each byte of the selector names a byte of {a, b}, or a constant.
constexpr U permuteBytes(U a, U b, U selector) {
  U64 both = static_cast<U64>(a) << 32 | b;
  U result = 0;
  for (int at = 0; at < 32; at += 8) {
    U which = selector >> at & 0xff;
    U byte = which < 8     ? static_cast<U>(both >> (which * 8)) & 0xff
             : which < 12  ? (both >> (which * 16 - 113) & 1) * 0xff
             : which == 12 ? 0
                           : 0xff;
    result |= byte << at;
  }
  return result;
}

/// v_mov_b64: each register of the result is as undefined as that of the source. Compilers move pairs of which one half is used.
void moveWide(Wave& wave, const Instruction& instruction) {
  const U64 written = writtenLanes(wave, instruction);
  Operand from = instruction.source(0), into = instruction.operands[0];
  const int step = from.dwords - 1;  // a constant has one
  from.dwords = into.dwords = 1;
  U64 taints[2];
  for (U64& taint : taints) {
    taint = operandTaint(wave, instruction, from, 0);
    from.index = static_cast<std::uint16_t>(from.index + step);
  }
  lanes<[](U64 a) { return a; }>(wave, instruction);
  for (const U64 taint : taints) {
    setTaint(wave, into, written, taint);
    ++into.index;
  }
}

/// v_pack_b32_f16, whose sources may be negated.
void packHalves(Wave& wave, const Instruction& instruction) {
  alignas(64) U first[64], second[64];
  const U* low = fetch16(wave, instruction, instruction.source(0), 0, /*isFloat=*/true, first);
  const U* high = fetch16(wave, instruction, instruction.source(1), 1, /*isFloat=*/true, second);
  for (int lane = 0; lane < wave.lanes; ++lane) second[lane] = low[lane] | high[lane] << 16;
  store32(wave, instruction, second);
}

void addArithmetic(std::vector<Row>& rows) {
  rows.push_back(laneRow<[](U a, U b) { return a + b; }>("v_add_u32"));
  rows.push_back(laneRow<[](U a, U b) { return a - b; }>("v_sub_u32"));
  rows.push_back(laneRow<[](U a, U b) { return b - a; }>("v_subrev_u32"));
  rows.push_back(laneRow<[](U a, U b) { return a + b; }>("v_add_i32"));
  rows.push_back(laneRow<[](U a, U b) { return a - b; }>("v_sub_i32"));
  rows.push_back(laneRow<[](U a, U b) { return a * b; }>("v_mul_lo_u32"));
  rows.push_back(laneRow<[](U a, U b) { return static_cast<U>(static_cast<U64>(a) * b >> 32); }>("v_mul_hi_u32"));
  rows.push_back(laneRow<[](I a, I b) { return static_cast<U>(static_cast<U64>(static_cast<I64>(a) * b) >> 32); }>("v_mul_hi_i32"));
  rows.push_back(laneRow<[](U a, U b) { return (a & 0xffffff) * (b & 0xffffff); }>("v_mul_u32_u24"));
  rows.push_back(
      laneRow<[](U a, U b) { return static_cast<U>(static_cast<U64>(a & 0xffffff) * (b & 0xffffff) >> 32); }>("v_mul_hi_u32_u24"));
  rows.push_back(laneRow<[](U a, U b) { return static_cast<U>(static_cast<I64>(signed24(a)) * signed24(b)); }>("v_mul_i32_i24"));
  rows.push_back(laneRow<[](U a, U b) { return static_cast<U>(static_cast<U64>(static_cast<I64>(signed24(a)) * signed24(b)) >> 32); }>(
      "v_mul_hi_i32_i24"));
  rows.push_back(laneRow<[](U a, U b, U c) { return (a & 0xffffff) * (b & 0xffffff) + c; }>("v_mad_u32_u24"));
  rows.push_back(laneRow<[](U a, U b, U c) { return static_cast<U>(static_cast<I64>(signed24(a)) * signed24(b)) + c; }>("v_mad_i32_i24"));
  rows.push_back(laneRow<[](U a, U b, U c) { return a + b + c; }>("v_add3_u32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return (a << (b & 31)) + c; }>("v_lshl_add_u32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return (a + b) << (c & 31); }>("v_add_lshl_u32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return (a ^ b) + c; }>("v_xad_u32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return (a > b ? a - b : b - a) + c; }>("v_sad_u32"));
  rows.push_back(laneRow<[](U64 a, U b, U64 c) { return (a << (b & 7)) + c; }>("v_lshl_add_u64"));
}

void addMinimum(std::vector<Row>& rows) {
  rows.push_back(laneRow<[](U a, U b) { return std::min(a, b); }>("v_min_u32"));
  rows.push_back(laneRow<[](U a, U b) { return std::max(a, b); }>("v_max_u32"));
  rows.push_back(laneRow<[](I a, I b) { return std::min(a, b); }>("v_min_i32"));
  rows.push_back(laneRow<[](I a, I b) { return std::max(a, b); }>("v_max_i32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return std::min(std::min(a, b), c); }>("v_min3_u32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return std::max(std::max(a, b), c); }>("v_max3_u32"));
  rows.push_back(laneRow<[](I a, I b, I c) { return std::min(std::min(a, b), c); }>("v_min3_i32"));
  rows.push_back(laneRow<[](I a, I b, I c) { return std::max(std::max(a, b), c); }>("v_max3_i32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }>("v_med3_u32"));
  rows.push_back(laneRow<[](I a, I b, I c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }>("v_med3_i32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return std::min(std::max(a, b), c); }>("v_maxmin_u32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return std::max(std::min(a, b), c); }>("v_minmax_u32"));
  rows.push_back(laneRow<[](I a, I b, I c) { return std::min(std::max(a, b), c); }>("v_maxmin_i32"));
  rows.push_back(laneRow<[](I a, I b, I c) { return std::max(std::min(a, b), c); }>("v_minmax_i32"));
}

void addBits(std::vector<Row>& rows) {
  rows.push_back(laneRow<[](U a) { return a; }>("v_mov_b32"));
  rows.push_back(laneRow<[](U64 a) { return a; }>("v_mov_b64"));
  rows.back().handler = moveWide;
  rows.back().plainTaint = false;
  rows.push_back(laneRow<[](U a) { return a; }>("v_accvgpr_read_b32"));
  rows.push_back(laneRow<[](U a) { return a; }>("v_accvgpr_write_b32"));
  rows.push_back(laneRow<[](U a) { return a; }>("v_accvgpr_mov_b32"));
  rows.push_back(laneRow<[](U a) { return ~a; }>("v_not_b32"));
  rows.push_back(laneRow<[](U a, U b) { return a & b; }>("v_and_b32"));
  rows.push_back(laneRow<[](U a, U b) { return a | b; }>("v_or_b32"));
  rows.push_back(laneRow<[](U a, U b) { return a ^ b; }>("v_xor_b32"));
  rows.push_back(laneRow<[](U a, U b) { return ~(a ^ b); }>("v_xnor_b32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return (a & b) | c; }>("v_and_or_b32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return a | b | c; }>("v_or3_b32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return a ^ b ^ c; }>("v_xor3_b32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return (a & b) | (~a & c); }>("v_bfi_b32"));
  rows.push_back(laneRow<[](U a, U b) { return ((1U << (a & 31)) - 1) << (b & 31); }>("v_bfm_b32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return bits(a, b, c & 31); }>("v_bfe_u32"));
  rows.push_back(laneRow<[](U a, U b, U c) {
    U width = c & 31, value = bits(a, b, width), sign = width == 0 ? 0 : 1U << (width - 1);
    return (value ^ sign) - sign;
  }>("v_bfe_i32"));
  rows.push_back(laneRow<[](U a) {
    a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
    a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
    a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
    a = (a >> 8 & 0x00ff00ff) | (a & 0x00ff00ff) << 8;
    return (a >> 16 | a << 16);
  }>("v_bfrev_b32"));
  rows.push_back(laneRow<[](U a, U b) { return static_cast<U>(std::popcount(a)) + b; }>("v_bcnt_u32_b32"));
  rows.push_back(laneRow<[](U a) { return a == 0 ? ~0U : static_cast<U>(std::countr_zero(a)); }>("v_ffbl_b32"));
  rows.push_back(laneRow<[](U a) { return a == 0 ? ~0U : static_cast<U>(std::countl_zero(a)); }>("v_ffbh_u32"));
  rows.push_back(laneRow<[](I a) { return a == 0 || a == -1 ? ~0U : static_cast<U>(std::countl_zero(static_cast<U>(a < 0 ? ~a : a))); }>(
      "v_ffbh_i32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return permuteBytes(a, b, c); }>("v_perm_b32"));
}

void addShifts(std::vector<Row>& rows) {
  rows.push_back(laneRow<[](U a, U b) { return b << (a & 31); }>("v_lshlrev_b32"));
  rows.push_back(laneRow<[](U a, U b) { return (b >> (a & 31)); }>("v_lshrrev_b32"));
  rows.push_back(laneRow<[](U a, I b) { return (b >> (a & 31)); }>("v_ashrrev_i32"));
  rows.push_back(laneRow<[](U a, U64 b) { return b << (a & 63); }>("v_lshlrev_b64"));
  rows.push_back(laneRow<[](U a, U64 b) { return (b >> (a & 63)); }>("v_lshrrev_b64"));
  rows.push_back(laneRow<[](U a, I64 b) { return (b >> (a & 63)); }>("v_ashrrev_i64"));
  rows.push_back(laneRow<[](U a, U b, U c) { return (a << (b & 31)) | c; }>("v_lshl_or_b32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return static_cast<U>((static_cast<U64>(a) << 32 | b) >> (c & 31)); }>("v_alignbit_b32"));
  rows.push_back(laneRow<[](U a, U b, U c) { return static_cast<U>((static_cast<U64>(a) << 32 | b) >> (c & 3) * 8); }>("v_alignbyte_b32"));
}

void addSixteenBits(std::vector<Row>& rows) {
  rows.push_back(laneRow<[](U16 a) { return a; }>("v_mov_b16"));
  rows.push_back(laneRow<[](U16 a) { return static_cast<U16>(~a); }>("v_not_b16"));
  rows.push_back(laneRow<[](U16 a, U16 b) { return static_cast<U16>(a & b); }>("v_and_b16"));
  rows.push_back(laneRow<[](U16 a, U16 b) { return static_cast<U16>(a | b); }>("v_or_b16"));
  rows.push_back(laneRow<[](U16 a, U16 b) { return static_cast<U16>(a ^ b); }>("v_xor_b16"));
  rows.push_back(laneRow<[](U16 a, U16 b) { return static_cast<U16>(a + b); }>("v_add_u16"));
  rows.push_back(laneRow<[](U16 a, U16 b) { return static_cast<U16>(a - b); }>("v_sub_u16"));
  rows.push_back(laneRow<[](U16 a, U16 b) { return static_cast<U16>(b - a); }>("v_subrev_u16"));
  rows.push_back(laneRow<[](U16 a, U16 b) { return static_cast<U16>(static_cast<U>(a) * b); }>("v_mul_lo_u16"));
  rows.push_back(laneRow<[](U16 a, U16 b) { return static_cast<U16>(b << (a & 15)); }>("v_lshlrev_b16"));
  rows.push_back(laneRow<[](U16 a, U16 b) { return static_cast<U16>(b >> (a & 15)); }>("v_lshrrev_b16"));
  rows.push_back(laneRow<[](U16 a, I16 b) { return static_cast<I16>(b >> (a & 15)); }>("v_ashrrev_i16"));
  rows.push_back(laneRow<[](U16 a, U16 b) { return std::min(a, b); }>("v_min_u16"));
  rows.push_back(laneRow<[](U16 a, U16 b) { return std::max(a, b); }>("v_max_u16"));
  rows.push_back(laneRow<[](I16 a, I16 b) { return std::min(a, b); }>("v_min_i16"));
  rows.push_back(laneRow<[](I16 a, I16 b) { return std::max(a, b); }>("v_max_i16"));
  rows.push_back(keepingHigh(laneRow<[](U16 a, U16 b, U16 c) { return std::min(std::min(a, b), c); }>("v_min3_u16")));
  rows.push_back(keepingHigh(laneRow<[](I16 a, I16 b, I16 c) { return std::min(std::min(a, b), c); }>("v_min3_i16")));
  rows.push_back(keepingHigh(laneRow<[](U16 a, U16 b, U16 c) { return std::max(std::max(a, b), c); }>("v_max3_u16")));
  rows.push_back(keepingHigh(laneRow<[](I16 a, I16 b, I16 c) { return std::max(std::max(a, b), c); }>("v_max3_i16")));
  rows.push_back(
      keepingHigh(laneRow<[](U16 a, U16 b, U16 c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }>("v_med3_u16")));
  rows.push_back(
      keepingHigh(laneRow<[](I16 a, I16 b, I16 c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }>("v_med3_i16")));
  rows.push_back(keepingHigh(laneRow<[](U16 a, U16 b, U16 c) { return static_cast<U16>(static_cast<U>(a) * b + c); }>("v_mad_u16")));
  rows.push_back(keepingHigh(laneRow<[](U16 a, U16 b, U16 c) { return static_cast<U16>(static_cast<U>(a) * b + c); }>("v_mad_i16")));
  rows.push_back(laneRow<[](U16 a, U16 b, U c) { return static_cast<U>(a) * b + c; }>("v_mad_u32_u16"));
  Row packs = laneRow<[](U16 a, U16 b) { return static_cast<U>(a) | static_cast<U>(b) << 16; }>("v_pack_b32_f16");
  packs.handler = packHalves;
  packs.sources.fill(Type::F16);
  rows.push_back(besideEachOther(packs));
}

}  // namespace

std::vector<Row> integerRows() {
  std::vector<Row> rows;
  addArithmetic(rows);
  addMinimum(rows);
  addBits(rows);
  addShifts(rows);
  addSixteenBits(rows);
  return rows;
}

}  // namespace fattn::simulator
