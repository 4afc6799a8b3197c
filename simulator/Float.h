// SPDX-License-Identifier: Apache-2.0
// Conversions between the float formats of the chips, in forms that a compiler vectorises. They are right with denormals of 32 bits
// switched off in the processor, as kernels may ask for.
#ifndef FATTN_SIMULATOR_FLOAT_H
#define FATTN_SIMULATOR_FLOAT_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fattn::simulator {

inline float halfToFloat(std::uint32_t half) {
  std::uint32_t sign = (half & 0x8000) << 16, rest = half & 0x7fff;
  std::uint32_t normal = (rest << 13) + (112U << 23);
  std::uint32_t special = (rest << 13) | 0x7f800000;
  auto denormal = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(rest)) * 0x1p-24F);
  std::uint32_t bits = rest < 0x400 ? denormal : rest >= 0x7c00 ? special : normal;
  return std::bit_cast<float>(bits | sign);
}

/// To the nearest, ties to even.
inline std::uint32_t floatToHalf(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  std::uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  std::uint32_t normal = (rest + 0xfff + (rest >> 13 & 1) - (112U << 23)) >> 13;
  std::uint32_t denormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5F) - 0x3f000000;
  std::uint32_t large = rest > 0x7f800000 ? 0x7e00 | (rest >> 13 & 0x3ff) : 0x7c00;
  std::uint32_t half = rest < 0x38800000 ? denormal : rest >= 0x47800000 ? large : normal;
  return half | sign;
}

/// Towards zero.
inline std::uint32_t floatToHalfTruncated(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  std::uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff, exponent = rest >> 23;
  std::uint32_t shift = exponent < 102 ? 31 : 126 - (exponent > 126 ? 126 : exponent);
  std::uint32_t denormal = ((rest & 0x7fffff) | 0x800000) >> (shift > 31 ? 31 : shift);
  std::uint32_t large = rest > 0x7f800000 ? 0x7e00 | (rest >> 13 & 0x3ff) : rest == 0x7f800000 ? 0x7c00 : 0x7bff;
  std::uint32_t half = rest < 0x38800000 ? denormal : rest >= 0x47800000 ? large : (rest - (112U << 23)) >> 13;
  return half | sign;
}

/// A float that rounds to the same value of fewer bits as the double does.
inline float roundToOdd(double value) {
  auto rounded = static_cast<float>(value);
  if (static_cast<double>(rounded) == value || std::isnan(value) || std::isinf(rounded)) return rounded;
  auto bits = std::bit_cast<std::uint32_t>(rounded);
  if (std::fabs(static_cast<double>(rounded)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1);
}

/// The smaller and the larger one; the other one where one is no number. Zeros are ordered by their sign.
template <class T>
T minimumNumber(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class T>
T maximumNumber(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
/// The same, no number where one is none.
inline float minimum(float a, float b) { return std::isnan(a) ? a : std::isnan(b) ? b : minimumNumber(a, b); }
inline float maximum(float a, float b) { return std::isnan(a) ? a : std::isnan(b) ? b : maximumNumber(a, b); }

/// A NaN as operations hand it on: no longer a signaling one.
inline float quieted(float nan) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nan) | 0x00400000U); }

/// v_div_fixup: the special cases of quotient = numerator / denominator.
inline float fixQuotient(float quotient, float denominator, float numerator) {
  float sign = std::signbit(numerator) != std::signbit(denominator) ? -1.0F : 1.0F;
  if (std::isnan(numerator)) return quieted(numerator);
  if (std::isnan(denominator)) return quieted(denominator);
  if ((numerator == 0 && denominator == 0) || (std::isinf(numerator) && std::isinf(denominator)))
    return std::numeric_limits<float>::quiet_NaN();
  if (denominator == 0 || std::isinf(numerator)) return sign * std::numeric_limits<float>::infinity();
  if (std::isinf(denominator) || numerator == 0) return sign * 0.0F;
  return std::copysign(quotient, sign);
}

/// Transcendental functions of 32 bits know no denormals.
inline float flush(float value) { return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0F, value) : value; }

/// Towards zero; what is too large becomes the largest number, and what is none 0.
inline std::int32_t toSigned(double value) {
  return std::isnan(value) ? 0 : value <= -0x1p31 ? INT32_MIN : value >= 0x1p31 ? INT32_MAX : static_cast<std::int32_t>(value);
}
inline std::uint32_t toUnsigned(double value) { return value > 0 ? value >= 0x1p32 ? UINT32_MAX : static_cast<std::uint32_t>(value) : 0; }

inline float bfloatToFloat(std::uint32_t bits) { return std::bit_cast<float>(bits << 16); }

/// To the nearest, ties to even.
inline std::uint32_t floatToBfloat(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return (bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded;
}

/// A format of 8 bits. FNUZ: one NaN (0x80), no negative zero, no infinities, and a bias that is larger by 1.
struct Float8 {
  int mantissaBits;
  int bias;
  bool fnuz;
};
constexpr Float8 float8(bool fnuz, bool e5m2) { return e5m2 ? Float8{2, fnuz ? 16 : 15, fnuz} : Float8{3, fnuz ? 8 : 7, fnuz}; }
float decodeFloat8(std::uint32_t bits, Float8 format);
/// To the nearest, ties to even. What is too large becomes the format's infinity, or NaN where it has none.
std::uint32_t encodeFloat8(float value, Float8 format);

}  // namespace fattn::simulator

#endif
