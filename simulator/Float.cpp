// SPDX-License-Identifier: Apache-2.0
#include "simulator/Float.h"

#include <algorithm>
#include <limits>

namespace fattn::simulator {

float decodeFloat8(std::uint32_t bits, Float8 format) {
  bits &= 0xff;
  float sign = (bits & 0x80) != 0 ? -1.0F : 1.0F;
  std::uint32_t mantissa = bits & ((1U << format.mantissaBits) - 1), exponent = (bits & 0x7f) >> format.mantissaBits;
  if (format.fnuz && bits == 0x80) return std::numeric_limits<float>::quiet_NaN();
  if (!format.fnuz && format.mantissaBits == 3 && (bits & 0x7f) == 0x7f) return std::numeric_limits<float>::quiet_NaN();
  if (!format.fnuz && format.mantissaBits == 2 && exponent == 31)
    return mantissa != 0 ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), 1 - format.bias - format.mantissaBits);
  return sign * std::ldexp(static_cast<float>(mantissa | 1U << format.mantissaBits),
                           static_cast<int>(exponent) - format.bias - format.mantissaBits);
}

std::uint32_t encodeFloat8(float value, Float8 format) {
  std::uint32_t sign = std::signbit(value) ? 0x80 : 0, nan = format.fnuz ? 0x80 : sign | 0x7f;
  if (std::isnan(value)) return nan;
  bool hasInfinity = !format.fnuz && format.mantissaBits == 2;
  std::uint32_t tooLarge = hasInfinity ? sign | 0x7c : nan;
  if (std::isinf(value)) return tooLarge;
  double magnitude = std::fabs(static_cast<double>(value));
  int exponent = magnitude > 0 ? std::ilogb(magnitude) : 0;
  exponent = std::max(exponent, 1 - format.bias);  // below it, denormals have the same step
  double units = std::nearbyint(std::ldexp(magnitude, format.mantissaBits - exponent));
  std::uint32_t bits = 0;
  if (units >= std::ldexp(1.0, format.mantissaBits))
    bits = static_cast<std::uint32_t>(units) + (static_cast<std::uint32_t>(exponent + format.bias - 1) << format.mantissaBits);
  else
    bits = static_cast<std::uint32_t>(units);
  std::uint32_t largest = format.fnuz ? 0x7f : hasInfinity ? 0x7b : 0x7e;
  if (bits > largest) return tooLarge;
  return format.fnuz && bits == 0 ? 0 : sign | bits;
}

}  // namespace fattn::simulator
