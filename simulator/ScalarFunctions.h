// SPDX-License-Identifier: Apache-2.0
// Scalar instructions from functions: scalarRow<[](U a, U b) { return a + b; }, Scc::None>("s_add"). The types say whether an operand has
// 32 or 64 bits.
#ifndef FATTN_SIMULATOR_SCALARFUNCTIONS_H
#define FATTN_SIMULATOR_SCALARFUNCTIONS_H

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "simulator/Float.h"
#include "simulator/Table.h"
#include "simulator/Wave.h"

namespace fattn::simulator {

enum class Scc : std::uint8_t { Kept, NonZero, Result };  ///< Result: the function's value is SCC, and there is no destination

/// A float of 16 bits in the lower half of a register; results clear the upper one.
struct ScalarHalf {
  float value;
};

template <class T>
T scalarValue(const Wave& wave, const Operand& operand) {
  auto modified = [&](float value) {
    if (operand.absolute) value = std::fabs(value);
    return operand.negate ? -value : value;
  };
  if constexpr (std::is_same_v<T, float>)
    return modified(std::bit_cast<float>(wave.scalar(operand)));
  else if constexpr (std::is_same_v<T, ScalarHalf>)
    return {modified(halfToFloat(wave.scalar(operand) & 0xffff))};
  else if constexpr (sizeof(T) == 8)
    return static_cast<T>(wave.scalar64(operand));
  else
    return static_cast<T>(wave.scalar(operand));
}

inline bool scalarIsUndefined(const Wave& wave, const Operand& operand) {
  return (operand.dwords >= 2 ? wave.scalarUndefined64(operand) : wave.scalarUndefined(operand)) != 0;
}

template <class T>
void setScalarResult(Wave& wave, const Operand& operand, T value, bool undefined) {
  if constexpr (std::is_same_v<T, float>)
    wave.setScalar(operand.index, std::bit_cast<std::uint32_t>(value), undefined ? ~0U : 0);
  else if constexpr (std::is_same_v<T, ScalarHalf>)
    wave.setScalar(operand.index, floatToHalf(value.value), undefined ? ~0U : 0);
  else if constexpr (sizeof(T) == 8)
    wave.setScalar64(operand.index, static_cast<std::uint64_t>(value), undefined ? ~std::uint64_t{0} : 0);
  else
    wave.setScalar(operand.index, static_cast<std::uint32_t>(value), undefined ? ~0U : 0);
}

template <class F>
struct ScalarSignature;
template <class C, class R, class... A>
struct ScalarSignature<R (C::*)(A...) const> {
  static constexpr std::uint8_t count = sizeof...(A);
  static constexpr std::array<Type, 4> types() {
    std::array<Type, 4> all{};
    std::size_t at = 0;
    ((all[at++] = std::is_same_v<A, ScalarHalf> ? Type::F16
                  : std::is_same_v<A, float>    ? Type::F32
                  : sizeof(A) == 8              ? Type::B64
                                                : Type::B32),
     ...);
    return all;
  }
  template <auto function, Scc scc>
  static void run(Wave& wave, const Instruction& instruction) {
    runIndexed<function, scc>(wave, instruction, std::index_sequence_for<A...>{});
  }

 private:
  template <auto function, Scc scc, std::size_t... number>
  static void runIndexed(Wave& wave, const Instruction& instruction, std::index_sequence<number...>) {
    auto operand = [&](std::size_t i) -> const Operand& {
      return instruction.readsDestination && !instruction.has(static_cast<int>(i)) ? instruction.operands[0]
                                                                                   : instruction.source(static_cast<int>(i));
    };
    bool undefined = (scalarIsUndefined(wave, operand(number)) || ...);
    R result = function(scalarValue<A>(wave, operand(number))...);
    if constexpr (scc == Scc::Result) {
      wave.setScc(result != 0, undefined);
    } else {
      setScalarResult(wave, instruction.operands[0], result, undefined);
      if constexpr (scc == Scc::NonZero) wave.setScc(result != 0, undefined);
    }
  }
};

template <auto function>
using ScalarSignatureOf = ScalarSignature<decltype(&decltype(function)::operator())>;

template <auto function, Scc scc>
void scalarFunction(Wave& wave, const Instruction& instruction) {
  ScalarSignatureOf<function>::template run<function, scc>(wave, instruction);
}

template <auto function, Scc scc = Scc::Kept>
Row scalarRow(std::string_view name) {
  return {.name = name,
          .handler = scalarFunction<function, scc>,
          .writes = scc == Scc::Result ? std::uint8_t{0} : std::uint8_t{1},
          .sources = ScalarSignatureOf<function>::types(),
          .plainTaint = false,
          .count = ScalarSignatureOf<function>::count};
}

/// An instruction with a handler of its own; it deals with undefined values itself.
inline Row ownRow(std::string_view name, Handler handler, std::uint8_t writes, Type type = Type::B32) {
  Row row{.name = name, .handler = handler, .writes = writes, .plainTaint = false};
  row.sources.fill(type);
  return row;
}

}  // namespace fattn::simulator

#endif
