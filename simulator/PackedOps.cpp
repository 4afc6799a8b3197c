// SPDX-License-Identifier: Apache-2.0
// Two values in one instruction: pairs of 16 bits in a register, pairs of floats in two, and sums of products of pairs.
#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "simulator/Execute.h"
#include "simulator/Lanes.h"

namespace fattn::simulator {
namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;

/// 16 bits of a source for the lower (part 0) or upper result. op_sel and op_sel_hi say from which half they come.
struct Halves {
  alignas(64) U scratch[64];
  const U* data;
  int shift[2];
  U flip[2];
  void fetch(Wave& wave, const Instruction& instruction, int number) {
    const Operand& operand = sourceOrDestination(instruction, number);
    data = fetchBits(wave, instruction, operand, number, scratch);
    shift[0] = (instruction.opSel >> number & 1) != 0 ? 16 : 0;
    shift[1] = (instruction.opSelHi >> number & 1) != 0 ? 16 : 0;
    flip[0] = (instruction.negLo >> number & 1) != 0 ? 0x8000 : 0;
    flip[1] = (instruction.negHi >> number & 1) != 0 ? 0x8000 : 0;
  }
  U bits(int lane, int part) const { return (data[lane] >> shift[part] & 0xffff) ^ flip[part]; }
};

template <class T>
T fromBits(U bits) {
  if constexpr (std::is_same_v<T, Half>)
    return {halfToFloat(bits)};
  else
    return static_cast<T>(bits);
}
U toBits(Half value) { return floatToHalf(value.value); }
U toBits(WideHalf value) { return floatToHalf(roundToOdd(value.value)); }
U toBits(std::uint16_t value) { return value; }
U toBits(std::int16_t value) { return static_cast<std::uint16_t>(value); }

U clamped(const Instruction& instruction, U half) {
  if (!instruction.clamp) return half;
  float value = halfToFloat(half);
  return floatToHalf(value > 0 ? std::min(value, 1.0F) : 0.0F);
}

template <class F>
struct PackedSignature;
template <class C, class R, class T, class... A>
struct PackedSignature<R (C::*)(T, A...) const> {
  static constexpr int count = 1 + sizeof...(A);
  using Element = T;
  using ResultType = R;
  template <auto function>
  static void run(Wave& wave, const Instruction& instruction) {
    Halves sources[count];
    for (int i = 0; i < count; ++i) sources[i].fetch(wave, instruction, i);
    alignas(64) U result[64] = {};
    for (int lane = 0; lane < wave.lanes; ++lane)
      for (int part = 0; part < 2; ++part) {
        U bits = 0;
        auto value = [&](int i) { return fromBits<T>(sources[i].bits(lane, part)); };
        if constexpr (count == 1)
          bits = toBits(function(value(0)));
        else if constexpr (count == 2)
          bits = toBits(function(value(0), value(1)));
        else
          bits = toBits(function(value(0), value(1), value(2)));
        if constexpr (std::is_same_v<R, Half> || std::is_same_v<R, WideHalf>) bits = clamped(instruction, bits);
        result[lane] |= bits << part * 16;
      }
    store32(wave, instruction, result);
  }
};

template <auto function>
void packedLanes(Wave& wave, const Instruction& instruction) {
  PackedSignature<decltype(&decltype(function)::operator())>::template run<function>(wave, instruction);
}

template <auto function>
Row packedRow(std::string_view name) {
  using S = PackedSignature<decltype(&decltype(function)::operator())>;
  bool isFloat = std::is_same_v<typename S::Element, Half>;
  Row row{.name = name, .handler = packedLanes<function>, .count = S::count, .clamps = isFloat, .negates = isFloat};
  row.sources.fill(isFloat ? Type::F16 : Type::B32);
  return row;
}

/// The register of a pair that a result takes its source from; a single one is both.
Operand registerOfPair(Operand operand, int select) {
  if (operand.dwords == 2) operand.index = static_cast<std::uint16_t>(operand.index + select), operand.dwords = 1;
  return operand;
}

/// Writes both registers of the result, each as undefined as the registers that it was made of.
void storePair(Wave& wave, const Instruction& instruction, const U (&results)[2][64], const U64 (&taints)[2]) {
  Operand into = instruction.operands[0];
  into.dwords = 1;
  for (int part = 0; part < 2; ++part, ++into.index) {
    wave.write(into.index, results[part]);
    setTaint(wave, into, wave.exec, taints[part]);
  }
}

/// Pairs of floats of 32 bits: op_sel and op_sel_hi name a register of the pair for each result.
template <int count, auto function>
void packedFloats(Wave& wave, const Instruction& instruction) {
  alignas(64) U results[2][64];
  U64 taints[2] = {};
  for (int part = 0; part < 2; ++part) {
    float values[3][64] = {};
    for (int number = 0; number < count; ++number) {
      Operand operand = registerOfPair(instruction.source(number), (part == 0 ? instruction.opSel : instruction.opSelHi) >> number & 1);
      bool negate = ((part == 0 ? instruction.negLo : instruction.negHi) >> number & 1) != 0;
      taints[part] |= operandTaint(wave, instruction, operand, number);
      U scratch[64];
      const U* data = fetchBits(wave, instruction, operand, number, scratch);
      for (int lane = 0; lane < wave.lanes; ++lane) values[number][lane] = std::bit_cast<float>(data[lane] ^ (negate ? 0x80000000 : 0));
    }
    for (int lane = 0; lane < wave.lanes; ++lane) {
      float value = function(values[0][lane], values[1][lane], values[2][lane]);
      if (instruction.clamp) value = value > 0 ? std::min(value, 1.0F) : 0.0F;
      results[part][lane] = std::bit_cast<U>(value);
    }
  }
  storePair(wave, instruction, results, taints);
}

/// The lower result is a register of the first pair, the upper one of the second pair.
void movePair(Wave& wave, const Instruction& instruction) {
  U results[2][64];
  U64 taints[2] = {};
  for (int part = 0; part < 2; ++part) {
    Operand operand = registerOfPair(instruction.source(part), instruction.opSel >> part & 1);
    taints[part] = operandTaint(wave, instruction, operand, part);
    U scratch[64];
    const U* data = fetchBits(wave, instruction, operand, part, scratch);
    std::copy_n(data, wave.lanes, results[part]);
  }
  storePair(wave, instruction, results, taints);
}

/// The third source, a float, plus the products of two pairs.
template <float (*convert)(U)>
void dotOfPairs(Wave& wave, const Instruction& instruction) {
  Halves a, b;
  a.fetch(wave, instruction, 0);
  b.fetch(wave, instruction, 1);
  alignas(64) U scratch[64], result[64] = {};
  const U* c = fetchFloat(wave, instruction, sourceOrDestination(instruction, 2), 2, scratch);
  for (int lane = 0; lane < wave.lanes; ++lane) {
    double sum = static_cast<double>(std::bit_cast<float>(c[lane]));
    for (int part = 0; part < 2; ++part)
      sum += static_cast<double>(convert(a.bits(lane, part))) * static_cast<double>(convert(b.bits(lane, part)));
    result[lane] = std::bit_cast<U>(static_cast<float>(sum));
  }
  storeFloat(wave, instruction, result);
}

/// A fused multiply-add of floats of 32 bits or (op_sel_hi) of 16, which op_sel finds in one half.
enum class MixedResult : std::uint8_t { Float, Low, High };
template <MixedResult kind>
void mixedFma(Wave& wave, const Instruction& instruction) {
  double values[3][64];
  for (int number = 0; number < 3; ++number) {
    const Operand& operand = instruction.source(number);
    bool isHalf = (instruction.opSelHi >> number & 1) != 0;
    if (isHalf && operand.kind == Operand::Constant) violate("takes a constant as a float of 16 bits, which the simulator does not know");
    alignas(64) U scratch[64];
    const U* data = fetchBits(wave, instruction, operand, number, scratch);
    int shift = (instruction.opSel >> number & 1) != 0 ? 16 : 0;
    for (int lane = 0; lane < wave.lanes; ++lane) {
      float value = isHalf ? halfToFloat(data[lane] >> shift & 0xffff) : std::bit_cast<float>(data[lane]);
      if (operand.absolute) value = std::fabs(value);
      values[number][lane] = static_cast<double>(operand.negate ? -value : value);
    }
  }
  alignas(64) U result[64] = {};
  const U* old = wave.row(instruction.operands[0].index);
  for (int lane = 0; lane < wave.lanes; ++lane) {
    auto a = static_cast<float>(values[0][lane]), b = static_cast<float>(values[1][lane]), c = static_cast<float>(values[2][lane]);
    float value = std::fma(a, b, c);
    if (instruction.clamp) value = value > 0 ? std::min(value, 1.0F) : 0.0F;
    U half = kind == MixedResult::Float ? 0 : floatToHalf(value);
    result[lane] = kind == MixedResult::Float ? std::bit_cast<U>(value)
                   : kind == MixedResult::Low ? (old[lane] & 0xffff0000) | half
                                              : (old[lane] & 0xffff) | half << 16;
  }
  store32(wave, instruction, result);
}

Row otherRow(std::string_view name, Handler handler, std::uint8_t count, std::array<Type, 4> types, bool negates = true) {
  return {.name = name, .handler = handler, .sources = types, .count = count, .clamps = true, .negates = negates};
}

void addPackedHalves(std::vector<Row>& rows) {
  using I16 = std::int16_t;
  using U16 = std::uint16_t;
  rows.push_back(packedRow<[](Half a, Half b) { return Half{a.value + b.value}; }>("v_pk_add_f16"));
  rows.push_back(packedRow<[](Half a, Half b) { return Half{a.value * b.value}; }>("v_pk_mul_f16"));
  rows.push_back(packedRow<[](Half a, Half b, Half c) {
    return WideHalf{std::fma(static_cast<double>(a.value), static_cast<double>(b.value), static_cast<double>(c.value))};
  }>("v_pk_fma_f16"));
  rows.push_back(packedRow<[](Half a, Half b) { return Half{minimumNumber(a.value, b.value)}; }>("v_pk_min_f16"));
  rows.push_back(packedRow<[](Half a, Half b) { return Half{maximumNumber(a.value, b.value)}; }>("v_pk_max_f16"));
  rows.push_back(packedRow<[](U16 a, U16 b) { return static_cast<U16>(a + b); }>("v_pk_add_u16"));
  rows.push_back(packedRow<[](U16 a, U16 b) { return static_cast<U16>(a + b); }>("v_pk_add_i16"));
  rows.push_back(packedRow<[](U16 a, U16 b) { return static_cast<U16>(a - b); }>("v_pk_sub_u16"));
  rows.push_back(packedRow<[](U16 a, U16 b) { return static_cast<U16>(a - b); }>("v_pk_sub_i16"));
  rows.push_back(packedRow<[](U16 a, U16 b) { return static_cast<U16>(static_cast<U>(a) * b); }>("v_pk_mul_lo_u16"));
  rows.push_back(packedRow<[](U16 a, U16 b, U16 c) { return static_cast<U16>(static_cast<U>(a) * b + c); }>("v_pk_mad_u16"));
  rows.push_back(packedRow<[](U16 a, U16 b, U16 c) { return static_cast<U16>(static_cast<U>(a) * b + c); }>("v_pk_mad_i16"));
  rows.push_back(packedRow<[](U16 a, U16 b) { return static_cast<U16>(b << (a & 15)); }>("v_pk_lshlrev_b16"));
  rows.push_back(packedRow<[](U16 a, U16 b) { return static_cast<U16>(b >> (a & 15)); }>("v_pk_lshrrev_b16"));
  rows.push_back(packedRow<[](I16 a, I16 b) { return static_cast<I16>(b >> (a & 15)); }>("v_pk_ashrrev_i16"));
  rows.push_back(packedRow<[](U16 a, U16 b) { return std::min(a, b); }>("v_pk_min_u16"));
  rows.push_back(packedRow<[](U16 a, U16 b) { return std::max(a, b); }>("v_pk_max_u16"));
  rows.push_back(packedRow<[](I16 a, I16 b) { return std::min(a, b); }>("v_pk_min_i16"));
  rows.push_back(packedRow<[](I16 a, I16 b) { return std::max(a, b); }>("v_pk_max_i16"));
}

}  // namespace

std::vector<Row> packedRows() {
  using enum Type;
  std::vector<Row> rows;
  addPackedHalves(rows);
  const std::size_t pairs = rows.size();
  rows.push_back(otherRow("v_pk_add_f32", packedFloats<2, [](float a, float b, float) { return a + b; }>, 2, {F32, F32}));
  rows.push_back(otherRow("v_pk_mul_f32", packedFloats<2, [](float a, float b, float) { return a * b; }>, 2, {F32, F32}));
  rows.push_back(
      otherRow("v_pk_fma_f32", packedFloats<3, [](float a, float b, float c) { return std::fma(a, b, c); }>, 3, {F32, F32, F32}));
  rows.push_back(otherRow("v_pk_mov_b32", movePair, 2, {B32, B32}, false));
  for (Row& row : std::span(rows).subspan(pairs)) row.plainTaint = false;
  rows.push_back(otherRow("v_dot2_f32_f16", dotOfPairs<halfToFloat>, 3, {F16, F16, F32}));
  rows.push_back(otherRow("v_dot2_f32_bf16", dotOfPairs<bfloatToFloat>, 3, {BF16, BF16, F32}));
  for (auto name : {"v_dot2c_f32_f16", "v_dot2acc_f32_f16"}) {
    Row row = otherRow(name, dotOfPairs<halfToFloat>, 3, {F16, F16, F32});
    row.readsDestination = true;
    rows.push_back(row);
  }
  rows.push_back(otherRow("v_fma_mix_f32", mixedFma<MixedResult::Float>, 3, {F32, F32, F32}, false));
  rows.push_back(otherRow("v_fma_mixlo_f16", mixedFma<MixedResult::Low>, 3, {F32, F32, F32}, false));
  rows.push_back(otherRow("v_fma_mixhi_f16", mixedFma<MixedResult::High>, 3, {F32, F32, F32}, false));
  return rows;
}

}  // namespace fattn::simulator
