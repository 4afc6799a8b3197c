// SPDX-License-Identifier: Apache-2.0
// Bits of scalar registers: logic, shifts, fields, and EXEC saved and changed in one.
#include <bit>

#include "simulator/ScalarFunctions.h"

namespace fattn::simulator {
namespace {

using U = std::uint32_t;
using I = std::int32_t;
using U64 = std::uint64_t;
using I64 = std::int64_t;

enum class Logic : std::uint8_t { And, Or, Xor, Nand, Nor, Xnor, AndNot, OrNot };

U64 logic(Logic what, U64 a, U64 b) {
  switch (what) {
    case Logic::And:
      return a & b;
    case Logic::Or:
      return a | b;
    case Logic::Xor:
      return a ^ b;
    case Logic::Nand:
      return ~(a & b);
    case Logic::Nor:
      return ~(a | b);
    case Logic::Xnor:
      return ~(a ^ b);
    case Logic::AndNot:
      return a & ~b;
    case Logic::OrNot:
      return a | ~b;
  }
  return 0;
}

/// Bits of the result that depend on undefined ones: those that change where an undefined bit is one or the other.
U64 logicTaint(Logic what, U64 a, U64 b, U64 undefinedA, U64 undefinedB) {
  U64 first = logic(what, a, b);
  U64 varied = (first ^ logic(what, a ^ undefinedA, b)) | (first ^ logic(what, a, b ^ undefinedB)) |
               (first ^ logic(what, a ^ undefinedA, b ^ undefinedB));
  return varied;
}

template <Logic what, class T>
void bitwise(Wave& wave, const Instruction& instruction) {
  const Operand &first = instruction.source(0), &second = instruction.source(1);
  U64 a = wave.scalar64(first), b = wave.scalar64(second), ua = wave.scalarUndefined64(first), ub = wave.scalarUndefined64(second);
  auto result = static_cast<T>(logic(what, a, b));
  auto undefined = static_cast<T>(logicTaint(what, a, b, ua, ub));
  if constexpr (sizeof(T) == 8)
    wave.setScalar64(instruction.operands[0].index, result, undefined);
  else
    wave.setScalar(instruction.operands[0].index, result, undefined);
  wave.setScc(result != 0, undefined != 0);
}

template <class T>
void invert(Wave& wave, const Instruction& instruction) {
  const Operand& source = instruction.source(0);
  auto result = static_cast<T>(~wave.scalar64(source)), undefined = static_cast<T>(wave.scalarUndefined64(source));
  if constexpr (sizeof(T) == 8)
    wave.setScalar64(instruction.operands[0].index, result, undefined);
  else
    wave.setScalar(instruction.operands[0].index, result, undefined);
  wave.setScc(result != 0, undefined != 0);
}

/// D = EXEC; EXEC = source OP EXEC.
template <Logic what>
void saveExec(Wave& wave, const Instruction& instruction) {
  const Operand& source = instruction.source(0);
  if (wave.laneMaskUndefined(source) != 0) violate("sets EXEC to a value that nobody has written");
  U64 old = wave.exec, value = logic(what, wave.laneMask(source), old) & wave.allLanes;
  wave.setLaneMask(instruction.operands[0].index, old);
  wave.setExec(value);
  wave.setScc(value != 0);
}

void addSaveExec(std::vector<Row>& rows) {
  for (auto name : {"s_and_saveexec_b64", "s_and_saveexec_b32"}) rows.push_back(ownRow(name, saveExec<Logic::And>, 1, Type::B64));
  for (auto name : {"s_or_saveexec_b64", "s_or_saveexec_b32"}) rows.push_back(ownRow(name, saveExec<Logic::Or>, 1, Type::B64));
  for (auto name : {"s_xor_saveexec_b64", "s_xor_saveexec_b32"}) rows.push_back(ownRow(name, saveExec<Logic::Xor>, 1, Type::B64));
  for (auto name : {"s_andn2_saveexec_b64", "s_andn2_saveexec_b32"}) rows.push_back(ownRow(name, saveExec<Logic::AndNot>, 1, Type::B64));
  for (auto name : {"s_orn2_saveexec_b64", "s_orn2_saveexec_b32"}) rows.push_back(ownRow(name, saveExec<Logic::OrNot>, 1, Type::B64));
}

template <Logic what>
void addLogic(std::vector<Row>& rows, std::string_view name32, std::string_view name64) {
  rows.push_back(ownRow(name32, bitwise<what, U>, 1));
  rows.push_back(ownRow(name64, bitwise<what, U64>, 1, Type::B64));
}

void addScalarShifts(std::vector<Row>& rows) {
  constexpr Scc kScc = Scc::NonZero;
  rows.push_back(scalarRow<[](U a, U b) { return a << (b & 31); }, kScc>("s_lshl_b32"));
  rows.push_back(scalarRow<[](U a, U b) { return (a >> (b & 31)); }, kScc>("s_lshr_b32"));
  rows.push_back(scalarRow<[](I a, U b) { return (a >> (b & 31)); }, kScc>("s_ashr_i32"));
  rows.push_back(scalarRow<[](U64 a, U b) { return a << (b & 63); }, kScc>("s_lshl_b64"));
  rows.push_back(scalarRow<[](U64 a, U b) { return (a >> (b & 63)); }, kScc>("s_lshr_b64"));
  rows.push_back(scalarRow<[](I64 a, U b) { return (a >> (b & 63)); }, kScc>("s_ashr_i64"));
  rows.push_back(scalarRow<[](U a, U b) { return ((1U << (a & 31)) - 1) << (b & 31); }>("s_bfm_b32"));
  rows.push_back(scalarRow<[](U a, U b) { return ((U64{1} << (a & 63)) - 1) << (b & 63); }>("s_bfm_b64"));
}

/// Bits offset .. offset + width of a, sign-extended for signed types. The field has its offset in bits 0 .. 5 and its width in bits 16
/// .. 22.
template <class T>
T field(T a, U description) {
  constexpr U kBits = sizeof(T) * 8;
  U offset = description & (kBits - 1), width = description >> 16 & 0x7f;
  if (width == 0) return 0;
  if (offset + width >= kBits) return a >> offset;
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << (kBits - offset - width)) >> (kBits - width);
}

/// Bits outside of the field may be undefined: compilers extend a number in the lower half of a pair whose upper half nobody has written.
template <class T>
void takeField(Wave& wave, const Instruction& instruction) {
  const Operand &from = instruction.source(0), &described = instruction.source(1);
  const U description = wave.scalar(described);
  const auto value = scalarValue<T>(wave, from);
  const auto taint = static_cast<T>(sizeof(T) == 8 ? wave.scalarUndefined64(from) : wave.scalarUndefined(from));
  const bool undefined = wave.scalarUndefined(described) != 0 || field(taint, description) != 0;
  const T result = field(value, description);
  setScalarResult(wave, instruction.operands[0], result, undefined);
  wave.setScc(result != 0, undefined);
}

template <class T>
Row fieldRow(std::string_view name) {
  Row row = scalarRow<[](T a, U b) { return field(a, b); }, Scc::NonZero>(name);
  row.handler = takeField<T>;
  return row;
}

void addFields(std::vector<Row>& rows) {
  rows.push_back(fieldRow<U>("s_bfe_u32"));
  rows.push_back(fieldRow<I>("s_bfe_i32"));
  rows.push_back(fieldRow<U64>("s_bfe_u64"));
  rows.push_back(fieldRow<I64>("s_bfe_i64"));
  rows.push_back(scalarRow<[](U a, U b) { return (a & 0xffff) | b << 16; }>("s_pack_ll_b32_b16"));
  rows.push_back(scalarRow<[](U a, U b) { return (a & 0xffff) | (b & 0xffff0000); }>("s_pack_lh_b32_b16"));
  rows.push_back(scalarRow<[](U a, U b) { return (a >> 16 | (b & 0xffff0000)); }>("s_pack_hh_b32_b16"));
  rows.push_back(scalarRow<[](U a, U b) { return (a >> 16 | b << 16); }>("s_pack_hl_b32_b16"));
  rows.push_back(scalarRow<[](U a) { return static_cast<I>(static_cast<std::int8_t>(a)); }>("s_sext_i32_i8"));
  rows.push_back(scalarRow<[](U a) { return static_cast<I>(static_cast<std::int16_t>(a)); }>("s_sext_i32_i16"));
}

void addCounts(std::vector<Row>& rows) {
  rows.push_back(scalarRow<[](U a) { return static_cast<U>(std::popcount(a)); }, Scc::NonZero>("s_bcnt1_i32_b32"));
  rows.push_back(scalarRow<[](U64 a) { return static_cast<U>(std::popcount(a)); }, Scc::NonZero>("s_bcnt1_i32_b64"));
  rows.push_back(scalarRow<[](U a) { return a == 0 ? ~0U : static_cast<U>(std::countr_zero(a)); }>("s_ff1_i32_b32"));
  rows.push_back(scalarRow<[](U64 a) { return a == 0 ? ~0U : static_cast<U>(std::countr_zero(a)); }>("s_ff1_i32_b64"));
  rows.push_back(scalarRow<[](U a) { return a == 0 ? ~0U : static_cast<U>(std::countl_zero(a)); }>("s_flbit_i32_b32"));
  rows.push_back(scalarRow<[](U64 a) { return a == 0 ? ~0U : static_cast<U>(std::countl_zero(a)); }>("s_flbit_i32_b64"));
  rows.push_back(scalarRow<[](I a) { return a == 0 || a == -1 ? ~0U : static_cast<U>(std::countl_zero(static_cast<U>(a < 0 ? ~a : a))); }>(
      "s_flbit_i32"));
  rows.push_back(scalarRow<[](U a) {
    U result = 0;
    for (int bit = 0; bit < 32; ++bit) result |= (a >> bit & 1) << (31 - bit);
    return result;
  }>("s_brev_b32"));
  Row set = scalarRow<[](U a, U old) { return old | 1U << (a & 31); }>("s_bitset1_b32");
  Row clear = scalarRow<[](U a, U old) { return old & ~(1U << (a & 31)); }>("s_bitset0_b32");
  set.readsDestination = clear.readsDestination = true;
  rows.push_back(set);
  rows.push_back(clear);
}

}  // namespace

std::vector<Row> scalarBitRows() {
  std::vector<Row> rows;
  addLogic<Logic::And>(rows, "s_and_b32", "s_and_b64");
  addLogic<Logic::Or>(rows, "s_or_b32", "s_or_b64");
  addLogic<Logic::Xor>(rows, "s_xor_b32", "s_xor_b64");
  addLogic<Logic::Nand>(rows, "s_nand_b32", "s_nand_b64");
  addLogic<Logic::Nor>(rows, "s_nor_b32", "s_nor_b64");
  addLogic<Logic::Xnor>(rows, "s_xnor_b32", "s_xnor_b64");
  addLogic<Logic::AndNot>(rows, "s_andn2_b32", "s_andn2_b64");
  addLogic<Logic::OrNot>(rows, "s_orn2_b32", "s_orn2_b64");
  rows.push_back(ownRow("s_not_b32", invert<U>, 1));
  rows.push_back(ownRow("s_not_b64", invert<U64>, 1, Type::B64));
  addSaveExec(rows);
  addScalarShifts(rows);
  addFields(rows);
  addCounts(rows);
  return rows;
}

}  // namespace fattn::simulator
