// SPDX-License-Identifier: Apache-2.0
// Vector instructions from functions of one lane: lanes<[](float a, float b) { return a + b; }> fetches the sources with their modifiers
// (negation, parts of registers, other lanes), runs the function over all lanes and writes the lanes of EXEC. The types of the function say
// what the operands are.
#ifndef FATTN_SIMULATOR_LANES_H
#define FATTN_SIMULATOR_LANES_H

#include <bit>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "simulator/Float.h"
#include "simulator/Table.h"
#include "simulator/Wave.h"

namespace fattn::simulator {

/// A float of 16 bits, held in 32.
struct Half {
  float value;
};
/// A float that a function rounds to 16 bits by itself, once.
struct WideHalf {
  double value;
};

/// Lanes that an instruction with DPP writes, of those in EXEC.
std::uint64_t writtenLanes(const Wave& wave, const Instruction& instruction);
/// Source `number` of all lanes as 32 bits, with DPP and SDWA but without negation; `scratch` has room for 64 lanes.
const std::uint32_t* fetchBits(Wave& wave, const Instruction& instruction, const Operand& operand, int number, std::uint32_t* scratch);
/// The same for a float of 32 bits, and for 16 bits in the lower half.
const std::uint32_t* fetchFloat(Wave& wave, const Instruction& instruction, const Operand& operand, int number, std::uint32_t* scratch);
const std::uint32_t* fetch16(Wave& wave, const Instruction& instruction, const Operand& operand, int number, bool isFloat,
                             std::uint32_t* scratch);
void fetch64(Wave& wave, const Instruction& instruction, const Operand& operand, bool isFloat, std::uint64_t* into);
void store32(Wave& wave, const Instruction& instruction, std::uint32_t* values);
void storeFloat(Wave& wave, const Instruction& instruction, std::uint32_t* values);
void store16(Wave& wave, const Instruction& instruction, std::uint32_t* values);
void store64(Wave& wave, const Instruction& instruction, const std::uint64_t* values);
void scaleAndClamp(const Instruction& instruction, float& value);

template <class T>
struct Source {
  alignas(64) std::uint32_t scratch[64];
  const std::uint32_t* data;
  void fetch(Wave& wave, const Instruction& instruction, const Operand& operand, int number) {
    if constexpr (std::is_same_v<T, float>)
      data = fetchFloat(wave, instruction, operand, number, scratch);
    else if constexpr (sizeof(T) == 2)
      data = fetch16(wave, instruction, operand, number, false, scratch);
    else
      data = fetchBits(wave, instruction, operand, number, scratch);
  }
  T at(int lane) const {
    if constexpr (std::is_same_v<T, float>)
      return std::bit_cast<float>(data[lane]);
    else
      return static_cast<T>(data[lane]);
  }
};

template <>
struct Source<Half> {
  alignas(64) std::uint32_t scratch[64];
  const std::uint32_t* data;
  void fetch(Wave& wave, const Instruction& instruction, const Operand& operand, int number) {
    data = fetch16(wave, instruction, operand, number, true, scratch);
  }
  Half at(int lane) const { return {halfToFloat(data[lane])}; }
};

template <class T>
  requires(sizeof(T) == 8 && !std::is_same_v<T, WideHalf>)
struct Source<T> {
  alignas(64) std::uint64_t data[64];
  void fetch(Wave& wave, const Instruction& instruction, const Operand& operand, int) {
    fetch64(wave, instruction, operand, std::is_same_v<T, double>, data);
  }
  T at(int lane) const { return std::bit_cast<T>(data[lane]); }
};

template <class T>
struct Result {
  alignas(64) std::uint32_t data[64];
  void set(int lane, T value) {
    if constexpr (std::is_same_v<T, float>)
      data[lane] = std::bit_cast<std::uint32_t>(value);
    else if constexpr (std::is_same_v<T, Half>)
      data[lane] = floatToHalf(value.value);
    else if constexpr (std::is_same_v<T, WideHalf>)
      data[lane] = floatToHalf(roundToOdd(value.value));
    else if constexpr (sizeof(T) == 2)
      data[lane] = static_cast<std::uint16_t>(value);
    else
      data[lane] = static_cast<std::uint32_t>(value);
  }
  void store(Wave& wave, const Instruction& instruction) {
    if constexpr (std::is_same_v<T, float>)
      storeFloat(wave, instruction, data);
    else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, WideHalf> || sizeof(T) == 2)
      store16(wave, instruction, data);
    else
      store32(wave, instruction, data);
  }
};

template <class T>
  requires(sizeof(T) == 8 && !std::is_same_v<T, WideHalf>)
struct Result<T> {
  alignas(64) std::uint64_t data[64];
  void set(int lane, T value) { data[lane] = std::bit_cast<std::uint64_t>(value); }
  void store(Wave& wave, const Instruction& instruction) { store64(wave, instruction, data); }
};

/// Source `number`; behind the last one the destination, for those that accumulate.
inline const Operand& sourceOrDestination(const Instruction& instruction, int number) {
  return instruction.readsDestination && !instruction.has(number) ? instruction.operands[0] : instruction.source(number);
}

template <class T>
constexpr Type typeOf() {
  if constexpr (std::is_same_v<T, float>)
    return Type::F32;
  else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, WideHalf>)
    return Type::F16;
  else if constexpr (std::is_same_v<T, double>)
    return Type::F64;
  else if constexpr (sizeof(T) == 8)
    return Type::B64;
  else
    return sizeof(T) == 2 ? Type::B16 : Type::B32;
}

template <class F>
struct Signature;
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> {
  using ResultType = R;
  static constexpr std::uint8_t count = sizeof...(A);
  static constexpr std::array<Type, 4> types() {
    std::array<Type, 4> all{};
    std::size_t at = 0;
    ((all[at++] = typeOf<A>()), ...);
    return all;
  }
  template <auto function>
  static void run(Wave& wave, const Instruction& instruction) {
    runIndexed<function>(wave, instruction, std::index_sequence_for<A...>{});
  }

 private:
  template <auto function, std::size_t... number>
  static void runIndexed(Wave& wave, const Instruction& instruction, std::index_sequence<number...>) {
    std::tuple<Source<A>...> sources;
    (std::get<number>(sources).fetch(wave, instruction, sourceOrDestination(instruction, static_cast<int>(number)),
                                     static_cast<int>(number)),
     ...);
    Result<R> result;
    int count = wave.lanes;
    for (int lane = 0; lane < count; ++lane) result.set(lane, function(std::get<number>(sources).at(lane)...));
    result.store(wave, instruction);
  }
};

template <auto function>
using SignatureOf = Signature<decltype(&decltype(function)::operator())>;

template <auto function>
void lanes(Wave& wave, const Instruction& instruction) {
  SignatureOf<function>::template run<function>(wave, instruction);
}

/// The table's row for a function of a lane.
template <auto function>
Row laneRow(std::string_view name) {
  using R = typename SignatureOf<function>::ResultType;
  Row row{.name = name, .handler = lanes<function>, .sources = SignatureOf<function>::types(), .count = SignatureOf<function>::count};
  row.clamps = std::is_same_v<R, float> || std::is_same_v<R, Half> || std::is_same_v<R, WideHalf>;
  return row;
}
/// One whose last source is the destination.
template <auto function>
Row accumulatingRow(std::string_view name) {
  Row row = laneRow<function>(name);
  row.readsDestination = true;
  return row;
}
/// One that puts its sources into the halves of a register: where one of them is defined, the register counts as defined.
inline Row besideEachOther(Row row) {
  row.packs = true;
  return row;
}
inline Row keepingHigh(Row row) {
  row.keepsHigh = true;
  return row;
}

}  // namespace fattn::simulator

#endif
