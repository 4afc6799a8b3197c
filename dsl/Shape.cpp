// SPDX-License-Identifier: Apache-2.0
// Making tiles and changing their shape.
#include <fmt/format.h>

#include "compiler/dialect/Tile.h"
#include "dsl/Recorder.h"
#include "llvm/ADT/STLExtras.h"

namespace fattn::dsl {

using namespace internal;

namespace {

mlir::RankedTensorType typeOf(mlir::Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()); }

void checkShape(Step& step, const Shape& shape) {
  if (shape.empty()) step.fail("a tile has at least one dimension; got shape []");
  for (auto [index, extent] : llvm::enumerate(shape))
    if (extent < 1)
      step.fail(fmt::format("extents must be at least 1; dim {} of {} is {}", index, spell(llvm::ArrayRef<int64_t>(shape)), extent));
}

/// The order of dimensions trans is to give, checked to be a permutation.
llvm::SmallVector<int64_t> permutationOf(Step& step, const Dims& wanted, mlir::RankedTensorType type) {
  const int64_t rank = type.getRank();
  llvm::SmallVector<int64_t> order;
  if (wanted.empty()) {
    if (rank < 2) step.fail(fmt::format("needs at least two dimensions; got {}", spell(type)));
    order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    std::swap(order[rank - 1], order[rank - 2]);
    return order;
  }
  for (std::int64_t dim : wanted) order.push_back(step.axis(dim, rank));
  llvm::SmallVector<int64_t> sorted = order;
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
    step.fail(fmt::format("the permutation must name each of the {} dimensions once; got {} for {}", rank,
                          spell(llvm::ArrayRef<int64_t>(wanted)), spell(type)));
  return order;
}

}  // namespace

Tile arange(std::int64_t start, std::int64_t end, Loc loc) {
  Step step("arange", loc);
  if (end <= start) step.fail(fmt::format("end ({}) must be greater than start ({})", end, start));
  if (!llvm::isInt<32>(start) || !llvm::isInt<32>(end - 1)) step.fail(fmt::format("{} to {} does not fit i32", start, end - 1));
  return Tile(step.wrap(step.create<tile::ArangeOp>(mlir::RankedTensorType::get({end - start}, step.type(DType::I32)), start)));
}

Tile full(const Shape& shape, ScalarArg value, DType type, Loc loc) {
  Step step("full", loc);
  checkShape(step, shape);
  auto result = mlir::RankedTensorType::get(shape, step.type(type));
  if (value.kind == AnyArg::Kind::Number) return Tile(step.wrap(constant(step, value.number, result)));
  return Tile(step.wrap(broadcastTo(step, scalarAs(step, value, result.getElementType(), "the value"), shape, "the value")));
}

Tile zeros(const Shape& shape, DType type, Loc loc) {
  Step step("zeros", loc);
  checkShape(step, shape);
  return Tile(step.wrap(constant(step, 0, mlir::RankedTensorType::get(shape, step.type(type)))));
}

Tile trans(const Tile& x, const Dims& permutation, Loc loc) {
  Step step("trans", loc);
  mlir::Value input = step.use(x);
  auto type = typeOf(input);
  const llvm::SmallVector<int64_t> order = permutationOf(step, permutation, type);
  llvm::SmallVector<int64_t> shape;
  for (int64_t dim : order) shape.push_back(type.getDimSize(dim));
  return Tile(step.wrap(step.create<tile::TransOp>(mlir::RankedTensorType::get(shape, type.getElementType()), input, order)));
}

Tile reshape(const Tile& x, const Shape& shape, Loc loc) {
  Step step("reshape", loc);
  mlir::Value input = step.use(x);
  auto type = typeOf(input);
  checkShape(step, shape);
  auto result = mlir::RankedTensorType::get(shape, type.getElementType());
  if (result.getNumElements() != type.getNumElements())
    step.fail(fmt::format("the number of elements must stay the same; {} has {}, {} has {}", spell(type), type.getNumElements(),
                          spell(llvm::ArrayRef<int64_t>(shape)), result.getNumElements()));
  return Tile(step.wrap(step.create<tile::ReshapeOp>(result, input)));
}

Tile expand(const Tile& x, int axis, Loc loc) {
  Step step("expand", loc);
  mlir::Value input = step.use(x);
  auto type = typeOf(input);
  const int64_t at = step.axis(axis, type.getRank() + 1);
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + at, 1);
  return Tile(step.wrap(step.create<tile::ExpandDimsOp>(mlir::RankedTensorType::get(shape, type.getElementType()), input, at)));
}

Tile broadcast(const Tile& x, const Shape& shape, Loc loc) {
  Step step("broadcast", loc);
  checkShape(step, shape);
  return Tile(step.wrap(broadcastTo(step, step.use(x), shape, "the operand")));
}

Scalar unsplat(const Tile& x, Loc loc) {
  Step step("unsplat", loc);
  mlir::Value input = step.use(x);
  auto type = typeOf(input);
  if (type.getNumElements() != 1)
    step.fail(fmt::format("the tile must have one element; got {}", spell(type)), "reduce it along its dimensions first");
  if (mlir::isa<tile::PtrType>(type.getElementType())) step.fail(fmt::format("the element must be a number; got {}", spell(type)));
  return Scalar(step.wrap(step.create<tile::UnsplatOp>(type.getElementType(), input)));
}

Tile join(const Tile& a, const Tile& b, Loc loc) {
  Step step("join", loc);
  mlir::Value first = step.use(a), second = step.use(b);
  if (first.getType() != second.getType())
    step.fail(fmt::format("both tiles must have the same shape and element type; got {} and {}", spell(first.getType()),
                          spell(second.getType())));
  auto type = typeOf(first);
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape.push_back(2);
  return Tile(step.wrap(step.create<tile::JoinOp>(mlir::RankedTensorType::get(shape, type.getElementType()), first, second)));
}

std::pair<Tile, Tile> split(const Tile& x, Loc loc) {
  Step step("split", loc);
  mlir::Value input = step.use(x);
  auto type = typeOf(input);
  if (type.getRank() < 2 || type.getShape().back() != 2)
    step.fail(fmt::format("the last of at least two dimensions must be 2; got {}", spell(type)),
              "reshape [..., n] to [..., n / 2, 2] to split neighbours, or [..., 2, n / 2] and trans to split halves");
  auto half = mlir::RankedTensorType::get(type.getShape().drop_back(), type.getElementType());
  auto op = step.create<tile::SplitOp>(half, half, input);
  return {Tile(step.wrap(op.getLhs())), Tile(step.wrap(op.getRhs()))};
}

}  // namespace fattn::dsl
