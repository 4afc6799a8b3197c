// SPDX-License-Identifier: Apache-2.0
// arith and math, one element at a time: one line for each operation. Functions compute in float64, or in 64 bits; the result is rounded
// to the element's type, or wraps at its width.
#include "compiler/interpreter/Arithmetic.h"

#include <cmath>
#include <cstdlib>

#include "compiler/interpreter/Machine.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace fattn::interpreter {

namespace {

using FloatFunction = double (*)(const double*);
/// An integer operand in both readings.
struct Integer {
  int64_t s;
  uint64_t u;
};
using IntegerFunction = uint64_t (*)(const Integer*, unsigned bits);

/// NaN where either is; -0 is less than +0.
double minimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
double maximum(double a, double b) { return -minimum(-a, -b); }

uint64_t shiftLeft(const Integer* x, unsigned bits) { return x[1].u < bits ? x[0].u << x[1].u : 0; }
uint64_t shiftRight(const Integer* x, unsigned bits) { return x[1].u < bits ? x[0].u >> x[1].u : 0; }
uint64_t shiftRightSigned(const Integer* x, unsigned bits) { return x[0].s >> std::min<uint64_t>(x[1].u, std::min(bits, 64u) - 1); }

/// Signed division with a rounding mode; the quotient of the smallest number by -1 wraps.
uint64_t divide(const Integer* x, int rounding) {
  if (x[1].s == -1) return 0 - static_cast<uint64_t>(x[0].s);
  int64_t quotient = x[0].s / x[1].s, remainder = x[0].s % x[1].s;
  bool negative = (remainder < 0) != (x[1].s < 0);
  if (remainder != 0 && rounding < 0 && negative) --quotient;
  if (remainder != 0 && rounding > 0 && !negative) ++quotient;
  return quotient;
}

const llvm::StringMap<FloatFunction>& floatFunctions() {
  static const llvm::StringMap<FloatFunction> table = {
      {"arith.addf", [](const double* x) { return x[0] + x[1]; }},
      {"arith.subf", [](const double* x) { return x[0] - x[1]; }},
      {"arith.mulf", [](const double* x) { return x[0] * x[1]; }},
      {"arith.divf", [](const double* x) { return x[0] / x[1]; }},
      {"arith.remf", [](const double* x) { return std::fmod(x[0], x[1]); }},
      {"arith.negf", [](const double* x) { return -x[0]; }},
      {"arith.maxnumf", [](const double* x) { return std::fmax(x[0], x[1]); }},
      {"arith.minnumf", [](const double* x) { return std::fmin(x[0], x[1]); }},
      {"arith.maximumf", [](const double* x) { return maximum(x[0], x[1]); }},
      {"arith.minimumf", [](const double* x) { return minimum(x[0], x[1]); }},
      {"arith.extf", [](const double* x) { return x[0]; }},
      {"arith.truncf", [](const double* x) { return x[0]; }},
      {"math.absf", [](const double* x) { return std::fabs(x[0]); }},
      {"math.atan", [](const double* x) { return std::atan(x[0]); }},
      {"math.atan2", [](const double* x) { return std::atan2(x[0], x[1]); }},
      {"math.cbrt", [](const double* x) { return std::cbrt(x[0]); }},
      {"math.ceil", [](const double* x) { return std::ceil(x[0]); }},
      {"math.copysign", [](const double* x) { return std::copysign(x[0], x[1]); }},
      {"math.cos", [](const double* x) { return std::cos(x[0]); }},
      {"math.erf", [](const double* x) { return std::erf(x[0]); }},
      {"math.exp", [](const double* x) { return std::exp(x[0]); }},
      {"math.exp2", [](const double* x) { return std::exp2(x[0]); }},
      {"math.expm1", [](const double* x) { return std::expm1(x[0]); }},
      {"math.floor", [](const double* x) { return std::floor(x[0]); }},
      {"math.fma", [](const double* x) { return std::fma(x[0], x[1], x[2]); }},
      {"math.log", [](const double* x) { return std::log(x[0]); }},
      {"math.log10", [](const double* x) { return std::log10(x[0]); }},
      {"math.log1p", [](const double* x) { return std::log1p(x[0]); }},
      {"math.log2", [](const double* x) { return std::log2(x[0]); }},
      {"math.powf", [](const double* x) { return std::pow(x[0], x[1]); }},
      {"math.round", [](const double* x) { return std::round(x[0]); }},
      {"math.roundeven", [](const double* x) { return std::nearbyint(x[0]); }},
      {"math.rsqrt", [](const double* x) { return 1 / std::sqrt(x[0]); }},
      {"math.sin", [](const double* x) { return std::sin(x[0]); }},
      {"math.sqrt", [](const double* x) { return std::sqrt(x[0]); }},
      {"math.tan", [](const double* x) { return std::tan(x[0]); }},
      {"math.tanh", [](const double* x) { return std::tanh(x[0]); }},
      {"math.trunc", [](const double* x) { return std::trunc(x[0]); }},
  };
  return table;
}

const llvm::StringMap<IntegerFunction>& integerFunctions() {
  static const llvm::StringMap<IntegerFunction> table = {
      {"arith.addi", [](const Integer* x, unsigned) { return x[0].u + x[1].u; }},
      {"arith.subi", [](const Integer* x, unsigned) { return x[0].u - x[1].u; }},
      {"arith.muli", [](const Integer* x, unsigned) { return x[0].u * x[1].u; }},
      {"arith.divsi", [](const Integer* x, unsigned) { return divide(x, 0); }},
      {"arith.divui", [](const Integer* x, unsigned) { return x[0].u / x[1].u; }},
      {"arith.ceildivsi", [](const Integer* x, unsigned) { return divide(x, 1); }},
      {"arith.ceildivui", [](const Integer* x, unsigned) { return x[0].u / x[1].u + (x[0].u % x[1].u != 0); }},
      {"arith.floordivsi", [](const Integer* x, unsigned) { return divide(x, -1); }},
      {"arith.remsi", [](const Integer* x, unsigned) { return x[1].s == -1 ? 0 : static_cast<uint64_t>(x[0].s % x[1].s); }},
      {"arith.remui", [](const Integer* x, unsigned) { return x[0].u % x[1].u; }},
      {"arith.andi", [](const Integer* x, unsigned) { return x[0].u & x[1].u; }},
      {"arith.ori", [](const Integer* x, unsigned) { return x[0].u | x[1].u; }},
      {"arith.xori", [](const Integer* x, unsigned) { return x[0].u ^ x[1].u; }},
      {"arith.shli", shiftLeft},
      {"arith.shrui", shiftRight},
      {"arith.shrsi", shiftRightSigned},
      {"arith.maxsi", [](const Integer* x, unsigned) { return static_cast<uint64_t>(std::max(x[0].s, x[1].s)); }},
      {"arith.minsi", [](const Integer* x, unsigned) { return static_cast<uint64_t>(std::min(x[0].s, x[1].s)); }},
      {"arith.maxui", [](const Integer* x, unsigned) { return std::max(x[0].u, x[1].u); }},
      {"arith.minui", [](const Integer* x, unsigned) { return std::min(x[0].u, x[1].u); }},
      {"arith.extsi", [](const Integer* x, unsigned) { return static_cast<uint64_t>(x[0].s); }},
      {"arith.extui", [](const Integer* x, unsigned) { return x[0].u; }},
      {"arith.trunci", [](const Integer* x, unsigned) { return x[0].u; }},
      {"arith.index_cast", [](const Integer* x, unsigned) { return static_cast<uint64_t>(x[0].s); }},
      {"arith.index_castui", [](const Integer* x, unsigned) { return x[0].u; }},
      {"math.absi", [](const Integer* x, unsigned) { return x[0].s < 0 ? 0 - static_cast<uint64_t>(x[0].s) : x[0].u; }},
  };
  return table;
}

bool divides(StringRef name) {
  return name.contains("div") || name.contains("rem");  // only asked of integer operations
}

bool compare(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
    case P::AlwaysFalse:
      return false;
    case P::AlwaysTrue:
      return true;
    case P::OEQ:
      return a == b;
    case P::OGT:
      return a > b;
    case P::OGE:
      return a >= b;
    case P::OLT:
      return a < b;
    case P::OLE:
      return a <= b;
    case P::ONE:
      return !unordered && a != b;
    case P::ORD:
      return !unordered;
    case P::UEQ:
      return unordered || a == b;
    case P::UGT:
      return unordered || a > b;
    case P::UGE:
      return unordered || a >= b;
    case P::ULT:
      return unordered || a < b;
    case P::ULE:
      return unordered || a <= b;
    case P::UNE:
      return a != b;
    case P::UNO:
      return unordered;
  }
  return false;
}

bool compare(arith::CmpIPredicate predicate, Integer a, Integer b) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
    case P::eq:
      return a.u == b.u;
    case P::ne:
      return a.u != b.u;
    case P::slt:
      return a.s < b.s;
    case P::sle:
      return a.s <= b.s;
    case P::sgt:
      return a.s > b.s;
    case P::sge:
      return a.s >= b.s;
    case P::ult:
      return a.u < b.u;
    case P::ule:
      return a.u <= b.u;
    case P::ugt:
      return a.u > b.u;
    case P::uge:
      return a.u >= b.u;
  }
  return false;
}

/// Truncates towards zero; what does not fit, and has no value in arith, becomes the nearest number, NaN zero.
int64_t toInteger(double value, unsigned bits, bool isSigned) {
  double limit = std::ldexp(1.0, static_cast<int>(isSigned ? bits - 1 : bits));
  if (std::isnan(value)) return 0;
  if (value >= limit) return static_cast<int64_t>((isSigned ? uint64_t{1} << (bits - 1) : bits >= 64 ? 0 : uint64_t{1} << bits) - 1);
  if (isSigned) return value <= -limit ? static_cast<int64_t>(0 - (uint64_t{1} << (bits - 1))) : static_cast<int64_t>(value);
  return value <= 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(value));
}

Element fromPattern(const APInt& pattern, Type type) { return fromBits(pattern.getZExtValue(), type); }

/// An operation of the tables, or an empty function.
ElementFunction tableFunction(Operation* op, Type in, Type out) {
  StringRef name = op->getName().getStringRef();
  size_t count = op->getNumOperands();
  if (auto found = floatFunctions().find(name); found != floatFunctions().end())
    return [function = found->second, count, out](const Element* operands) {
      double x[3] = {};
      for (size_t k = 0; k < count; ++k) x[k] = operands[k].f;
      return Element::number(roundTo(function(x), out));
    };
  if (auto found = integerFunctions().find(name); found != integerFunctions().end())
    return [function = found->second, count, in, out, op, divides = divides(name)](const Element* operands) {
      Integer x[3] = {};
      for (size_t k = 0; k < count; ++k) x[k] = {asSigned(operands[k].i, in), asUnsigned(operands[k].i, in)};
      if (x[1].u == 0 && divides) fail(op, "divides by zero");
      return Element::integer(wrapTo(function(x, integerBits(in)), out));
    };
  return {};
}

}  // namespace

ElementFunction elementFunction(Operation* op) {
  if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) || isa<arith::ConstantOp>(op)) return {};
  if (op->getNumOperands() == 0 || op->getNumOperands() > 3 || op->getNumResults() != 1) return {};
  Type in = getElementTypeOrSelf(op->getOperand(op->getNumOperands() - 1).getType()),
       out = getElementTypeOrSelf(op->getResult(0).getType());
  auto integer = [in](const Element& e) { return Integer{asSigned(e.i, in), asUnsigned(e.i, in)}; };
  if (ElementFunction found = tableFunction(op, in, out)) return found;
  if (auto cmp = dyn_cast<arith::CmpFOp>(op))
    return [predicate = cmp.getPredicate()](const Element* x) { return Element::integer(compare(predicate, x[0].f, x[1].f)); };
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    return [predicate = cmp.getPredicate(), integer](const Element* x) {
      return Element::integer(compare(predicate, integer(x[0]), integer(x[1])));
    };
  if (isa<arith::SelectOp>(op)) return [](const Element* x) { return x[0].i ? x[1] : x[2]; };
  if (isa<arith::SIToFPOp>(op))
    return [integer, out](const Element* x) { return Element::number(roundTo(static_cast<double>(integer(x[0]).s), out)); };
  if (isa<arith::UIToFPOp>(op))
    return [integer, out](const Element* x) { return Element::number(roundTo(static_cast<double>(integer(x[0]).u), out)); };
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return [isSigned = isa<arith::FPToSIOp>(op), out](const Element* x) {
      return Element::integer(wrapTo(static_cast<uint64_t>(toInteger(x[0].f, integerBits(out), isSigned)), out));
    };
  if (isa<arith::BitcastOp>(op)) return [in, out](const Element* x) { return fromBits(toBits(x[0], in), out); };
  if (isa<math::IsNaNOp>(op)) return [](const Element* x) { return Element::integer(std::isnan(x[0].f)); };
  return {};
}

std::vector<Element> literal(arith::ConstantOp op) {
  Type element = getElementTypeOrSelf(op.getType());
  if (auto number = dyn_cast<FloatAttr>(op.getValue())) return {fromPattern(number.getValue().bitcastToAPInt(), element)};
  if (auto number = dyn_cast<IntegerAttr>(op.getValue())) return {fromPattern(number.getValue(), element)};
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense) fail(op, "must hold a number or a dense tile of numbers", ErrorCode::Unsupported);
  std::vector<Element> result;
  result.reserve(static_cast<size_t>(dense.getNumElements()));
  if (isa<FloatType>(element))
    for (const APFloat& number : dense.getValues<APFloat>()) result.push_back(fromPattern(number.bitcastToAPInt(), element));
  else
    for (const APInt& number : dense.getValues<APInt>()) result.push_back(fromPattern(number, element));
  return result;
}

}  // namespace fattn::interpreter
