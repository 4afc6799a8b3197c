// SPDX-License-Identifier: Apache-2.0
// Scalar arithmetic, comparisons and selection.
#include <algorithm>
#include <cstdlib>

#include "simulator/ScalarFunctions.h"

namespace fattn::simulator {
namespace {

using U = std::uint32_t;
using I = std::int32_t;
using U64 = std::uint64_t;
using I64 = std::int64_t;

/// a + b + carry, or a - b - carry, of 32 bits, with SCC as the carry or the borrow.
template <bool subtract, bool takesCarry>
void unsignedSum(Wave& wave, const Instruction& instruction) {
  const Operand &first = instruction.source(0), &second = instruction.source(1);
  bool undefined = scalarIsUndefined(wave, first) || scalarIsUndefined(wave, second) || (takesCarry && wave.sccUndefined);
  U64 a = wave.scalar(first), b = wave.scalar(second), carry = takesCarry && wave.scc ? 1 : 0;
  U64 result = subtract ? a - b - carry : a + b + carry;
  setScalarResult(wave, instruction.operands[0], static_cast<U>(result), undefined);
  wave.setScc(subtract ? b + carry > a : result >> 32 != 0, undefined);
}

/// s_movk and the like have a constant of 16 bits, which is sign-extended.
I extended(U value) { return static_cast<std::int16_t>(value); }

/// The same for signed numbers, with SCC as the overflow.
void setSignedSum(Wave& wave, const Operand& into, I64 result, bool undefined) {
  setScalarResult(wave, into, static_cast<U>(result), undefined);
  wave.setScc(result != static_cast<I>(result), undefined);
}

template <bool subtract>
void signedSum(Wave& wave, const Instruction& instruction) {
  const Operand &first = instruction.source(0), &second = instruction.source(1);
  I64 a = static_cast<I>(wave.scalar(first)), b = static_cast<I>(wave.scalar(second));
  setSignedSum(wave, instruction.operands[0], subtract ? a - b : a + b, scalarIsUndefined(wave, first) || scalarIsUndefined(wave, second));
}

void addConstant(Wave& wave, const Instruction& instruction) {
  const Operand& changed = instruction.operands[0];
  I64 a = static_cast<I>(wave.scalar(changed)), b = extended(wave.scalar(instruction.source(0)));
  setSignedSum(wave, changed, a + b, scalarIsUndefined(wave, changed));
}

/// s_min and s_max: SCC says that the first one was taken.
template <class T, bool largest>
void extreme(Wave& wave, const Instruction& instruction) {
  const Operand &first = instruction.source(0), &second = instruction.source(1);
  bool undefined = scalarIsUndefined(wave, first) || scalarIsUndefined(wave, second);
  T a = scalarValue<T>(wave, first), b = scalarValue<T>(wave, second);
  bool takeFirst = largest ? a >= b : a < b;
  setScalarResult(wave, instruction.operands[0], takeFirst ? a : b, undefined);
  wave.setScc(takeFirst, undefined);
}

template <class T>
void conditionalSelect(Wave& wave, const Instruction& instruction) {
  const Operand& taken = instruction.source(wave.scc ? 0 : 1);
  setScalarResult(wave, instruction.operands[0], scalarValue<T>(wave, taken), wave.sccUndefined || scalarIsUndefined(wave, taken));
}

template <class T>
void conditionalMove(Wave& wave, const Instruction& instruction) {
  const Operand& taken = wave.scc ? instruction.source(0) : instruction.operands[0];
  setScalarResult(wave, instruction.operands[0], scalarValue<T>(wave, taken), wave.sccUndefined || scalarIsUndefined(wave, taken));
}

void addSums(std::vector<Row>& rows) {
  for (auto name : {"s_add_u32", "s_add_co_u32"}) rows.push_back(ownRow(name, unsignedSum<false, false>, 1));
  for (auto name : {"s_sub_u32", "s_sub_co_u32"}) rows.push_back(ownRow(name, unsignedSum<true, false>, 1));
  for (auto name : {"s_addc_u32", "s_add_co_ci_u32"}) rows.push_back(ownRow(name, unsignedSum<false, true>, 1));
  for (auto name : {"s_subb_u32", "s_sub_co_ci_u32"}) rows.push_back(ownRow(name, unsignedSum<true, true>, 1));
  for (auto name : {"s_add_i32", "s_add_co_i32"}) rows.push_back(ownRow(name, signedSum<false>, 1));
  for (auto name : {"s_addk_i32", "s_addk_co_i32"}) rows.push_back(ownRow(name, addConstant, 1));
  for (auto name : {"s_sub_i32", "s_sub_co_i32"}) rows.push_back(ownRow(name, signedSum<true>, 1));
  rows.push_back(ownRow("s_min_u32", extreme<U, false>, 1));
  rows.push_back(ownRow("s_max_u32", extreme<U, true>, 1));
  rows.push_back(ownRow("s_min_i32", extreme<I, false>, 1));
  rows.push_back(ownRow("s_max_i32", extreme<I, true>, 1));
  rows.push_back(scalarRow<[](U a, U b) { return a * b; }>("s_mul_i32"));
  rows.push_back(scalarRow<[](U a, U b) { return static_cast<U>(static_cast<U64>(a) * b >> 32); }>("s_mul_hi_u32"));
  rows.push_back(scalarRow<[](I a, I b) { return static_cast<U>(static_cast<U64>(static_cast<I64>(a) * b) >> 32); }>("s_mul_hi_i32"));
  rows.push_back(scalarRow<[](U64 a, U64 b) { return a * b; }>("s_mul_u64"));
  rows.push_back(scalarRow<[](U64 a, U64 b) { return a + b; }>("s_add_nc_u64"));
  rows.push_back(scalarRow<[](U64 a, U64 b) { return a - b; }>("s_sub_nc_u64"));
  rows.push_back(scalarRow<[](I a, I b) { return static_cast<U>(std::llabs(static_cast<I64>(a) - b)); }, Scc::NonZero>("s_absdiff_i32"));
  rows.push_back(scalarRow<[](I a) { return static_cast<U>(std::llabs(static_cast<I64>(a))); }, Scc::NonZero>("s_abs_i32"));
  Row multiplied = scalarRow<[](U b, U a) { return a * static_cast<U>(extended(b)); }>("s_mulk_i32");
  multiplied.readsDestination = true;
  rows.push_back(multiplied);
}

/// (a << bits) + b, with SCC as the carry.
template <int bits>
void shiftedSum(Wave& wave, const Instruction& instruction) {
  const Operand &first = instruction.source(0), &second = instruction.source(1);
  bool undefined = scalarIsUndefined(wave, first) || scalarIsUndefined(wave, second);
  U64 result = (static_cast<U64>(wave.scalar(first)) << bits) + wave.scalar(second);
  setScalarResult(wave, instruction.operands[0], static_cast<U>(result), undefined);
  wave.setScc(result >> 32 != 0, undefined);
}

void addMoves(std::vector<Row>& rows) {
  rows.push_back(scalarRow<[](U a) { return a; }>("s_mov_b32"));
  rows.push_back(scalarRow<[](U64 a) { return a; }>("s_mov_b64"));
  rows.push_back(scalarRow<[](U a) { return static_cast<U>(extended(a)); }>("s_movk_i32"));
  rows.push_back(ownRow("s_cselect_b32", conditionalSelect<U>, 1));
  rows.push_back(ownRow("s_cselect_b64", conditionalSelect<U64>, 1, Type::B64));
  rows.push_back(ownRow("s_cmov_b32", conditionalMove<U>, 1));
  rows.push_back(ownRow("s_cmov_b64", conditionalMove<U64>, 1, Type::B64));
  rows.push_back(ownRow("s_lshl1_add_u32", shiftedSum<1>, 1));
  rows.push_back(ownRow("s_lshl2_add_u32", shiftedSum<2>, 1));
  rows.push_back(ownRow("s_lshl3_add_u32", shiftedSum<3>, 1));
  rows.push_back(ownRow("s_lshl4_add_u32", shiftedSum<4>, 1));
}

void addComparisons(std::vector<Row>& rows) {
  constexpr Scc kScc = Scc::Result;
  rows.push_back(scalarRow<[](U a, U b) { return a == b; }, kScc>("s_cmp_eq_u32"));
  rows.push_back(scalarRow<[](U a, U b) { return a == b; }, kScc>("s_cmp_eq_i32"));
  rows.push_back(scalarRow<[](U a, U b) { return a != b; }, kScc>("s_cmp_lg_u32"));
  rows.push_back(scalarRow<[](U a, U b) { return a != b; }, kScc>("s_cmp_lg_i32"));
  rows.push_back(scalarRow<[](U a, U b) { return a < b; }, kScc>("s_cmp_lt_u32"));
  rows.push_back(scalarRow<[](U a, U b) { return a <= b; }, kScc>("s_cmp_le_u32"));
  rows.push_back(scalarRow<[](U a, U b) { return (a > b); }, kScc>("s_cmp_gt_u32"));
  rows.push_back(scalarRow<[](U a, U b) { return a >= b; }, kScc>("s_cmp_ge_u32"));
  rows.push_back(scalarRow<[](I a, I b) { return a < b; }, kScc>("s_cmp_lt_i32"));
  rows.push_back(scalarRow<[](I a, I b) { return a <= b; }, kScc>("s_cmp_le_i32"));
  rows.push_back(scalarRow<[](I a, I b) { return (a > b); }, kScc>("s_cmp_gt_i32"));
  rows.push_back(scalarRow<[](I a, I b) { return a >= b; }, kScc>("s_cmp_ge_i32"));
  rows.push_back(scalarRow<[](U64 a, U64 b) { return a == b; }, kScc>("s_cmp_eq_u64"));
  rows.push_back(scalarRow<[](U64 a, U64 b) { return a != b; }, kScc>("s_cmp_lg_u64"));
  rows.push_back(scalarRow<[](U a, U b) { return (a >> (b & 31) & 1) == 0; }, kScc>("s_bitcmp0_b32"));
  rows.push_back(scalarRow<[](U a, U b) { return (a >> (b & 31) & 1) != 0; }, kScc>("s_bitcmp1_b32"));
  rows.push_back(scalarRow<[](U64 a, U b) { return (a >> (b & 63) & 1) == 0; }, kScc>("s_bitcmp0_b64"));
  rows.push_back(scalarRow<[](U64 a, U b) { return (a >> (b & 63) & 1) != 0; }, kScc>("s_bitcmp1_b64"));
  // With a constant of 16 bits: the disassembler prints it sign-extended for signed comparisons.
  rows.push_back(scalarRow<[](U a, U b) { return a == static_cast<U>(extended(b)); }, kScc>("s_cmpk_eq_i32"));
  rows.push_back(scalarRow<[](U a, U b) { return a != static_cast<U>(extended(b)); }, kScc>("s_cmpk_lg_i32"));
  rows.push_back(scalarRow<[](I a, U b) { return a < extended(b); }, kScc>("s_cmpk_lt_i32"));
  rows.push_back(scalarRow<[](I a, U b) { return a <= extended(b); }, kScc>("s_cmpk_le_i32"));
  rows.push_back(scalarRow<[](I a, U b) { return (a > extended(b)); }, kScc>("s_cmpk_gt_i32"));
  rows.push_back(scalarRow<[](I a, U b) { return a >= extended(b); }, kScc>("s_cmpk_ge_i32"));
  rows.push_back(scalarRow<[](U a, U b) { return a == (b & 0xffff); }, kScc>("s_cmpk_eq_u32"));
  rows.push_back(scalarRow<[](U a, U b) { return a != (b & 0xffff); }, kScc>("s_cmpk_lg_u32"));
  rows.push_back(scalarRow<[](U a, U b) { return a < (b & 0xffff); }, kScc>("s_cmpk_lt_u32"));
  rows.push_back(scalarRow<[](U a, U b) { return a <= (b & 0xffff); }, kScc>("s_cmpk_le_u32"));
  rows.push_back(scalarRow<[](U a, U b) { return (a > (b & 0xffff)); }, kScc>("s_cmpk_gt_u32"));
  rows.push_back(scalarRow<[](U a, U b) { return a >= (b & 0xffff); }, kScc>("s_cmpk_ge_u32"));
}

}  // namespace

std::vector<Row> scalarRows() {
  std::vector<Row> rows;
  addSums(rows);
  addMoves(rows);
  addComparisons(rows);
  return rows;
}

}  // namespace fattn::simulator
