// SPDX-License-Identifier: Apache-2.0
// Conversions between float and the narrow floating-point types, round to nearest even, in plain arithmetic that compilers vectorize.
// A NaN stays a NaN (quiet, payload not kept). Beyond the largest finite value: f16, bf16 and f8e5m2 give infinity; f8e4m3 has none and
// gives NaN, as PyTorch does.
#ifndef FATTN_TOOLS_IO_CONVERT_H
#define FATTN_TOOLS_IO_CONVERT_H

#include <bit>
#include <cstddef>
#include <cstdint>

#include "fattn/DType.h"

namespace fattn::io {

inline float bf16ToFloat(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

inline std::uint16_t floatToBf16(float value) {
  const std::uint32_t w = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (w + 0x7fffu + ((w >> 16) & 1u)) >> 16;
  const std::uint32_t nan = (w >> 16) | 0x40u;
  return static_cast<std::uint16_t>((w & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

/// Normal numbers are rebiased by a multiplication with 2^-112; subnormal ones come out of the subtraction of a magic number.
inline float f16ToFloat(std::uint16_t bits) {
  const std::uint32_t w = static_cast<std::uint32_t>(bits) << 16, sign = w & 0x80000000u, twice = w + w;
  const float normal = std::bit_cast<float>((twice >> 4) + (0xe0u << 23)) * 0x1p-112f;
  const float subnormal = std::bit_cast<float>((twice >> 17) | (126u << 23)) - 0.5f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(twice < (1u << 27) ? subnormal : normal));
}

/// The addition of a power of two chosen by the exponent lets the float unit round at the 10th (or the subnormals') bit.
inline std::uint16_t floatToF16(float value) {
  const std::uint32_t w = std::bit_cast<std::uint32_t>(value), twice = w + w, sign = (w & 0x80000000u) >> 16;
  const float magnitude = std::bit_cast<float>(w & 0x7fffffffu);
  const float base = (magnitude * 0x1p+112f) * 0x1p-110f;  // overflows to infinity where f16 does
  const std::uint32_t exponent = twice & 0xff000000u, bias = exponent < 0x71000000u ? 0x71000000u : exponent;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>((bias >> 1) + 0x07800000u) + base);
  const std::uint32_t finite = ((bits >> 13) & 0x7c00u) + (bits & 0xfffu);
  return static_cast<std::uint16_t>(sign | (twice > 0xff000000u ? 0x7e00u : finite));
}

float f8e4m3ToFloat(std::uint8_t bits);
float f8e5m2ToFloat(std::uint8_t bits);
std::uint8_t floatToF8e4m3(float value);
std::uint8_t floatToF8e5m2(float value);

/// Arrays of `n` elements, contiguous. Integers convert by value (to integers: truncated, saturated, NaN gives 0); i1 is `!= 0`.
void toFloat(DType from, const void* source, float* target, std::size_t n);
void fromFloat(DType to, const float* source, void* target, std::size_t n);
/// One element.
float loadFloat(DType type, const void* element);

}  // namespace fattn::io

#endif
