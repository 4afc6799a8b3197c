// SPDX-License-Identifier: Apache-2.0
// The operations of atomic accesses.
#include <algorithm>
#include <bit>

#include "simulator/Float.h"
#include "simulator/MemoryOps.h"

namespace fattn::simulator {
namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;

struct Operation {
  std::string_view name;     ///< of gfx9
  std::string_view another;  ///< of gfx11
  std::uint8_t bytes;
  U64 (*apply)(U64 old, U64 operand, U64 compared);
};

U64 add(U64 a, U64 b) { return static_cast<U>(a) + static_cast<U>(b); }
U64 addFloat(U64 a, U64 b) { return std::bit_cast<U>(std::bit_cast<float>(static_cast<U>(a)) + std::bit_cast<float>(static_cast<U>(b))); }
U addHalves(U a, U b) { return floatToHalf(halfToFloat(a & 0xffff) + halfToFloat(b & 0xffff)); }
U addBfloats(U a, U b) { return floatToBfloat(bfloatToFloat(a & 0xffff) + bfloatToFloat(b & 0xffff)); }
template <U (*half)(U, U)>
U64 both(U64 a, U64 b, U64) {
  auto low = static_cast<U>(a), other = static_cast<U>(b);
  return half(low, other) | half(low >> 16, other >> 16) << 16;
}
template <class T, bool largest>
U64 pick(U64 a, U64 b, U64) {
  auto x = static_cast<T>(a), y = static_cast<T>(b);
  return static_cast<std::make_unsigned_t<T>>(largest ? std::max(x, y) : std::min(x, y));
}

constexpr Operation kOperations[] = {
    {"add", "add_u32", 4, [](U64 a, U64 b, U64) { return add(a, b); }},
    {"sub", "sub_u32", 4, [](U64 a, U64 b, U64) { return add(a, 0 - b); }},
    {"smin", "min_i32", 4, pick<std::int32_t, false>},
    {"smax", "max_i32", 4, pick<std::int32_t, true>},
    {"umin", "min_u32", 4, pick<U, false>},
    {"umax", "max_u32", 4, pick<U, true>},
    {"and", "and_b32", 4, [](U64 a, U64 b, U64) { return a & b; }},
    {"or", "or_b32", 4, [](U64 a, U64 b, U64) { return a | b; }},
    {"xor", "xor_b32", 4, [](U64 a, U64 b, U64) { return a ^ b; }},
    {"swap", "swap_b32", 4, [](U64, U64 b, U64) { return b; }},
    {"cmpswap", "cmpswap_b32", 4, [](U64 a, U64 b, U64 c) { return a == c ? b : a; }},
    {"add_x2", "add_u64", 8, [](U64 a, U64 b, U64) { return a + b; }},
    {"swap_x2", "swap_b64", 8, [](U64, U64 b, U64) { return b; }},
    {"cmpswap_x2", "cmpswap_b64", 8, [](U64 a, U64 b, U64 c) { return a == c ? b : a; }},
    {"add_f32", "add_f32", 4, [](U64 a, U64 b, U64) { return addFloat(a, b); }},
    {"add_f64", "add_f64", 8, [](U64 a, U64 b, U64) { return std::bit_cast<U64>(std::bit_cast<double>(a) + std::bit_cast<double>(b)); }},
    {"pk_add_f16", "pk_add_f16", 4, both<addHalves>},
    {"pk_add_bf16", "pk_add_bf16", 4, both<addBfloats>},
};

}  // namespace

AtomicForm atomicOf(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kOperations); ++i)
    if (kOperations[i].name == name || kOperations[i].another == name) return {static_cast<std::uint8_t>(i + 1), kOperations[i].bytes};
  return {};
}

U64 applyAtomic(std::uint8_t number, U64 old, U64 operand, U64 compared) { return kOperations[number - 1].apply(old, operand, compared); }

}  // namespace fattn::simulator
