// SPDX-License-Identifier: Apache-2.0
// Rounding and encoding of numbers through LLVM's APFloat, which knows every format of the dialect.
#include "compiler/interpreter/Number.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "llvm/ADT/APFloat.h"

using namespace mlir;

namespace fattn::interpreter {

/// Rounds to `precision` bits where the result certainly is a normal number of a format with these exponents; nothing else.
static bool roundNormal(double& value, int precision, int least, int greatest) {
  auto bits = std::bit_cast<uint64_t>(value);
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  if (exponent < least || exponent >= greatest) return false;
  int dropped = 53 - precision;
  bits += (uint64_t{1} << (dropped - 1)) - 1 + (bits >> dropped & 1);
  value = std::bit_cast<double>(bits >> dropped << dropped);
  return true;
}

double roundTo(double value, Type type) {
  if (type.isF64()) return value;
  if (type.isF32()) return static_cast<float>(value);
  if (value == 0) return value;
  if (type.isF16() && roundNormal(value, 11, -14, 15)) return value;
  if (type.isBF16() && roundNormal(value, 8, -126, 127)) return value;
  llvm::APFloat number(value);
  bool inexact;
  number.convert(cast<FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

double roundToTf32(double value) {
  if (value == 0 || roundNormal(value, 11, -126, 127)) return value;
  llvm::APFloat number(value);
  bool inexact;
  number.convert(llvm::APFloat::FloatTF32(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

unsigned integerBits(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

uint64_t asUnsigned(int64_t value, Type type) {
  unsigned bits = integerBits(type);
  auto pattern = static_cast<uint64_t>(value);
  return bits >= 64 ? pattern : pattern & ((uint64_t{1} << bits) - 1);
}

int64_t wrapTo(uint64_t value, Type type) {
  unsigned bits = integerBits(type);
  if (bits == 1) return static_cast<int64_t>(value & 1);
  if (bits >= 64) return static_cast<int64_t>(value);
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

int64_t asSigned(int64_t value, Type type) { return integerBits(type) == 1 ? -(value & 1) : value; }

int64_t bytesOf(Type type) { return (integerBits(type) + 7) / 8; }

uint64_t toBits(const Element& element, Type type) {
  if (!isa<FloatType>(type)) return asUnsigned(element.i, type);
  if (type.isF64()) return std::bit_cast<uint64_t>(element.f);
  if (type.isF32()) return std::bit_cast<uint32_t>(static_cast<float>(element.f));
  if (type.isBF16() && !std::isnan(element.f)) return std::bit_cast<uint32_t>(static_cast<float>(roundTo(element.f, type))) >> 16;
  llvm::APFloat number(element.f);
  bool inexact;
  number.convert(cast<FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.bitcastToAPInt().getZExtValue();
}

Element fromBits(uint64_t bits, Type type) {
  if (!isa<FloatType>(type)) return Element::integer(wrapTo(bits, type));
  if (type.isF64()) return Element::number(std::bit_cast<double>(bits));
  if (type.isF32()) return Element::number(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  if (type.isBF16()) return Element::number(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
  llvm::APFloat number(cast<FloatType>(type).getFloatSemantics(), llvm::APInt(type.getIntOrFloatBitWidth(), bits));
  return Element::number(number.convertToDouble());
}

Element readBytes(const void* from, Type type) {
  static_assert(std::endian::native == std::endian::little, "elements are copied byte by byte");
  uint64_t bits = 0;
  std::memcpy(&bits, from, bytesOf(type));
  if (type.isSignlessInteger(1)) return Element::integer(bits != 0);
  return fromBits(bits, type);
}

void writeBytes(void* to, const Element& element, Type type) {
  uint64_t bits = toBits(element, type);
  std::memcpy(to, &bits, bytesOf(type));
}

std::string toText(const Element& element, Type type) {
  if (type.isSignlessInteger(1)) return element.i ? "true" : "false";
  if (!isa<FloatType>(type)) return fmt::format("{}", element.i);
  if (std::isnan(element.f)) return "nan";
  return type.isF64() ? fmt::format("{}", element.f) : fmt::format("{}", static_cast<float>(element.f));
}

}  // namespace fattn::interpreter
