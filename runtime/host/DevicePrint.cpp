// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/DevicePrint.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>

#include "fattn/DType.h"

namespace {

using fattn::DType;

template <typename T>
T element(const void* data, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Any small binary format. With `finiteOnly` the all-ones exponent is an ordinary one and only all-ones is NaN.
double decode(std::uint32_t bits, int exponentBits, int mantissaBits, bool finiteOnly) {
  int bias = (1 << (exponentBits - 1)) - 1;
  std::uint32_t mantissa = bits & ((1u << mantissaBits) - 1);
  int exponent = static_cast<int>(bits >> mantissaBits) & ((1 << exponentBits) - 1);
  double sign = (bits >> (mantissaBits + exponentBits)) & 1 ? -1.0 : 1.0;
  if (exponent == (1 << exponentBits) - 1 && (!finiteOnly || mantissa == (1u << mantissaBits) - 1))
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissaBits);
  return sign * std::ldexp(mantissa | (1u << mantissaBits), exponent - bias - mantissaBits);
}

std::string elementText(DType type, const void* data, std::int64_t i) {
  switch (type) {
    case DType::F32:
      return fmt::format("{:.6g}", element<float>(data, i));
    case DType::F16:
      return fmt::format("{:.5g}", decode(element<std::uint16_t>(data, i), 5, 10, false));
    case DType::BF16:
      return fmt::format("{:.4g}", decode(element<std::uint16_t>(data, i), 8, 7, false));
    case DType::F8E4M3:
      return fmt::format("{:.3g}", decode(element<std::uint8_t>(data, i), 4, 3, true));
    case DType::F8E5M2:
      return fmt::format("{:.3g}", decode(element<std::uint8_t>(data, i), 5, 2, false));
    case DType::I1:
      return element<std::uint8_t>(data, i) != 0 ? "true" : "false";
    case DType::I8:
      return fmt::format("{}", static_cast<int>(element<std::int8_t>(data, i)));
    case DType::I32:
      return fmt::format("{}", element<std::int32_t>(data, i));
    case DType::I64:
      return fmt::format("{}", element<std::int64_t>(data, i));
  }
  return "?";
}

}  // namespace

// Compiled code has no way for exceptions to go: where there is no memory for the text, there is no text.
extern "C" void fattn_device_print(const std::int32_t* grid, const char* prefix, std::int32_t dtype, std::int32_t rank,
                                   const std::int64_t* shape, const void* data) try {
  std::string text = fmt::format("[program {},{},{}] {}", grid[0], grid[1], grid[2], prefix);
  if (dtype >= 0) {
    auto type = static_cast<DType>(dtype);
    std::int64_t count = 1, row = rank > 0 ? shape[rank - 1] : 1;
    for (int d = 0; d < rank; ++d) count *= shape[d];
    text += fmt::format(": {}", fattn::name(type));
    for (int d = 0; d < rank; ++d) text += fmt::format("{}{}{}", d ? ", " : " [", shape[d], d + 1 == rank ? "]" : "");
    for (std::int64_t i = 0; i < count; ++i) text += (rank > 1 && i % row == 0 ? "\n  " : " ") + elementText(type, data, i);
  }
  text += '\n';
  std::fwrite(text.data(), 1, text.size(), stdout);
} catch (const std::exception&) {
  std::fputs("[a program's print had no memory]\n", stdout);
}
