// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/builder/Convert.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

Type like(Type shape, Type element) {
  auto v = dyn_cast<VectorType>(shape);
  return v ? Type(VectorType::get(v.getShape(), element)) : element;
}

/// Short integer expressions on scalars or vectors of one integer type.
struct Bits {
  HostBuilder& b;
  Type type;

  Value c(int64_t v) const {
    auto e = cast<IntegerType>(getElementTypeOrSelf(type));
    auto attr = IntegerAttr::get(e, APInt(e.getWidth(), v, /*isSigned=*/false, /*implicitTrunc=*/true));
    if (auto vec = dyn_cast<VectorType>(type)) return arith::ConstantOp::create(b, DenseElementsAttr::get(vec, attr.getValue()));
    return arith::ConstantOp::create(b, attr);
  }
  Value shl(Value a, int n) const { return arith::ShLIOp::create(b, a, c(n)); }
  Value shr(Value a, int n) const { return arith::ShRUIOp::create(b, a, c(n)); }
  Value and_(Value a, int64_t m) const { return arith::AndIOp::create(b, a, c(m)); }
  Value or_(Value a, Value d) const { return arith::OrIOp::create(b, a, d); }
  Value add(Value a, Value d) const { return arith::AddIOp::create(b, a, d); }
  Value sub(Value a, Value d) const { return arith::SubIOp::create(b, a, d); }
  Value is(arith::CmpIPredicate p, Value a, int64_t v) const { return arith::CmpIOp::create(b, p, a, c(v)); }
  Value select(Value cond, Value a, Value d) const { return arith::SelectOp::create(b, cond, a, d); }
};

/// A binary floating-point format of at most 16 bits: sign, exponent, mantissa. IEEE formats keep the highest exponent for infinities and
/// NaN; f8E4M3FN keeps only its last code, for NaN (OCP 8-bit Floating Point Specification 1.0).
struct SmallFormat {
  int bits, mantissa, bias;
  bool ieee;

  static SmallFormat of(Type t) {
    if (t.isF16()) return {16, 10, 15, true};
    return isa<Float8E5M2Type>(t) ? SmallFormat{8, 2, 15, true} : SmallFormat{8, 3, 7, false};
  }
  int64_t magnitudeMask() const { return (1 << (bits - 1)) - 1; }
  int64_t exponentMask() const { return magnitudeMask() >> mantissa << mantissa; }
  int64_t largest() const { return ieee ? exponentMask() - 1 : magnitudeMask() - 1; }
  int64_t overflow() const { return ieee ? exponentMask() : magnitudeMask(); }
  int64_t quietNan() const { return ieee ? exponentMask() | 1 << (mantissa - 1) : magnitudeMask(); }
};

Value smallToF32(HostBuilder& b, Value v) {
  SmallFormat f = SmallFormat::of(getElementTypeOrSelf(v.getType()));
  Type f32 = like(v.getType(), b.getF32Type());
  Bits i{b, like(v.getType(), b.getI32Type())};
  Value bits = arith::ExtUIOp::create(b, i.type, arith::BitcastOp::create(b, like(v.getType(), b.getIntegerType(f.bits)), v));
  Value sign = i.shl(i.and_(bits, 1 << (f.bits - 1)), 32 - f.bits), magnitude = i.and_(bits, f.magnitudeMask());
  // Normal and subnormal alike: place exponent and mantissa, then scale by 2^(127 - bias), which is exact.
  Value placed = LLVM::BitcastOp::create(b, f32, i.shl(magnitude, 23 - f.mantissa));
  Value factor = LLVM::BitcastOp::create(b, f32, i.c(llvm::bit_cast<int32_t>(std::ldexp(1.0f, 127 - f.bias))));
  Value finite = LLVM::BitcastOp::create(b, i.type, arith::MulFOp::create(b, placed, factor));
  Value payload = i.shl(i.and_(magnitude, (1 << f.mantissa) - 1), 23 - f.mantissa);
  Value special = f.ieee ? i.or_(i.c(0x7f800000), payload) : i.c(0x7fc00000);
  Value isSpecial = i.is(arith::CmpIPredicate::uge, magnitude, f.overflow());
  return LLVM::BitcastOp::create(b, f32, i.or_(sign, i.select(isSpecial, special, finite)));
}

/// To nearest even. Beyond the largest finite value: infinity, or NaN where the format has none (as APFloat does).
Value smallFromF32(HostBuilder& b, Value v, Type to) {
  SmallFormat f = SmallFormat::of(to);
  Bits i{b, like(v.getType(), b.getI32Type())};
  Type f32 = like(v.getType(), b.getF32Type());
  auto asFloat = [&](Value x) -> Value { return LLVM::BitcastOp::create(b, f32, x); };
  auto asBits = [&](Value x) -> Value { return LLVM::BitcastOp::create(b, i.type, x); };
  Value bits = asBits(v);
  Value sign = i.and_(i.shr(bits, 32 - f.bits), 1 << (f.bits - 1)), magnitude = i.and_(bits, 0x7fffffff);
  int shift = 23 - f.mantissa;
  // Normal: round the mantissa in place, then rebias the exponent.
  Value odd = i.and_(i.shr(magnitude, shift), 1);
  Value rounded = i.shr(i.add(magnitude, i.add(odd, i.c((1 << (shift - 1)) - 1))), shift);
  Value normal = i.sub(rounded, i.c((127 - f.bias) << f.mantissa));
  // Subnormal: adding 2^(23 + lowest exponent) lets the adder round to the last place.
  int32_t magic = llvm::bit_cast<int32_t>(std::ldexp(1.0f, 23 + 1 - f.bias - f.mantissa));
  Value subnormal = i.sub(asBits(arith::AddFOp::create(b, asFloat(magnitude), asFloat(i.c(magic)))), i.c(magic));
  Value isNormal = i.is(arith::CmpIPredicate::uge, magnitude, llvm::bit_cast<int32_t>(std::ldexp(1.0f, 1 - f.bias)));
  Value out = i.select(isNormal, normal, subnormal);
  out = i.select(i.is(arith::CmpIPredicate::ugt, out, f.largest()), i.c(f.overflow()), out);
  out = i.select(i.is(arith::CmpIPredicate::uge, magnitude, 0x7f800000), i.c(f.overflow()), out);
  out = i.select(i.is(arith::CmpIPredicate::ugt, magnitude, 0x7f800000), i.c(f.quietNan()), out);
  Value narrow = arith::TruncIOp::create(b, like(v.getType(), b.getIntegerType(f.bits)), i.or_(sign, out));
  return arith::BitcastOp::create(b, like(v.getType(), to), narrow);
}

/// Round to nearest even: add half of the last kept place, less one if that place is even; a NaN becomes a quiet one.
Value bf16FromF32(HostBuilder& b, Value v) {
  Bits i{b, like(v.getType(), b.getI32Type())};
  Value bits = LLVM::BitcastOp::create(b, i.type, v);
  Value bias = i.add(i.and_(i.shr(bits, 16), 1), i.c(0x7fff));
  Value rounded = i.shr(i.add(bits, bias), 16);
  Value quiet = i.or_(i.shr(bits, 16), i.c(0x40));
  Value nan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, v, v);
  Value half = arith::TruncIOp::create(b, like(v.getType(), b.getI16Type()), i.select(nan, quiet, rounded));
  return LLVM::BitcastOp::create(b, like(v.getType(), b.getBF16Type()), half);
}

Value floatFromF32(HostBuilder& b, Value v, Type to) {
  if (to.isF32()) return v;
  Type out = like(v.getType(), to);
  if (to.isF64()) return arith::ExtFOp::create(b, out, v);
  if (to.isF16() && b.host.halfConvert) return arith::TruncFOp::create(b, out, v);
  if (!to.isBF16()) return smallFromF32(b, v, to);
  if (b.host.bf16Dot && isa<VectorType>(v.getType())) return arith::TruncFOp::create(b, out, v);  // vcvtneps2bf16
  return bf16FromF32(b, v);
}

Value convertInteger(HostBuilder& b, Value v, Type to) {
  Type from = getElementTypeOrSelf(v.getType()), out = like(v.getType(), to);
  if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth()) return arith::TruncIOp::create(b, out, v);
  if (from.getIntOrFloatBitWidth() > 1) return arith::ExtSIOp::create(b, out, v);
  return arith::ExtUIOp::create(b, out, v);
}

Value convertFloat(HostBuilder& b, Value v, Type to) {
  Type from = getElementTypeOrSelf(v.getType()), out = like(v.getType(), to);
  if (from.isF64() && to.isF32()) return arith::TruncFOp::create(b, out, v);
  if (from.isF32() && to.isF64()) return arith::ExtFOp::create(b, out, v);
  return floatFromF32(b, floatToF32(b, v), to);
}

}  // namespace

Value floatToF32(HostBuilder& b, Value v) {
  Type from = getElementTypeOrSelf(v.getType());
  Type f32 = like(v.getType(), b.getF32Type());
  if (from.isF32()) return v;
  if (from.isF64()) return arith::TruncFOp::create(b, f32, v);
  if (from.isBF16()) {
    Value bits = LLVM::BitcastOp::create(b, like(v.getType(), b.getI16Type()), v);
    Bits i{b, like(v.getType(), b.getI32Type())};
    Value wide = arith::ExtUIOp::create(b, i.type, bits);
    return LLVM::BitcastOp::create(b, f32, i.shl(wide, 16));
  }
  if (from.isF16() && b.host.halfConvert) return arith::ExtFOp::create(b, f32, v);
  return smallToF32(b, v);
}

Value convert(HostBuilder& b, Value v, Type to) {
  Type from = getElementTypeOrSelf(v.getType());
  if (from == to) return v;
  if (isa<FloatType>(from) && isa<FloatType>(to)) return convertFloat(b, v, to);
  if (isa<IntegerType>(from) && isa<IntegerType>(to)) return convertInteger(b, v, to);
  Type out = like(v.getType(), to);
  if (from.isIndex() || to.isIndex()) return arith::IndexCastOp::create(b, out, v);
  if (!isa<FloatType>(to)) return arith::FPToSIOp::create(b, out, floatToF32(b, v));
  Value f = arith::SIToFPOp::create(b, like(v.getType(), b.getF32Type()), v);
  return floatFromF32(b, f, to);
}

}  // namespace fattn::cpu
