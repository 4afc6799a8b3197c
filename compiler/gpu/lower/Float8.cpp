// SPDX-License-Identifier: Apache-2.0
// 8-bit floating-point numbers by integer arithmetic, on any chip.
//
// A number's 7 bits below its sign, moved to the top of f16's fraction and exponent, are that number but for the exponent's bias: f8E5M2 is
// the upper byte of an f16, f8E4M3FN is 2^8 times what the bits say, a NaN apart. The other way: the upper bits of an f32 are rounded by an
// addition that carries, and the bias is subtracted; below the smallest normal number, adding 2^23 units of the last place rounds.
#include "compiler/gpu/lower/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fattn::gpu {
namespace {

struct Format {
  int fractionBits, bias;
  int64_t infinity, nan;  ///< bits of what lies beyond the largest number, and of a NaN
  int64_t largest;        ///< bits of the largest number
};
Format formatOf(Type type) {
  if (isa<Float8E5M2Type>(type)) return {2, 15, 0x7c, 0x7e, 0x7b};
  return {3, 7, 0x7f, 0x7f, 0x7e};
}

}  // namespace

bool isFloat8(Type element) { return isa<Float8E4M3FNType, Float8E5M2Type>(element); }

Value fromFloat8(ImplicitLocOpBuilder& b, Value bits, Type float8) {
  Type i16 = b.getI16Type(), f16 = b.getF16Type();
  auto constant = [&](int64_t value) { return arith::ConstantIntOp::create(b, i16, value); };
  Value wide = arith::ExtUIOp::create(b, i16, bits);
  bool isE5M2 = formatOf(float8).fractionBits == 2;
  if (isE5M2) {
    Value half = arith::BitcastOp::create(b, f16, arith::ShLIOp::create(b, wide, constant(8)).getResult());
    return arith::ExtFOp::create(b, b.getF32Type(), half);
  }
  Value size = arith::AndIOp::create(b, wide, constant(0x7f));
  Value sign = arith::ShLIOp::create(b, arith::AndIOp::create(b, wide, constant(0x80)), constant(8));
  Value half = arith::OrIOp::create(b, arith::ShLIOp::create(b, size, constant(7)), sign);
  Value number = arith::ExtFOp::create(b, b.getF32Type(), arith::BitcastOp::create(b, f16, half).getResult());
  number = arith::MulFOp::create(b, number, arith::ConstantOp::create(b, b.getF32FloatAttr(256)).getResult());
  Value nan = arith::ConstantOp::create(b, b.getF32FloatAttr(std::numeric_limits<float>::quiet_NaN()));
  Value isNan = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, size, constant(0x7f));
  return arith::SelectOp::create(b, isNan, nan, number);
}

Value toFloat8(ImplicitLocOpBuilder& b, Value f32, Type float8) {
  Format format = formatOf(float8);
  Type i32 = b.getI32Type();
  auto constant = [&](int64_t value) { return arith::ConstantIntOp::create(b, i32, value); };
  auto less = [&](Value x, int64_t y) { return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, constant(y)); };
  Value bits = arith::BitcastOp::create(b, i32, f32);
  Value size = arith::AndIOp::create(b, bits, constant(0x7fffffff));
  // Normal: half of the last place, less where the rest is below it or the place is even.
  int dropped = 23 - format.fractionBits;
  Value odd = arith::AndIOp::create(b, arith::ShRUIOp::create(b, size, constant(dropped)), constant(1));
  Value rounded = arith::AddIOp::create(b, arith::AddIOp::create(b, size, odd), constant((int64_t{1} << (dropped - 1)) - 1));
  Value normal = arith::ShRUIOp::create(b, rounded, constant(dropped));
  normal = arith::SubIOp::create(b, normal, constant(int64_t{127 - format.bias} << format.fractionBits));
  // Subnormal: the smallest unit is 2^(1 - bias - fractionBits), and the sum's last place is just that.
  int64_t magic = int64_t{127 + 24 - format.bias - format.fractionBits} << 23;
  Value shifted = arith::AddFOp::create(b, arith::BitcastOp::create(b, b.getF32Type(), size).getResult(),
                                        arith::BitcastOp::create(b, b.getF32Type(), constant(magic)).getResult());
  Value subnormal = arith::SubIOp::create(b, arith::BitcastOp::create(b, i32, shifted), constant(magic));
  Value result = arith::SelectOp::create(b, less(size, int64_t{128 - format.bias} << 23), subnormal, normal);
  Value inRange = less(result, format.largest + 1);
  result = arith::SelectOp::create(b, inRange, result, constant(format.infinity));
  Value isNumber = less(size, 0x7f800001);
  result = arith::SelectOp::create(b, isNumber, result, constant(format.nan));
  Value sign = arith::AndIOp::create(b, arith::ShRUIOp::create(b, bits, constant(24)), constant(0x80));
  return arith::TruncIOp::create(b, b.getI8Type(), arith::OrIOp::create(b, result, sign));
}

}  // namespace fattn::gpu
