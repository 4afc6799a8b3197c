// SPDX-License-Identifier: Apache-2.0
// Seven instructions of the machine: cvt.rna.tf32 is three, and another three for low would buy nothing.
#include "compiler/nvidia/Tf32Parts.h"

#include <llvm/ADT/bit.h>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace fattn::nvidia {
namespace {

constexpr uint32_t kFraction = 0xffffe000;  // what tf32 has of a number's bits
constexpr uint32_t kHalfUnit = 0x00001000;  // half a unit in the last place, which rounds by its carry
constexpr uint32_t kRoundsUp = 0x7f7ff000;  // the least number whose rounding would carry into infinity
constexpr uint32_t kLargest = 0x7f7fe000;   // of tf32
constexpr uint32_t kInfinity = 0x7f800000, kOne = 0x3f800000, kSign = 0x80000000;

// A linear map of words that leaves the largest numbers where they are and takes the infinities to 1 and -1: one instruction under the
// predicate that is there anyway.
constexpr uint32_t kFactor = 1 - 0x20000, kOffset = 0xc0000000;
constexpr uint32_t mapped(uint32_t word) { return word * kFactor + kOffset; }
static_assert(mapped(kLargest) == kLargest && mapped(kLargest | kSign) == (kLargest | kSign));
static_assert(mapped(kInfinity) == kOne && mapped(kInfinity | kSign) == (kOne | kSign));

}  // namespace

Tf32Parts tf32Parts(ImplicitLocOpBuilder& b, Value number) {
  auto word = [&](uint32_t value) -> Value { return arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(value))); };
  Value bits = b.createOrFold<arith::BitcastOp>(b.getI32Type(), number);
  Value limit = arith::ConstantOp::create(b, b.getF32FloatAttr(llvm::bit_cast<float>(kRoundsUp)));
  Value size = b.createOrFold<math::AbsFOp>(number);
  Value special = b.createOrFold<arith::CmpFOp>(arith::CmpFPredicate::UGE, size, limit);  // too large to round, or infinite, or NaN
  Value carried = b.createOrFold<arith::AddIOp>(bits, word(kHalfUnit));
  Value high = b.createOrFold<arith::SelectOp>(special, bits, carried);
  high = b.createOrFold<arith::AndIOp>(high, word(kFraction));
  Value moved = b.createOrFold<arith::MulIOp>(high, word(kFactor));
  moved = b.createOrFold<arith::AddIOp>(moved, word(kOffset));
  high = b.createOrFold<arith::SelectOp>(special, moved, high);
  Value rest = b.createOrFold<arith::SubFOp>(number, b.createOrFold<arith::BitcastOp>(b.getF32Type(), high));
  Value low = b.createOrFold<arith::AndIOp>(b.createOrFold<arith::BitcastOp>(b.getI32Type(), rest), word(kFraction));
  return {high, low};
}

}  // namespace fattn::nvidia
