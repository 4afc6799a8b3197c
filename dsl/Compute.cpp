// SPDX-License-Identifier: Apache-2.0
// The grid, dot, reductions with a known combine function, checks, hints and debugging.
#include <fmt/format.h>

#include "compiler/dialect/Tile.h"
#include "dsl/Recorder.h"

namespace fattn::dsl {

using namespace internal;

namespace {

tile::Axis gridAxis(Step& step, int axis) {
  if (axis < 0 || axis > 2) step.fail(fmt::format("the grid has axes 0, 1 and 2; got {}", axis));
  return static_cast<tile::Axis>(axis);
}

mlir::RankedTensorType matrix(Step& step, mlir::Value value, const char* name) {
  auto type = mlir::cast<mlir::RankedTensorType>(value.getType());
  if (type.getRank() != 2)
    step.fail(fmt::format("{} must have two dimensions; got {}", name, spell(type)), "reshape it to [rows, columns]");
  return type;
}

bool isFp8(mlir::Type element) { return mlir::isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(element); }

/// Checks a [m,k] and b [k,n] and gives the type of the usual accumulator: f32, or i32 for i8 operands.
mlir::RankedTensorType productType(Step& step, mlir::Value aValue, mlir::Value bValue) {
  auto a = matrix(step, aValue, "a"), b = matrix(step, bValue, "b");
  const mlir::Type aElement = a.getElementType(), bElement = b.getElementType();
  const std::string got = fmt::format("got a {}, b {}", spell(a), spell(b));
  if (aElement != bElement && !(isFp8(aElement) && isFp8(bElement)))
    step.fail(fmt::format("a and b must have the same element type; {}", got), "cast one of them");
  const bool floats = mlir::isa<mlir::FloatType>(aElement);
  if (!floats && !aElement.isInteger(8))
    step.fail(fmt::format("the elements of a and b must be f32, f16, bf16, f8e4m3, f8e5m2 or i8; {}", got));
  if (a.getDimSize(1) != b.getDimSize(0)) {
    std::string hint = "a is [m, k] and b is [k, n]";
    if (a.getDimSize(1) == b.getDimSize(1))
      hint = "dot(a, trans(b)) multiplies by the transpose";
    else if (a.getDimSize(0) == b.getDimSize(0))
      hint = "dot(trans(a), b) multiplies the transpose";
    step.fail(fmt::format("dim 1 of a ({}) must equal dim 0 of b ({}); {}", a.getDimSize(1), b.getDimSize(0), got), hint);
  }
  return mlir::RankedTensorType::get({a.getDimSize(0), b.getDimSize(1)}, step.type(floats ? DType::F32 : DType::I32));
}

Tile product(Step& step, mlir::Value a, mlir::Value b, mlir::Value acc, Precision precision) {
  const bool tf32 = precision == Precision::Tf32;
  if (tf32 && !mlir::getElementTypeOrSelf(a.getType()).isF32())
    step.fail(fmt::format("the precision Tf32 is for f32 operands; got a {}, b {}", spell(a.getType()), spell(b.getType())),
              "leave the precision away");
  return Tile(step.wrap(step.create<tile::DotOp>(acc.getType(), a, b, acc, tf32 ? tile::Precision::tf32 : tile::Precision::ieee)));
}

}  // namespace

Scalar program_id(int axis, Loc loc) {
  Step step("program_id", loc);
  return Scalar(step.wrap(step.create<tile::ProgramIdOp>(step.type(DType::I32), gridAxis(step, axis))));
}

Scalar num_programs(int axis, Loc loc) {
  Step step("num_programs", loc);
  return Scalar(step.wrap(step.create<tile::NumProgramsOp>(step.type(DType::I32), gridAxis(step, axis))));
}

Tile dot(const Tile& a, const Tile& b, const Tile& acc, Precision precision, Loc loc) {
  Step step("dot", loc);
  mlir::Value left = step.use(a), right = step.use(b), sum = step.use(acc);
  mlir::RankedTensorType wanted = productType(step, left, right);
  const bool half = mlir::getElementTypeOrSelf(left.getType()).isF16() && sum.getType() == wanted.clone(step.type(DType::F16));
  if (sum.getType() != wanted && !half)
    step.fail(fmt::format("acc must be {} for a {} and b {}; got {}", spell(wanted), spell(left.getType()), spell(right.getType()),
                          spell(sum.getType())));
  return product(step, left, right, sum, precision);
}

Tile dot(const Tile& a, const Tile& b, Precision precision, Loc loc) {
  Step step("dot", loc);
  mlir::Value left = step.use(a), right = step.use(b);
  return product(step, left, right, constant(step, 0, productType(step, left, right)), precision);
}

Tile reduce_max(const Tile& x, int axis, Loc loc) {
  return reduce(x, axis, [&](Scalar a, Scalar b) { return max(ScalarArg(a, loc), ScalarArg(b, loc)); }, loc);
}
Tile reduce_min(const Tile& x, int axis, Loc loc) {
  return reduce(x, axis, [&](Scalar a, Scalar b) { return min(ScalarArg(a, loc), ScalarArg(b, loc)); }, loc);
}
Tile reduce_sum(const Tile& x, int axis, Loc loc) {
  return reduce(x, axis, [&](Scalar a, Scalar b) { return ScalarArg(a, loc) + ScalarArg(b, loc); }, loc);
}

Tile cumsum(const Tile& x, int axis, bool reverse, Loc loc) {
  Step step("cumsum", loc);
  mlir::Value input = step.use(x);
  auto type = mlir::cast<mlir::RankedTensorType>(input.getType());
  const mlir::Type element = type.getElementType();
  if (!mlir::isa<mlir::FloatType, mlir::IntegerType>(element) || element.isInteger(1))
    step.fail(fmt::format("needs floating-point or integer elements; got {}", spell(type)));
  return Tile(step.wrap(step.create<tile::CumsumOp>(type, input, static_cast<uint64_t>(step.axis(axis, type.getRank())), reverse)));
}

void check(bool condition, std::string_view message, Loc loc) {
  if (!condition) failAt(loc, "check", std::string(message));
}

namespace {

detail::Handle assume(const Value& x, std::int64_t divisor, Loc loc) {
  Step step("assume_divisible", loc);
  mlir::Value value = step.use(x);
  if (divisor < 1) step.fail(fmt::format("the divisor must be at least 1; got {}", divisor));
  if (mlir::isa<mlir::FloatType>(value.getType())) step.fail(fmt::format("needs an integer or a pointer; got {}", spell(value.getType())));
  return step.wrap(step.create<tile::AssumeDivisibleOp>(value.getType(), value, static_cast<uint64_t>(divisor)));
}

}  // namespace

void prefer_resident(int programs, Loc loc) {
  Step step("prefer_resident", loc);
  if (programs < 1 || programs > 32) step.fail(fmt::format("the number of programs must be 1 to 32; got {}", programs));
  step.recorder().func->setAttr(tile::kResidentAttr, step.builder().getI32IntegerAttr(programs));
}

void overlap_launches(LaunchRelease release, Loc loc) {
  Step step("overlap_launches", loc);
  step.recorder().func->setAttr(tile::kOverlapsAttr, step.builder().getUnitAttr());
  if (release == LaunchRelease::AtOnce) step.recorder().func->setAttr(tile::kRelaysAttr, step.builder().getUnitAttr());
}

Scalar assume_divisible(const Scalar& x, std::int64_t divisor, Loc loc) { return Scalar(assume(x, divisor, loc)); }
Ptr assume_divisible(const Ptr& x, std::int64_t divisor, Loc loc) { return Ptr(assume(x, divisor, loc)); }

void detail::devicePrint(const Text& prefix, std::initializer_list<AnyArg> values) {
  Step step("device_print", prefix.loc);
  step.checkAccess(Step::Access::Read);
  llvm::SmallVector<mlir::Value> operands;
  for (const AnyArg& value : values) operands.push_back(valueOf(step, value));
  step.create<tile::DevicePrintOp>(step.builder().getStringAttr(llvm::StringRef(prefix.text)), operands);
}

}  // namespace fattn::dsl
