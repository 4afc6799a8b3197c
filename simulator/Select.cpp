// SPDX-License-Identifier: Apache-2.0
// Comparisons, selection by their results, carries, and the steps of a division.
#include <bit>
#include <cmath>
#include <limits>

#include "simulator/Execute.h"
#include "simulator/Lanes.h"
#include "simulator/ScalarFunctions.h"

namespace fattn::simulator {
namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;

// The relation of two values is one of these; a comparison is the set of those for which it holds.
constexpr std::uint8_t kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8;

/// Writes the mask of lanes that a comparison gives: zero in lanes outside of EXEC.
void setMask(Wave& wave, const Instruction& instruction, U64 mask, U64 undefined) {
  mask &= wave.exec, undefined &= wave.exec;
  if (instruction.writes != 0) wave.setLaneMask(instruction.operands[0].index, mask, undefined);
  if (!instruction.mnemonic.starts_with("v_cmpx_")) return;
  if (undefined != 0) violate("sets EXEC by a comparison of values that nobody has written", std::countr_zero(undefined));
  wave.setExec(mask);
}

template <class T>
void compare(Wave& wave, const Instruction& instruction) {
  Source<T> first, second;
  first.fetch(wave, instruction, instruction.source(0), 0);
  second.fetch(wave, instruction, instruction.source(1), 1);
  U64 mask = 0;
  for (int lane = 0; lane < wave.lanes; ++lane) {
    auto value = [](auto x) {
      if constexpr (std::is_same_v<decltype(x), Half>)
        return x.value;
      else
        return x;
    };
    auto a = value(first.at(lane)), b = value(second.at(lane));
    std::uint8_t relation = a < b ? kLess : a == b ? kEqual : a > b ? kGreater : kUnordered;
    mask |= static_cast<U64>((instruction.parameter & relation) != 0) << lane;
  }
  setMask(wave, instruction, mask, sourceTaint(wave, instruction));
}

/// Bits of the second source: 0 signaling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0 .. 9 +inf.
template <class T>
void compareClass(Wave& wave, const Instruction& instruction) {
  constexpr bool kWide = std::is_same_v<T, float>;
  constexpr int kSign = kWide ? 31 : 15;
  constexpr U kInfinity = kWide ? 0x7f800000 : 0x7c00, kLeastNormal = kWide ? 0x00800000 : 0x0400, kQuiet = kWide ? 0x00400000 : 0x0200;
  Source<T> value;
  Source<U> classes;
  value.fetch(wave, instruction, instruction.source(0), 0);
  classes.fetch(wave, instruction, instruction.source(1), 1);
  U64 mask = 0;
  for (int lane = 0; lane < wave.lanes; ++lane) {
    U bits = value.data[lane], rest = bits & ((U{1} << kSign) - 1);
    int size = rest == 0 ? 0 : rest < kLeastNormal ? 1 : rest < kInfinity ? 2 : 3;
    int number = rest > kInfinity ? ((rest & kQuiet) != 0 ? 1 : 0) : (bits >> kSign & 1) != 0 ? 5 - size : 6 + size;
    mask |= static_cast<U64>(classes.at(lane) >> number & 1) << lane;
  }
  setMask(wave, instruction, mask, sourceTaint(wave, instruction));
}

struct NamedRelation {
  std::string_view name;
  std::uint8_t holds;
};
constexpr NamedRelation kRelations[] = {{"f", 0},
                                        {"lt", kLess},
                                        {"eq", kEqual},
                                        {"le", kLess | kEqual},
                                        {"gt", kGreater},
                                        {"lg", kLess | kGreater},
                                        {"ge", kGreater | kEqual},
                                        {"o", 7},
                                        {"u", 8},
                                        {"nge", kLess | kUnordered},
                                        {"nlg", kEqual | kUnordered},
                                        {"ngt", kLess | kEqual | kUnordered},
                                        {"nle", kGreater | kUnordered},
                                        {"neq", kLess | kGreater | kUnordered},
                                        {"nlt", kEqual | kGreater | kUnordered},
                                        {"tru", 15},
                                        {"t", 15},
                                        {"ne", kLess | kGreater | kUnordered}};

struct NamedType {
  std::string_view name;
  Type type;
  Handler handler;
};
constexpr NamedType kTypes[] = {
    {"f32", Type::F32, compare<float>},         {"f16", Type::F16, compare<Half>},          {"f64", Type::F64, compare<double>},
    {"i32", Type::B32, compare<std::int32_t>},  {"u32", Type::B32, compare<std::uint32_t>}, {"i16", Type::B16, compare<std::int16_t>},
    {"u16", Type::B16, compare<std::uint16_t>}, {"i64", Type::B64, compare<std::int64_t>},  {"u64", Type::B64, compare<std::uint64_t>}};

/// Takes the second source where the mask has a bit.
template <bool half>
void selectLanes(Wave& wave, const Instruction& instruction) {
  alignas(64) U first[64], second[64], result[64];
  auto fetch = [&](int number, U* scratch) {
    if constexpr (half)
      return fetch16(wave, instruction, instruction.source(number), number, true, scratch);
    else
      return fetchFloat(wave, instruction, instruction.source(number), number, scratch);
  };
  const U *without = fetch(0, first), *with = fetch(1, second);
  const Operand& condition = instruction.source(2);
  U64 mask = wave.laneMask(condition), written = writtenLanes(wave, instruction);
  U64 taint = wave.laneMaskUndefined(condition) | (mask & operandTaint(wave, instruction, instruction.source(1), 1)) |
              (~mask & operandTaint(wave, instruction, instruction.source(0), 0));
  for (int lane = 0; lane < 64; ++lane) result[lane] = (mask >> lane & 1) != 0 ? with[lane] : without[lane];
  if constexpr (half)
    store16(wave, instruction, result);
  else
    store32(wave, instruction, result);
  setTaint(wave, instruction.operands[0], written, taint);
}

/// Any function of three bits: bit 4 a + 2 b + c of the table is its value. T is U, or an integer of 16 bits.
template <class T>
void anyFunctionOfBits(Wave& wave, const Instruction& instruction) {
  Source<T> a, b, c;
  a.fetch(wave, instruction, instruction.source(0), 0);
  b.fetch(wave, instruction, instruction.source(1), 1);
  c.fetch(wave, instruction, instruction.source(2), 2);
  alignas(64) U result[64] = {};
  for (int row = 0; row < 8; ++row) {
    if ((instruction.truthTable >> row & 1) == 0) continue;
    for (int lane = 0; lane < wave.lanes; ++lane)
      result[lane] |= static_cast<T>(((row & 4) != 0 ? a.at(lane) : ~a.at(lane)) & ((row & 2) != 0 ? b.at(lane) : ~b.at(lane)) &
                                     ((row & 1) != 0 ? c.at(lane) : ~c.at(lane)));
  }
  if constexpr (sizeof(T) == 2)
    store16(wave, instruction, result);
  else
    store32(wave, instruction, result);
}

/// a + b + carry or a - b - borrow (reversed: b - a), with the carries as a mask of lanes.
template <bool subtract, bool reversed, bool takesCarry>
void sumWithCarry(Wave& wave, const Instruction& instruction) {
  Source<U> first, second;
  first.fetch(wave, instruction, instruction.source(0), 0);
  second.fetch(wave, instruction, instruction.source(1), 1);
  U64 carries = takesCarry ? wave.laneMask(instruction.source(2)) : 0, taint = 0, out = 0;
  for (int number = 0; number < 2; ++number) taint |= operandTaint(wave, instruction, instruction.source(number), number);
  if (takesCarry) taint |= wave.laneMaskUndefined(instruction.source(2));
  alignas(64) U result[64] = {};
  for (int lane = 0; lane < wave.lanes; ++lane) {
    U64 a = first.at(lane), b = second.at(lane), carry = carries >> lane & 1;
    if (reversed) std::swap(a, b);
    U64 value = subtract ? a - b - carry : a + b + carry;
    result[lane] = static_cast<U>(value);
    out |= static_cast<U64>(subtract ? b + carry > a : value >> 32 != 0) << lane;
  }
  U64 written = writtenLanes(wave, instruction);
  store32(wave, instruction, result);
  setTaint(wave, instruction.operands[0], written, taint);
  wave.setLaneMask(instruction.operands[1].index, out & wave.exec, taint & wave.exec);
}

Operand firstDword(Operand operand) {
  operand.dwords = 1;
  return operand;
}

/// 64 bits: a * b + c. The carry is not computed: a later use of it is one of an undefined value. The lower half of the result does not
/// depend on the upper half of c, which compilers leave unwritten where they only want the lower one.
template <class T>
void multiplyAdd64(Wave& wave, const Instruction& instruction) {
  Source<U> first, second;
  Source<U64> third;
  first.fetch(wave, instruction, instruction.source(0), 0);
  second.fetch(wave, instruction, instruction.source(1), 1);
  third.fetch(wave, instruction, instruction.source(2), 2);
  U64 taint = sourceTaint(wave, instruction), result[64], lowTaint = operandTaint(wave, instruction, firstDword(instruction.source(2)), 2);
  for (int number = 0; number < 2; ++number) lowTaint |= operandTaint(wave, instruction, instruction.source(number), number);
  for (int lane = 0; lane < wave.lanes; ++lane)
    result[lane] =
        static_cast<U64>(static_cast<T>(static_cast<std::conditional_t<std::is_signed_v<T>, std::int32_t, U>>(first.at(lane))) *
                         static_cast<T>(static_cast<std::conditional_t<std::is_signed_v<T>, std::int32_t, U>>(second.at(lane)))) +
        third.at(lane);
  store64(wave, instruction, result);
  setTaint(wave, instruction.operands[0], wave.exec, taint);
  setTaint(wave, firstDword(instruction.operands[0]), wave.exec, lowTaint);
  wave.setLaneMask(instruction.operands[1].index, 0, ~U64{0});
}

struct Scaled {
  float value;
  bool flag;
};

/// v_div_scale_f32: brings numerator and denominator to where the steps of a division neither overflow nor lose bits.
Scaled scaleForDivision(float value, float denominator, float numerator) {
  auto denormal = [](double x) { return x != 0 && std::fabs(x) < static_cast<double>(std::numeric_limits<float>::min()); };
  auto exponent = [](float x) { return static_cast<int>(std::bit_cast<U>(x) >> 23 & 0xff); };
  double quotient = static_cast<double>(numerator) / static_cast<double>(denominator), reciprocal = 1.0 / static_cast<double>(denominator);
  if (numerator == 0 || denominator == 0) return {std::numeric_limits<float>::quiet_NaN(), false};
  if (exponent(numerator) - exponent(denominator) >= 96) return {value == denominator ? std::ldexp(value, 64) : value, true};
  if (denormal(static_cast<double>(denominator))) return {std::ldexp(value, 64), false};
  if (denormal(reciprocal) && denormal(quotient)) return {value == denominator ? std::ldexp(value, 64) : value, true};
  if (denormal(reciprocal)) return {std::ldexp(value, -64), false};
  if (denormal(quotient)) return {value == numerator ? std::ldexp(value, 64) : value, true};
  if (exponent(numerator) <= 23) return {std::ldexp(value, 64), false};
  return {value, false};
}

void divisionScale(Wave& wave, const Instruction& instruction) {
  Source<float> value, denominator, numerator;
  value.fetch(wave, instruction, instruction.source(0), 0);
  denominator.fetch(wave, instruction, instruction.source(1), 1);
  numerator.fetch(wave, instruction, instruction.source(2), 2);
  U64 taint = sourceTaint(wave, instruction), flags = 0;
  alignas(64) U result[64] = {};
  for (int lane = 0; lane < wave.lanes; ++lane) {
    Scaled scaled = scaleForDivision(value.at(lane), denominator.at(lane), numerator.at(lane));
    result[lane] = std::bit_cast<U>(scaled.value);
    flags |= static_cast<U64>(scaled.flag) << lane;
  }
  store32(wave, instruction, result);
  setTaint(wave, instruction.operands[0], wave.exec, taint);
  wave.setLaneMask(instruction.operands[1].index, flags & wave.exec, taint & wave.exec);
}

/// A fused multiply-add whose result is scaled back in the lanes of VCC.
void divisionStep(Wave& wave, const Instruction& instruction) {
  const Operand vcc = {.kind = Operand::Scalar, .dwords = static_cast<std::uint8_t>(wave.lanes / 32), .index = Scalar::kVcc};
  wave.checkWait(vcc, false);
  Source<float> a, b, c;
  a.fetch(wave, instruction, instruction.source(0), 0);
  b.fetch(wave, instruction, instruction.source(1), 1);
  c.fetch(wave, instruction, instruction.source(2), 2);
  U64 mask = wave.laneMask(vcc), taint = sourceTaint(wave, instruction) | wave.laneMaskUndefined(vcc);
  alignas(64) U result[64] = {};
  for (int lane = 0; lane < wave.lanes; ++lane) {
    float value = std::fma(a.at(lane), b.at(lane), c.at(lane));
    if ((mask >> lane & 1) != 0) value = std::ldexp(value, std::fabs(c.at(lane)) >= 2.0F ? 64 : -64);
    result[lane] = std::bit_cast<U>(value);
  }
  store32(wave, instruction, result);
  setTaint(wave, instruction.operands[0], wave.exec, taint);
}

}  // namespace

std::optional<Row> compareRow(std::string_view mnemonic) {
  if (!mnemonic.starts_with("v_cmp_") && !mnemonic.starts_with("v_cmpx_")) return std::nullopt;
  mnemonic.remove_prefix(mnemonic[5] == '_' ? 6 : 7);
  if (mnemonic == "class_f32")
    return Row{.name = "", .handler = compareClass<float>, .sources = {Type::F32}, .plainTaint = false, .count = 2};
  if (mnemonic == "class_f16")
    return Row{.name = "", .handler = compareClass<Half>, .sources = {Type::F16}, .plainTaint = false, .count = 2};
  std::size_t bar = mnemonic.find('_');
  if (bar == std::string_view::npos) return std::nullopt;
  for (const NamedRelation& relation : kRelations)
    for (const NamedType& type : kTypes)
      if (relation.name == mnemonic.substr(0, bar) && type.name == mnemonic.substr(bar + 1)) {
        Row row{.name = "", .handler = type.handler, .plainTaint = false, .parameter = relation.holds, .count = 2};
        row.sources.fill(type.type);
        return row;
      }
  return std::nullopt;
}

std::vector<Row> selectRows() {
  std::vector<Row> rows;
  rows.push_back(ownRow("v_cndmask_b32", selectLanes<false>, 1, Type::F32));
  rows.push_back(ownRow("v_cndmask_b16", selectLanes<true>, 1, Type::F16));
  rows.push_back({.name = "v_bitop3_b32", .handler = anyFunctionOfBits<U>, .count = 3});
  rows.push_back(keepingHigh({.name = "v_bitop3_b16", .handler = anyFunctionOfBits<std::uint16_t>, .count = 3}));
  rows.push_back(ownRow("v_add_co_u32", sumWithCarry<false, false, false>, 2));
  rows.push_back(ownRow("v_addc_co_u32", sumWithCarry<false, false, true>, 2));
  rows.push_back(ownRow("v_sub_co_u32", sumWithCarry<true, false, false>, 2));
  rows.push_back(ownRow("v_subb_co_u32", sumWithCarry<true, false, true>, 2));
  rows.push_back(ownRow("v_subrev_co_u32", sumWithCarry<true, true, false>, 2));
  rows.push_back(ownRow("v_subbrev_co_u32", sumWithCarry<true, true, true>, 2));
  for (auto name : {"v_mad_u64_u32", "v_mad_co_u64_u32"}) rows.push_back(ownRow(name, multiplyAdd64<U64>, 2));
  for (auto name : {"v_mad_i64_i32", "v_mad_co_i64_i32"}) rows.push_back(ownRow(name, multiplyAdd64<std::int64_t>, 2));
  rows.push_back(ownRow("v_div_scale_f32", divisionScale, 2, Type::F32));
  rows.push_back(ownRow("v_div_fmas_f32", divisionStep, 1, Type::F32));
  return rows;
}

}  // namespace fattn::simulator
