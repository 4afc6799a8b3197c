// SPDX-License-Identifier: Apache-2.0
// How operands of different kinds meet: C++ numbers become constants, scalars are splat, size-1 dimensions repeated.
#include <fmt/format.h>

#include <cmath>

#include "compiler/dialect/Tile.h"
#include "dsl/Recorder.h"
#include "llvm/ADT/APFloat.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace fattn::dsl::internal {
namespace {

using Kind = detail::Number::Kind;

std::string print(const detail::Number& number) {
  if (number.kind == Kind::Bool) return number.integer ? "true" : "false";
  return number.kind == Kind::Int ? fmt::format("{}", number.integer) : fmt::format("{}", number.real);
}

mlir::TypedAttr numberAttr(Step& step, const detail::Number& number, mlir::Type element) {
  if (auto floating = mlir::dyn_cast<mlir::FloatType>(element)) {
    if (number.kind == Kind::Bool) step.fail(fmt::format("the literal {} is no number of type {}", print(number), spell(element)));
    bool losesInfo = false;
    llvm::APFloat value(number.real);
    const bool finite = value.isFinite();
    value.convert(floating.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    if (finite != value.isFinite()) step.fail(fmt::format("the literal {} is out of the range of {}", print(number), spell(element)));
    return mlir::FloatAttr::get(floating, value);
  }
  if (number.kind == Kind::Float)
    step.fail(fmt::format("the literal {} is no integer, but it meets {}", print(number), spell(element)),
              "write an integer, or cast the other operand to a floating-point type");
  const unsigned width = element.getIntOrFloatBitWidth();
  const bool fits = width == 1 ? (number.integer == 0 || number.integer == 1) : llvm::isIntN(width, number.integer);
  if (!fits) step.fail(fmt::format("the literal {} is out of the range of {}", print(number), spell(element)));
  return mlir::IntegerAttr::get(element,
                                llvm::APInt(width, static_cast<uint64_t>(number.integer), /*isSigned=*/true, /*implicitTrunc=*/true));
}

mlir::Type defaultType(Step& step, const detail::Number& number, bool wide = false) {
  switch (number.kind) {
    case Kind::Bool:
      return step.type(DType::I1);
    case Kind::Int:
      return step.type(wide || !llvm::isInt<32>(number.integer) ? DType::I64 : DType::I32);
    case Kind::Float:
      return step.type(DType::F32);
  }
  return {};
}

bool isPlainInteger(mlir::Type type) { return type.isInteger() && !type.isInteger(1); }
unsigned width(mlir::Type type) { return type.getIntOrFloatBitWidth(); }

/// The operand whose element type all take: the first tile; without one the first scalar, or the widest where that is an integer.
mlir::Value leaderOf(llvm::ArrayRef<mlir::Value> values) {
  mlir::Value leader;
  for (mlir::Value value : values) {
    if (!value) continue;
    if (!leader || (mlir::isa<mlir::RankedTensorType>(value.getType()) && !mlir::isa<mlir::RankedTensorType>(leader.getType()))) {
      leader = value;
    } else if (!mlir::isa<mlir::RankedTensorType>(leader.getType()) && isPlainInteger(leader.getType()) &&
               isPlainInteger(value.getType()) && width(value.getType()) > width(leader.getType())) {
      leader = value;
    }
  }
  return leader;
}

/// What numbers of C++ alone become.
mlir::Type commonDefault(Step& step, llvm::ArrayRef<const AnyArg*> args) {
  mlir::Type type;
  for (const AnyArg* arg : args) {
    mlir::Type own = defaultType(step, arg->number);
    if (!type || own.isF32() || (isPlainInteger(type) && isPlainInteger(own) && width(own) > width(type))) type = own;
  }
  return type;
}

/// The element type all operands take. Tiles decide; without a tile the widest integer scalar does.
mlir::Type commonElement(Step& step, llvm::ArrayRef<const AnyArg*> args, llvm::ArrayRef<mlir::Value> values) {
  const mlir::Value leader = leaderOf(values);
  if (!leader) return commonDefault(step, args);
  const mlir::Type element = mlir::getElementTypeOrSelf(leader.getType());
  for (mlir::Value value : values) {
    if (!value) continue;
    const mlir::Type own = mlir::getElementTypeOrSelf(value.getType());
    const bool widens = !mlir::isa<mlir::RankedTensorType>(value.getType()) && isPlainInteger(own) && isPlainInteger(element) &&
                        width(own) < width(element);
    if (own != element && !widens)
      step.fail(fmt::format("element types must match; got {} and {}", spell(leader.getType()), spell(value.getType())),
                fmt::format("cast one of them, for example with cast(x, DType::{})", llvm::StringRef(spell(element)).upper()));
  }
  return element;
}

/// The shape all tiles broadcast to; nothing where there is no tile.
std::optional<llvm::SmallVector<int64_t>> commonShape(Step& step, llvm::ArrayRef<mlir::Value> values) {
  std::optional<llvm::SmallVector<int64_t>> shape;
  mlir::Value first;
  for (mlir::Value value : values) {
    auto tensor = value ? mlir::dyn_cast<mlir::RankedTensorType>(value.getType()) : mlir::RankedTensorType();
    if (!tensor) continue;
    if (!shape || shape->empty()) {
      shape = llvm::to_vector(tensor.getShape());
      first = value;
      continue;
    }
    if (tensor.getRank() == 0) continue;  // one element, for any shape
    if (tensor.getRank() != static_cast<int64_t>(shape->size()))
      step.fail(fmt::format("operands must have the same number of dimensions; got {} and {}", spell(first.getType()), spell(tensor)),
                "expand(x, axis) adds a dimension of size 1");
    for (auto [index, extent] : llvm::enumerate(tensor.getShape())) {
      int64_t& common = (*shape)[index];
      if (common != extent && common != 1 && extent != 1)
        step.fail(fmt::format("dim {} of the operands must be equal or 1, but is {} and {}; got {} and {}", index, common, extent,
                              spell(first.getType()), spell(tensor)));
      if (common == 1) common = extent;
    }
  }
  return shape;
}

}  // namespace

mlir::Value constant(Step& step, const detail::Number& number, mlir::Type type) {
  mlir::TypedAttr attr = numberAttr(step, number, mlir::getElementTypeOrSelf(type));
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type)) attr = mlir::DenseElementsAttr::get(tensor, mlir::Attribute(attr));
  return step.create<mlir::arith::ConstantOp>(attr);
}

mlir::Value valueOf(Step& step, const AnyArg& arg) {
  if (arg.kind == AnyArg::Kind::Number) return constant(step, arg.number, defaultType(step, arg.number));
  return step.use(arg.handle);
}

mlir::Value scalarAs(Step& step, const ScalarArg& arg, mlir::Type type, std::string_view what) {
  if (arg.kind == AnyArg::Kind::Number) return constant(step, arg.number, type);
  mlir::Value value = step.use(arg.handle);
  if (value.getType() == type) return value;
  if (isPlainInteger(value.getType()) && isPlainInteger(type) && width(value.getType()) < width(type))
    return step.create<mlir::arith::ExtSIOp>(type, value);
  step.fail(fmt::format("{} must be {}; got {}", what, spell(type), spell(value.getType())), "cast(x, ...) converts a scalar");
}

mlir::Value broadcastTo(Step& step, mlir::Value value, llvm::ArrayRef<int64_t> shape, std::string_view what) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  auto type = mlir::RankedTensorType::get(shape, mlir::getElementTypeOrSelf(value.getType()));
  if (!tensor) return step.create<tile::SplatOp>(type, value);
  if (tensor == type) return value;
  if (tensor.getRank() == 0) {
    tensor = mlir::RankedTensorType::get(llvm::SmallVector<int64_t>(shape.size(), 1), tensor.getElementType());
    value = step.create<tile::ReshapeOp>(tensor, value);
    if (tensor == type) return value;
  }
  if (tensor.getRank() != static_cast<int64_t>(shape.size()))
    step.fail(fmt::format("{} must have {} dimensions to broadcast to {}; got {}", what, shape.size(), spell(shape), spell(tensor)),
              "expand(x, axis) adds a dimension of size 1");
  for (auto [index, extent] : llvm::enumerate(tensor.getShape()))
    if (extent != shape[index] && extent != 1)
      step.fail(fmt::format("dim {} of {} ({}) must be 1 or {} to broadcast to {}; got {}", index, what, extent, shape[index], spell(shape),
                            spell(tensor)));
  return step.create<tile::BroadcastOp>(type, value);
}

llvm::SmallVector<mlir::Value, 3> unify(Step& step, llvm::ArrayRef<const AnyArg*> args) {
  llvm::SmallVector<mlir::Value, 3> values;
  for (const AnyArg* arg : args) values.push_back(arg->kind == AnyArg::Kind::Number ? mlir::Value() : step.use(arg->handle));
  const mlir::Type element = commonElement(step, args, values);
  const std::optional<llvm::SmallVector<int64_t>> shape = commonShape(step, values);
  const mlir::Type type = shape ? mlir::Type(mlir::RankedTensorType::get(*shape, element)) : element;
  for (auto [index, value] : llvm::enumerate(values)) {
    if (!value) {
      value = constant(step, args[index]->number, type);
      continue;
    }
    if (mlir::getElementTypeOrSelf(value.getType()) != element) value = step.create<mlir::arith::ExtSIOp>(element, value);
    if (shape) value = broadcastTo(step, value, *shape, "an operand");
  }
  return values;
}

}  // namespace fattn::dsl::internal

namespace fattn::dsl {

detail::Handle detail::literal(Number number, bool wide, Loc loc) {
  internal::Step step("literal", loc);
  return step.wrap(internal::constant(step, number, internal::defaultType(step, number, wide && number.kind == Number::Kind::Int)));
}

}  // namespace fattn::dsl
