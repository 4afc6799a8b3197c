// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/check/Numbers.h"

#include <algorithm>

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fattn::check {
namespace {

unsigned widthOf(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

uint64_t unsignedOf(int64_t value, unsigned width) {
  return width >= 64 ? static_cast<uint64_t>(value) : static_cast<uint64_t>(value) & ((uint64_t{1} << width) - 1);
}

/// Integers wrap at their width.
Number wrapped(uint64_t value, unsigned width) {
  if (width < 64) return {llvm::SignExtend64(value, width), true};
  return {static_cast<int64_t>(value), true};
}

bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b, unsigned width) {
  uint64_t ua = unsignedOf(a, width), ub = unsignedOf(b, width);
  switch (predicate) {
    case arith::CmpIPredicate::eq:
      return a == b;
    case arith::CmpIPredicate::ne:
      return a != b;
    case arith::CmpIPredicate::slt:
      return a < b;
    case arith::CmpIPredicate::sle:
      return a <= b;
    case arith::CmpIPredicate::sgt:
      return a > b;
    case arith::CmpIPredicate::sge:
      return a >= b;
    case arith::CmpIPredicate::ult:
      return ua < ub;
    case arith::CmpIPredicate::ule:
      return ua <= ub;
    case arith::CmpIPredicate::ugt:
      return ua > ub;
    case arith::CmpIPredicate::uge:
      return ua >= ub;
  }
  return false;
}

/// Division and remainder; unknown by zero and on overflow.
Number divide(Operation* op, int64_t a, int64_t b, unsigned width) {
  uint64_t ua = unsignedOf(a, width), ub = unsignedOf(b, width);
  if (b == 0) return {};
  if (isa<arith::DivUIOp>(op)) return wrapped(ua / ub, width);
  if (isa<arith::RemUIOp>(op)) return wrapped(ua % ub, width);
  if (isa<arith::CeilDivUIOp>(op)) return wrapped(ua / ub + (ua % ub != 0), width);
  if (b == -1) return isa<arith::RemSIOp>(op) ? Number{0, true} : wrapped(-static_cast<uint64_t>(a), width);
  if (isa<arith::DivSIOp>(op)) return {a / b, true};
  if (isa<arith::RemSIOp>(op)) return {a % b, true};
  if (isa<arith::CeilDivSIOp>(op)) return {llvm::divideCeilSigned(a, b), true};
  return {llvm::divideFloorSigned(a, b), true};
}

Number shift(Operation* op, int64_t a, int64_t b, unsigned width) {
  if (b < 0 || b >= static_cast<int64_t>(width)) return {};
  if (isa<arith::ShLIOp>(op)) return wrapped(static_cast<uint64_t>(a) << b, width);
  if (isa<arith::ShRUIOp>(op)) return wrapped(unsignedOf(a, width) >> b, width);
  return {a >> b, true};
}

Number binary(Operation* op, int64_t a, int64_t b, unsigned width) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  auto lessUnsigned = [&] { return unsignedOf(a, width) < unsignedOf(b, width); };
  return llvm::TypeSwitch<Operation*, Number>(op)
      .Case<arith::AddIOp>([&](auto) { return wrapped(ua + ub, width); })
      .Case<arith::SubIOp>([&](auto) { return wrapped(ua - ub, width); })
      .Case<arith::MulIOp>([&](auto) { return wrapped(ua * ub, width); })
      .Case<arith::AndIOp>([&](auto) { return Number{a & b, true}; })
      .Case<arith::OrIOp>([&](auto) { return Number{a | b, true}; })
      .Case<arith::XOrIOp>([&](auto) { return Number{a ^ b, true}; })
      .Case<arith::MinSIOp>([&](auto) { return Number{std::min(a, b), true}; })
      .Case<arith::MaxSIOp>([&](auto) { return Number{std::max(a, b), true}; })
      .Case<arith::MinUIOp>([&](auto) { return Number{lessUnsigned() ? a : b, true}; })
      .Case<arith::MaxUIOp>([&](auto) { return Number{lessUnsigned() ? b : a, true}; })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(
          [&](Operation* division) { return divide(division, a, b, width); })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>([&](Operation* moved) { return shift(moved, a, b, width); })
      .Default([](Operation*) { return Number(); });
}

/// a and false is false, a or true is true, whatever a.
Number decidedByOne(Operation* op, ArrayRef<Number> operands, unsigned width) {
  if (width != 1 || !isa<arith::AndIOp, arith::OrIOp>(op)) return {};
  for (const Number& operand : operands)
    if (operand.known && (operand.value != 0) == isa<arith::OrIOp>(op)) return operand;
  return {};
}

}  // namespace

Number evaluate(Operation* op, ArrayRef<Number> operands) {
  Type type = op->getResult(0).getType();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto integer = dyn_cast<IntegerAttr>(constant.getValue());
    return integer ? Number{integer.getValue().getSExtValue(), true} : Number();
  }
  if (isa<arith::SelectOp>(op)) {
    if (operands[0].known) return operands[0].value ? operands[1] : operands[2];
    return operands[1] == operands[2] ? operands[1] : Number();
  }
  if (llvm::any_of(operands, [](const Number& n) { return !n.known; })) return decidedByOne(op, operands, widthOf(type));
  if (operands.empty() || !op->getOperand(0).getType().isIntOrIndex()) return {};
  unsigned from = widthOf(op->getOperand(0).getType());
  if (auto test = dyn_cast<arith::CmpIOp>(op))
    return {compare(test.getPredicate(), operands[0].value, operands[1].value, from) ? -1 : 0, true};
  if (isa<arith::ExtSIOp, arith::IndexCastOp, arith::TruncIOp>(op)) return wrapped(static_cast<uint64_t>(operands[0].value), widthOf(type));
  if (isa<arith::ExtUIOp, arith::IndexCastUIOp>(op)) return wrapped(unsignedOf(operands[0].value, from), widthOf(type));
  if (operands.size() != 2) return {};
  return binary(op, operands[0].value, operands[1].value, widthOf(type));
}

bool Window::operator==(const Window& other) const {
  if (!sameArray(other)) return false;
  for (int d = 0; d < std::min(rank, kMostDims); ++d)
    if (!offsets[d].known || offsets[d] != other.offsets[d] || sizes[d] != other.sizes[d]) return false;
  return rank <= kMostDims;
}

bool Window::saysTheSame(const Window& other) const {
  const auto same = [](const Number& a, const Number& b) { return a.known == b.known && (!a.known || a.value == b.value); };
  return array == other.array && same(base, other.base) && rank == other.rank && std::ranges::equal(offsets, other.offsets, same) &&
         sizes == other.sizes && extents == other.extents && noAlias == other.noAlias && inPlace == other.inPlace;
}

bool areInPlace(const Window& a, const Window& b) { return a.array >= 0 && b.array >= 0 && a.array != b.array && (a.inPlace || b.inPlace); }

bool mayOverlap(const Window& a, const Window& b) {
  if (a.array < 0 || b.array < 0) return true;
  if (a.array != b.array) return !a.noAlias && !b.noAlias;
  if (!a.sameArray(b)) return true;
  for (int d = 0; d < std::min(a.rank, Window::kMostDims); ++d) {
    if (!a.offsets[d].known || !b.offsets[d].known) continue;
    int64_t first = a.offsets[d].value, second = b.offsets[d].value;
    if (first + a.sizes[d] <= second || second + b.sizes[d] <= first) return false;
  }
  return true;
}

}  // namespace fattn::check
