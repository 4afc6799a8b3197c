// SPDX-License-Identifier: Apache-2.0
// The loops of Convert.h, and the 8-bit formats, which go through tables (decoding) and integer rounding (encoding).
#include "tools/io/Convert.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace fattn::io {
namespace {

/// An 8-bit float with `Mantissa` stored mantissa bits; the exponent takes what is left beside the sign.
template <int Mantissa, bool FiniteOnly>
struct Float8 {
  static constexpr int kBias = (1 << (6 - Mantissa)) - 1;

  static float decodeSlow(std::uint8_t bits) {
    const int exponent = (bits & 0x7f) >> Mantissa, mantissa = bits & ((1 << Mantissa) - 1);
    const float sign = (bits & 0x80) != 0 ? -1.0f : 1.0f;
    if (FiniteOnly ? (bits & 0x7f) == 0x7f : (exponent == (0x7f >> Mantissa) && mantissa != 0))
      return std::numeric_limits<float>::quiet_NaN();
    if (!FiniteOnly && exponent == (0x7f >> Mantissa)) return sign * std::numeric_limits<float>::infinity();
    return sign * (exponent == 0 ? std::ldexp(static_cast<float>(mantissa), 1 - kBias - Mantissa)
                                 : std::ldexp(static_cast<float>(mantissa + (1 << Mantissa)), exponent - kBias - Mantissa));
  }

  static float decode(std::uint8_t bits) {
    static const std::array<float, 256> kTable = [] {
      std::array<float, 256> table{};
      for (int i = 0; i < 256; ++i) table[i] = decodeSlow(static_cast<std::uint8_t>(i));
      return table;
    }();
    return kTable[bits];
  }

  static std::uint8_t encode(float value) {
    const std::uint32_t w = std::bit_cast<std::uint32_t>(value), magnitude = w & 0x7fffffffu;
    const std::uint8_t sign = static_cast<std::uint8_t>(w >> 24) & 0x80u;
    if (magnitude > 0x7f800000u) return sign | 0x7fu;
    const int exponent = static_cast<int>(magnitude >> 23) - 127 + kBias;  // as the target stores it
    // Shift out the bits the target lacks; where its exponent would be below 1, the number is subnormal and loses more of them.
    std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    const int shift = 23 - Mantissa + (exponent < 1 ? 1 - exponent : 0);
    if (shift > 25) return sign;
    const std::uint32_t half = 1u << (shift - 1), odd = (significand >> shift) & 1u;
    significand = (significand + half - 1 + odd) >> shift;
    // The implicit bit adds one to the exponent, also when rounding carried into it.
    const std::int64_t bits = (static_cast<std::int64_t>(exponent < 1 ? 0 : exponent - 1) << Mantissa) + significand;
    const std::int64_t infinity = 0x7f >> Mantissa << Mantissa;
    if constexpr (FiniteOnly) return sign | static_cast<std::uint8_t>(bits > 0x7e ? 0x7f : bits);
    return sign | static_cast<std::uint8_t>(bits > infinity ? infinity : bits);
  }
};

using E4M3 = Float8<3, true>;
using E5M2 = Float8<2, false>;

template <typename From, typename Decode>
void decodeAll(const void* source, float* target, std::size_t n, Decode decode) {
  const auto* in = static_cast<const unsigned char*>(source);
  for (std::size_t i = 0; i < n; ++i) {
    From value;
    std::memcpy(&value, in + i * sizeof(From), sizeof(From));
    target[i] = decode(value);
  }
}

template <typename To, typename Encode>
void encodeAll(const float* source, void* target, std::size_t n, Encode encode) {
  auto* out = static_cast<unsigned char*>(target);
  for (std::size_t i = 0; i < n; ++i) {
    const To value = encode(source[i]);
    std::memcpy(out + i * sizeof(To), &value, sizeof(To));
  }
}

template <typename To>
To saturate(float value) {
  if (std::isnan(value)) return 0;
  // The largest integer is rounded up by the conversion to float; everything below that is representable.
  if (value >= static_cast<float>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  if (value <= static_cast<float>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return static_cast<To>(value);
}

}  // namespace

float f8e4m3ToFloat(std::uint8_t bits) { return E4M3::decode(bits); }
float f8e5m2ToFloat(std::uint8_t bits) { return E5M2::decode(bits); }
std::uint8_t floatToF8e4m3(float value) { return E4M3::encode(value); }
std::uint8_t floatToF8e5m2(float value) { return E5M2::encode(value); }

void toFloat(DType from, const void* source, float* target, std::size_t n) {
  const auto byValue = [](auto v) { return static_cast<float>(v); };
  switch (from) {
    case DType::F32:
      if (n != 0) std::memcpy(target, source, n * sizeof(float));  // an empty array may have no address
      break;
    case DType::F16:
      decodeAll<std::uint16_t>(source, target, n, f16ToFloat);
      break;
    case DType::BF16:
      decodeAll<std::uint16_t>(source, target, n, bf16ToFloat);
      break;
    case DType::F8E4M3:
      decodeAll<std::uint8_t>(source, target, n, E4M3::decode);
      break;
    case DType::F8E5M2:
      decodeAll<std::uint8_t>(source, target, n, E5M2::decode);
      break;
    case DType::I1:
      decodeAll<std::uint8_t>(source, target, n, [](std::uint8_t v) { return v != 0 ? 1.0f : 0.0f; });
      break;
    case DType::I8:
      decodeAll<std::int8_t>(source, target, n, byValue);
      break;
    case DType::I32:
      decodeAll<std::int32_t>(source, target, n, byValue);
      break;
    case DType::I64:
      decodeAll<std::int64_t>(source, target, n, byValue);
      break;
  }
}

void fromFloat(DType to, const float* source, void* target, std::size_t n) {
  switch (to) {
    case DType::F32:
      if (n != 0) std::memcpy(target, source, n * sizeof(float));
      break;
    case DType::F16:
      encodeAll<std::uint16_t>(source, target, n, floatToF16);
      break;
    case DType::BF16:
      encodeAll<std::uint16_t>(source, target, n, floatToBf16);
      break;
    case DType::F8E4M3:
      encodeAll<std::uint8_t>(source, target, n, E4M3::encode);
      break;
    case DType::F8E5M2:
      encodeAll<std::uint8_t>(source, target, n, E5M2::encode);
      break;
    case DType::I1:
      encodeAll<std::uint8_t>(source, target, n, [](float v) { return static_cast<std::uint8_t>(v != 0.0f); });
      break;
    case DType::I8:
      encodeAll<std::int8_t>(source, target, n, saturate<std::int8_t>);
      break;
    case DType::I32:
      encodeAll<std::int32_t>(source, target, n, saturate<std::int32_t>);
      break;
    case DType::I64:
      encodeAll<std::int64_t>(source, target, n, saturate<std::int64_t>);
      break;
  }
}

float loadFloat(DType type, const void* element) {
  float value = 0;
  toFloat(type, element, &value, 1);
  return value;
}

}  // namespace fattn::io
