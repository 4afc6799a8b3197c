// SPDX-License-Identifier: Apache-2.0
// Operators and elementwise functions: arith and math operations on scalars and tiles.
#include <fmt/format.h>

#include <array>

#include "compiler/dialect/Tile.h"
#include "dsl/Recorder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace fattn::dsl {

using namespace internal;
using detail::Binary;
using detail::Unary;
namespace arith = mlir::arith;
namespace math = mlir::math;

namespace {

constexpr std::array<std::string_view, 18> kBinaryNames = {"+",  "-",   "*",   "/",  "%",  "&", "|",  "^", "<<",
                                                           ">>", "min", "max", "==", "!=", "<", "<=", ">", ">="};
constexpr std::array<std::string_view, 11> kUnaryNames = {"unary -", "!",    "exp2",  "log2", "exp", "log",
                                                          "rcp",     "sqrt", "rsqrt", "tanh", "abs"};

enum class Family { Float, Integer, Bool };

/// Which arithmetic the values take; 8-bit floats and pointers take none.
Family family(Step& step, mlir::Value value) {
  const mlir::Type element = mlir::getElementTypeOrSelf(value.getType());
  if (element.isInteger(1)) return Family::Bool;
  if (element.isInteger()) return Family::Integer;
  if (!mlir::isa<mlir::FloatType>(element)) step.fail(fmt::format("is not defined on pointers; got {}", spell(value.getType())));
  if (element.getIntOrFloatBitWidth() < 16)
    step.fail(fmt::format("there is no arithmetic on {}; got {}", spell(element), spell(value.getType())),
              "cast to f16, bf16 or f32 first");
  return Family::Float;
}

mlir::Value createFloat(Step& step, Binary op, mlir::Value a, mlir::Value b) {
  auto compare = [&](arith::CmpFPredicate predicate) -> mlir::Value { return step.create<arith::CmpFOp>(predicate, a, b); };
  switch (op) {
    case Binary::Add:
      return step.create<arith::AddFOp>(a, b);
    case Binary::Sub:
      return step.create<arith::SubFOp>(a, b);
    case Binary::Mul:
      return step.create<arith::MulFOp>(a, b);
    case Binary::Div:
      return step.create<arith::DivFOp>(a, b);
    case Binary::Min:
      return step.create<arith::MinNumFOp>(a, b);
    case Binary::Max:
      return step.create<arith::MaxNumFOp>(a, b);
    case Binary::Eq:
      return compare(arith::CmpFPredicate::OEQ);
    case Binary::Ne:
      return compare(arith::CmpFPredicate::UNE);
    case Binary::Lt:
      return compare(arith::CmpFPredicate::OLT);
    case Binary::Le:
      return compare(arith::CmpFPredicate::OLE);
    case Binary::Gt:
      return compare(arith::CmpFPredicate::OGT);
    case Binary::Ge:
      return compare(arith::CmpFPredicate::OGE);
    default:
      step.fail(fmt::format("needs integers; got {}", spell(a.getType())), "cast to an integer type first");
  }
}

mlir::Value createInteger(Step& step, Binary op, mlir::Value a, mlir::Value b) {
  auto compare = [&](arith::CmpIPredicate predicate) -> mlir::Value { return step.create<arith::CmpIOp>(predicate, a, b); };
  switch (op) {
    case Binary::Add:
      return step.create<arith::AddIOp>(a, b);
    case Binary::Sub:
      return step.create<arith::SubIOp>(a, b);
    case Binary::Mul:
      return step.create<arith::MulIOp>(a, b);
    case Binary::Div:
      return step.create<arith::DivSIOp>(a, b);
    case Binary::Rem:
      return step.create<arith::RemSIOp>(a, b);
    case Binary::And:
      return step.create<arith::AndIOp>(a, b);
    case Binary::Or:
      return step.create<arith::OrIOp>(a, b);
    case Binary::Xor:
      return step.create<arith::XOrIOp>(a, b);
    case Binary::Shl:
      return step.create<arith::ShLIOp>(a, b);
    case Binary::Shr:
      return step.create<arith::ShRSIOp>(a, b);
    case Binary::Min:
      return step.create<arith::MinSIOp>(a, b);
    case Binary::Max:
      return step.create<arith::MaxSIOp>(a, b);
    case Binary::Eq:
      return compare(arith::CmpIPredicate::eq);
    case Binary::Ne:
      return compare(arith::CmpIPredicate::ne);
    case Binary::Lt:
      return compare(arith::CmpIPredicate::slt);
    case Binary::Le:
      return compare(arith::CmpIPredicate::sle);
    case Binary::Gt:
      return compare(arith::CmpIPredicate::sgt);
    case Binary::Ge:
      return compare(arith::CmpIPredicate::sge);
  }
  return {};
}

bool isLogic(Binary op) { return op == Binary::And || op == Binary::Or || op == Binary::Xor || op == Binary::Eq || op == Binary::Ne; }

bool isPointerTile(Step& step, const AnyArg& arg) {
  return arg.kind == AnyArg::Kind::Tile && mlir::isa<tile::PtrType>(mlir::getElementTypeOrSelf(step.use(arg.handle).getType()));
}

}  // namespace

detail::Handle detail::binary(Binary op, const AnyArg& a, const AnyArg& b) {
  Step step(kBinaryNames[static_cast<std::size_t>(op)], a.loc);
  if (op == Binary::Add && isPointerTile(step, a)) return offsetPtr(a, b);
  auto values = unify(step, {&a, &b});
  switch (family(step, values[0])) {
    case Family::Float:
      return step.wrap(createFloat(step, op, values[0], values[1]));
    case Family::Integer:
      return step.wrap(createInteger(step, op, values[0], values[1]));
    case Family::Bool:
      break;
  }
  if (!isLogic(op))
    step.fail(fmt::format("is not defined on i1; got {}", spell(values[0].getType())), "use & | ^ == != or where, or cast to i32 first");
  return step.wrap(createInteger(step, op, values[0], values[1]));
}

detail::Handle detail::unary(Unary op, const AnyArg& x) {
  Step step(kUnaryNames[static_cast<std::size_t>(op)], x.loc);
  mlir::Value value = valueOf(step, x);
  const mlir::Type type = value.getType();
  const Family kind = family(step, value);
  if (op == Unary::Not) {
    if (kind != Family::Bool) step.fail(fmt::format("needs i1; got {}", spell(type)), "compare with 0, or flip bits with x ^ -1");
    return step.wrap(step.create<arith::XOrIOp>(value, constant(step, true, type)));
  }
  if (kind == Family::Integer && op == Unary::Neg) return step.wrap(step.create<arith::SubIOp>(constant(step, 0, type), value));
  if (kind == Family::Integer && op == Unary::Abs) return step.wrap(step.create<math::AbsIOp>(value));
  if (kind != Family::Float) step.fail(fmt::format("needs a floating-point operand; got {}", spell(type)), "cast to f32 first");
  switch (op) {
    case Unary::Neg:
      return step.wrap(step.create<arith::NegFOp>(value));
    case Unary::Exp2:
      return step.wrap(step.create<math::Exp2Op>(value));
    case Unary::Log2:
      return step.wrap(step.create<math::Log2Op>(value));
    case Unary::Exp:
      return step.wrap(step.create<math::ExpOp>(value));
    case Unary::Log:
      return step.wrap(step.create<math::LogOp>(value));
    case Unary::Rcp:
      return step.wrap(step.create<arith::DivFOp>(constant(step, 1, type), value, arith::FastMathFlags::afn));
    case Unary::Sqrt:
      return step.wrap(step.create<math::SqrtOp>(value));
    case Unary::Rsqrt:
      return step.wrap(step.create<math::RsqrtOp>(value));
    case Unary::Tanh:
      return step.wrap(step.create<math::TanhOp>(value));
    case Unary::Abs:
      return step.wrap(step.create<math::AbsFOp>(value));
    case Unary::Not:
      break;
  }
  return {};
}

namespace {

detail::Handle fusedMultiplyAdd(const AnyArg& a, const AnyArg& b, const AnyArg& c) {
  Step step("fma", a.loc);
  auto values = unify(step, {&a, &b, &c});
  if (family(step, values[0]) != Family::Float)
    step.fail(fmt::format("needs floating-point operands; got {}", spell(values[0].getType())), "write a * b + c for integers");
  return step.wrap(step.create<math::FmaOp>(values[0], values[1], values[2]));
}

mlir::Value select(Step& step, const AnyArg& condition, const AnyArg& a, const AnyArg& b) {
  mlir::Value test = valueOf(step, condition);
  if (!mlir::getElementTypeOrSelf(test.getType()).isInteger(1))
    step.fail(fmt::format("the condition must be i1; got {}", spell(test.getType())), "compare with 0");
  auto values = unify(step, {&a, &b});
  auto testTile = mlir::dyn_cast<mlir::RankedTensorType>(test.getType());
  if (!testTile) return step.create<arith::SelectOp>(test, values[0], values[1]);

  // The condition's shape and that of the values broadcast to each other.
  llvm::SmallVector<int64_t> shape(testTile.getShape());
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(values[0].getType())) {
    if (tensor.getRank() != testTile.getRank())
      step.fail(fmt::format("the condition and the values must have the same number of dimensions; got {} and {}", spell(testTile),
                            spell(tensor)),
                "expand(x, axis) adds a dimension of size 1");
    for (auto [index, extent] : llvm::enumerate(tensor.getShape()))
      if (shape[index] == 1) shape[index] = extent;
  }
  for (mlir::Value& value : values) value = broadcastTo(step, value, shape, "a value");
  return step.create<arith::SelectOp>(broadcastTo(step, test, shape, "the condition"), values[0], values[1]);
}

detail::Handle select(const AnyArg& condition, const AnyArg& a, const AnyArg& b) {
  Step step("where", condition.loc);
  return step.wrap(select(step, condition, a, b));
}

detail::Handle selectOrSkip(const AnyArg& condition, const AnyArg& a, const AnyArg& b) {
  Step step("where_or_skip", condition.loc);
  mlir::Value result = select(step, condition, a, b);
  result.getDefiningOp()->setAttr(tile::kSkippableAttr, step.builder().getUnitAttr());
  return step.wrap(result);
}

}  // namespace

Scalar fma(ScalarArg a, ScalarArg b, ScalarArg c) { return Scalar(fusedMultiplyAdd(a, b, c)); }
Tile fma(TileArg a, AnyArg b, AnyArg c) { return Tile(fusedMultiplyAdd(a, b, c)); }
Tile fma(ScalarArg a, TileArg b, AnyArg c) { return Tile(fusedMultiplyAdd(a, b, c)); }
Tile fma(ScalarArg a, ScalarArg b, TileArg c) { return Tile(fusedMultiplyAdd(a, b, c)); }

Scalar where(ScalarArg condition, ScalarArg a, ScalarArg b) { return Scalar(select(condition, a, b)); }
Tile where(TileArg condition, AnyArg a, AnyArg b) { return Tile(select(condition, a, b)); }
Tile where(ScalarArg condition, TileArg a, AnyArg b) { return Tile(select(condition, a, b)); }
Tile where(ScalarArg condition, ScalarArg a, TileArg b) { return Tile(select(condition, a, b)); }
Tile where_or_skip(TileArg condition, AnyArg a, AnyArg b) { return Tile(selectOrSkip(condition, a, b)); }

namespace {

mlir::Type withElement(mlir::Type type, mlir::Type element) {
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type)) return tensor.clone(element);
  return element;
}

mlir::Value castFloat(Step& step, mlir::Value x, mlir::Type to) {
  const mlir::Type from = x.getType();
  const unsigned fromWidth = mlir::getElementTypeOrSelf(from).getIntOrFloatBitWidth();
  const unsigned toWidth = mlir::getElementTypeOrSelf(to).getIntOrFloatBitWidth();
  if (fromWidth < toWidth) return step.create<arith::ExtFOp>(to, x);
  if (fromWidth > toWidth) return step.create<arith::TruncFOp>(to, x);
  // f16 <-> bf16 and the two 8-bit formats: exactly up to f32, then one rounding.
  mlir::Value wide = step.create<arith::ExtFOp>(withElement(to, step.type(DType::F32)), x);
  return step.create<arith::TruncFOp>(to, wide);
}

mlir::Value castValue(Step& step, mlir::Value x, DType target) {
  const mlir::Type from = mlir::getElementTypeOrSelf(x.getType());
  if (mlir::isa<tile::PtrType>(from)) step.fail(fmt::format("pointers cannot be cast; got {}", spell(x.getType())));
  const mlir::Type element = step.type(target);
  const mlir::Type to = withElement(x.getType(), element);
  if (from == element) return x;
  const bool fromFloat = mlir::isa<mlir::FloatType>(from), toFloat = mlir::isa<mlir::FloatType>(element);
  if (fromFloat && toFloat) return castFloat(step, x, to);
  if (target == DType::I1) {
    mlir::Value zero = constant(step, 0, x.getType());
    if (fromFloat) return step.create<arith::CmpFOp>(arith::CmpFPredicate::UNE, x, zero);
    return step.create<arith::CmpIOp>(arith::CmpIPredicate::ne, x, zero);
  }
  if (fromFloat) return step.create<arith::FPToSIOp>(to, x);
  if (toFloat) {
    if (from.isInteger(1)) return step.create<arith::UIToFPOp>(to, x);
    return step.create<arith::SIToFPOp>(to, x);
  }
  if (from.isInteger(1)) return step.create<arith::ExtUIOp>(to, x);
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth()) return step.create<arith::ExtSIOp>(to, x);
  return step.create<arith::TruncIOp>(to, x);
}

}  // namespace

Tile cast(const Tile& x, DType type, Loc loc) {
  Step step("cast", loc);
  return Tile(step.wrap(castValue(step, step.use(x), type)));
}

Tile cast_moderate(const Tile& x, DType type, Loc loc) {
  Step step("cast_moderate", loc);
  if (!isFloat(type)) step.fail(fmt::format("needs a floating-point type; got {}", name(type)), "cast() converts to others");
  mlir::Value result = castValue(step, step.use(x), type);
  if (auto truncated = result.getDefiningOp<arith::TruncFOp>()) truncated->setAttr(tile::kModerateAttr, step.builder().getUnitAttr());
  return Tile(step.wrap(result));
}

Scalar cast(const Scalar& x, DType type, Loc loc) {
  Step step("cast", loc);
  return Scalar(step.wrap(castValue(step, step.use(x), type)));
}

Scalar cdiv(ScalarArg a, ScalarArg b) {
  Step step("cdiv", a.loc);
  auto values = unify(step, {&a, &b});
  if (family(step, values[0]) != Family::Integer) step.fail(fmt::format("needs integers; got {}", spell(values[0].getType())));
  // (a + b - 1) / b rather than arith.ceildivsi: plain operations every back end knows, right where a >= 0 and b > 0.
  mlir::Value less = step.create<arith::SubIOp>(values[1], constant(step, 1, values[1].getType()));
  mlir::Value sum = step.create<arith::AddIOp>(values[0], less);
  return Scalar(step.wrap(step.create<arith::DivSIOp>(sum, values[1])));
}

}  // namespace fattn::dsl
