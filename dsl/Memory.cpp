// SPDX-License-Identifier: Apache-2.0
// Pointers, block pointers, loads, stores and atomics.
#include <fmt/format.h>

#include "compiler/dialect/Tile.h"
#include "dsl/Recorder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace fattn::dsl {

using namespace internal;

namespace {

llvm::SmallVector<mlir::Value> asI64(Step& step, const Scalars& list, std::string_view what) {
  llvm::SmallVector<mlir::Value> values;
  for (const auto& [index, arg] : llvm::enumerate(list))
    values.push_back(scalarAs(step, arg, step.type(DType::I64), fmt::format("{} {}", what, index)));
  return values;
}

void checkCount(Step& step, const char* what, std::size_t got, std::size_t rank) {
  if (got != rank) step.fail(fmt::format("the block has {} dimensions, so {} must have as many entries; got {}", rank, what, got));
}

void checkExtents(Step& step, const Shape& shape) {
  for (auto [index, extent] : llvm::enumerate(shape))
    if (extent < 1)
      step.fail(fmt::format("extents must be at least 1; dim {} of {} is {}", index, spell(llvm::ArrayRef<int64_t>(shape)), extent));
}

mlir::DenseI64ArrayAttr boundaryCheck(Step& step, const Dims& check, std::int64_t rank) {
  llvm::SmallVector<int64_t> dims;
  for (std::int64_t dim : check) {
    const std::int64_t index = step.axis(dim, rank);
    if (llvm::is_contained(dims, index)) step.fail(fmt::format("dimension {} is listed twice in the boundary check", index));
    dims.push_back(index);
  }
  llvm::sort(dims);
  return step.builder().getDenseI64ArrayAttr(dims);
}

mlir::TypedAttr paddingAttr(Step& step, const detail::Number& padding, mlir::Type element) {
  mlir::Value value = constant(step, padding, element);
  auto op = value.getDefiningOp<mlir::arith::ConstantOp>();
  mlir::TypedAttr attr = op.getValue();
  op.erase();  // made only for its checks of the literal
  return attr;
}

Tile loadBlock(const BlockPtr& ptr, const Dims& check, detail::Number padding, Loc loc) {
  Step step("load", loc);
  step.checkAccess(Step::Access::Read);
  mlir::Value address = step.use(ptr);
  auto type = mlir::cast<tile::BlockPtrType>(address.getType());
  auto dims = boundaryCheck(step, check, type.getRank());
  mlir::Attribute fill;
  if (!dims.empty()) fill = paddingAttr(step, padding, type.getElementType());
  return Tile(step.wrap(step.create<tile::LoadOp>(type.getTileType(), address, dims, fill)));
}

/// What lies behind a pointer, or a tile of pointers: a scalar type or a tile type.
mlir::Type pointeeType(Step& step, mlir::Value ptr) {
  auto element = mlir::dyn_cast<tile::PtrType>(mlir::getElementTypeOrSelf(ptr.getType()));
  if (!element)
    step.fail(fmt::format("needs a tile of pointers; got {}", spell(ptr.getType())), "make one with ptr + offsets, or use a block pointer");
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(ptr.getType())) return tensor.clone(element.getPointee());
  return element.getPointee();
}

/// An operand brought to exactly `type`: numbers become constants, scalars are splat, size-1 dimensions repeated.
mlir::Value operandAs(Step& step, const AnyArg& arg, mlir::Type type, std::string_view what) {
  if (arg.kind == AnyArg::Kind::Nothing) return {};
  if (arg.kind == AnyArg::Kind::Number) return constant(step, arg.number, type);
  mlir::Value value = step.use(arg.handle);
  if (mlir::getElementTypeOrSelf(value.getType()) != mlir::getElementTypeOrSelf(type))
    step.fail(fmt::format("the elements of {} must be {}; got {}", what, spell(mlir::getElementTypeOrSelf(type)), spell(value.getType())),
              "cast(x, ...) converts");
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type)) return broadcastTo(step, value, tensor.getShape(), what);
  if (value.getType() != type) step.fail(fmt::format("{} must be a scalar here; got {}", what, spell(value.getType())));
  return value;
}

mlir::Type maskType(Step& step, mlir::Type like) {
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(like)) return tensor.clone(step.type(DType::I1));
  return step.type(DType::I1);
}

detail::Handle gather(const Value& ptr, const OptionalArg& mask, const OptionalArg& other, Loc loc) {
  Step step("load", loc);
  step.checkAccess(Step::Access::Read);
  mlir::Value address = step.use(ptr);
  const mlir::Type type = pointeeType(step, address);
  mlir::Value test = operandAs(step, mask, maskType(step, type), "the mask");
  mlir::Value fill = operandAs(step, other, type, "the value for masked elements");
  if (fill && !test) step.fail("a value for masked elements needs a mask");
  if (test && !fill) fill = constant(step, mlir::getElementTypeOrSelf(type).isInteger(1) ? detail::Number(false) : detail::Number(0), type);
  return step.wrap(step.create<tile::GatherOp>(type, address, test, fill));
}

void scatter(const Value& ptr, const AnyArg& value, const OptionalArg& mask, Loc loc) {
  Step step("store", loc);
  step.checkAccess(Step::Access::Write);
  mlir::Value address = step.use(ptr);
  const mlir::Type type = pointeeType(step, address);
  mlir::Value data = operandAs(step, value, type, "the value");
  step.create<tile::ScatterOp>(address, data, operandAs(step, mask, maskType(step, type), "the mask"));
}

void checkAddable(Step& step, mlir::Type element, mlir::Type where) {
  if (element.getIntOrFloatBitWidth() < 16) step.fail(fmt::format("the elements must be f32, f16, bf16, i32 or i64; got {}", spell(where)));
}

/// A value for a block pointer's window, with the window's type.
mlir::Value windowValue(Step& step, mlir::Value address, const Tile& value) {
  mlir::Value data = step.use(value);
  auto type = mlir::cast<tile::BlockPtrType>(address.getType());
  if (data.getType() != type.getTileType())
    step.fail(fmt::format("the value must be {} as the block pointer's window; got {}", spell(type.getTileType()), spell(data.getType())),
              "cast(x, ...) changes the element type, broadcast or reshape the shape");
  return data;
}

detail::Handle atomicAdd(const Value& ptr, const AnyArg& value, const OptionalArg& mask, MemoryOrder order, Loc loc) {
  Step step("atomic_add", loc);
  step.checkAccess(Step::Access::Write);
  mlir::Value address = step.use(ptr);
  const mlir::Type type = pointeeType(step, address);
  checkAddable(step, mlir::getElementTypeOrSelf(type), address.getType());
  mlir::Value data = operandAs(step, value, type, "the value");
  mlir::Value test = operandAs(step, mask, maskType(step, type), "the mask");
  const auto recorded = order == MemoryOrder::Relaxed ? tile::MemoryOrder::relaxed : tile::MemoryOrder::acq_rel;
  return step.wrap(step.create<tile::AtomicAddOp>(type, address, data, test, recorded));
}

}  // namespace

detail::Handle detail::offsetPtr(const AnyArg& ptr, const AnyArg& offset) {
  Step step("+", ptr.loc);
  mlir::Value address = step.use(ptr.handle);
  mlir::Value distance = offset.kind == AnyArg::Kind::Number ? constant(step, offset.number, step.type(DType::I64)) : valueOf(step, offset);
  const mlir::Type element = mlir::getElementTypeOrSelf(distance.getType());
  if (!element.isInteger(32) && !element.isInteger(64))
    step.fail(fmt::format("the offset of a pointer must be i32 or i64; got {} + {}", spell(address.getType()), spell(distance.getType())));

  // A tile on either side makes the other one a tile of the same shape.
  auto addressTile = mlir::dyn_cast<mlir::RankedTensorType>(address.getType());
  auto distanceTile = mlir::dyn_cast<mlir::RankedTensorType>(distance.getType());
  if (addressTile || distanceTile) {
    llvm::SmallVector<int64_t> shape(addressTile ? addressTile.getShape() : distanceTile.getShape());
    if (addressTile && distanceTile && addressTile.getRank() == distanceTile.getRank())
      for (auto [index, extent] : llvm::enumerate(distanceTile.getShape()))
        if (shape[index] == 1) shape[index] = extent;
    address = broadcastTo(step, address, shape, "the tile of pointers");
    distance = broadcastTo(step, distance, shape, "the offset");
  }
  return step.wrap(step.create<tile::AddPtrOp>(address, distance));
}

BlockPtr make_block_ptr(const Ptr& base, const Scalars& shape, const Scalars& strides, const Scalars& offsets, const Shape& block,
                        Loc loc) {
  Step step("make_block_ptr", loc);
  mlir::Value address = step.use(base);
  if (block.empty()) step.fail("the block must have at least one dimension");
  checkCount(step, "shape", shape.size(), block.size());
  checkCount(step, "strides", strides.size(), block.size());
  checkCount(step, "offsets", offsets.size(), block.size());
  checkExtents(step, block);
  auto type = tile::BlockPtrType::get(block, mlir::cast<tile::PtrType>(address.getType()).getPointee());
  auto extents = asI64(step, shape, "shape"), steps = asI64(step, strides, "stride"), start = asI64(step, offsets, "offset");
  return BlockPtr(step.wrap(step.create<tile::MakeBlockPtrOp>(type, address, extents, steps, start)));
}

BlockPtr advance(const BlockPtr& ptr, const Scalars& deltas, Loc loc) {
  Step step("advance", loc);
  mlir::Value address = step.use(ptr);
  checkCount(step, "deltas", deltas.size(), static_cast<std::size_t>(mlir::cast<tile::BlockPtrType>(address.getType()).getRank()));
  return BlockPtr(step.wrap(step.create<tile::AdvanceOp>(address, asI64(step, deltas, "delta"))));
}

Tile load(const BlockPtr& ptr, const Dims& check, Loc loc) { return loadBlock(ptr, check, {}, loc); }

Tile load(const BlockPtr& ptr, const Dims& check, detail::Number padding, Loc loc) {
  if (check.empty())
    failAt(loc, "load", "a padding value needs dimensions to check", "load(ptr, {0, 1}, padding) checks dimensions 0 and 1");
  return loadBlock(ptr, check, padding, loc);
}

Tile load(const Tile& ptrs, OptionalArg mask, OptionalArg other, Loc loc) { return Tile(gather(ptrs, mask, other, loc)); }
Scalar load(const Ptr& ptr, OptionalArg mask, OptionalArg other, Loc loc) { return Scalar(gather(ptr, mask, other, loc)); }

void store(const BlockPtr& ptr, const Tile& value, const Dims& check, Loc loc) {
  Step step("store", loc);
  step.checkAccess(Step::Access::Write);
  mlir::Value address = step.use(ptr), data = windowValue(step, address, value);
  step.create<tile::StoreOp>(address, data, boundaryCheck(step, check, mlir::cast<tile::BlockPtrType>(address.getType()).getRank()));
}

void store(const Tile& ptrs, AnyArg value, OptionalArg mask, Loc loc) { scatter(ptrs, value, mask, loc); }
void store(const Ptr& ptr, ScalarArg value, OptionalArg mask, Loc loc) { scatter(ptr, value, mask, loc); }

void atomic_add(const BlockPtr& ptr, const Tile& value, const Dims& check, Loc loc) {
  Step step("atomic_add", loc);
  step.checkAccess(Step::Access::Write);
  mlir::Value address = step.use(ptr);
  auto type = mlir::cast<tile::BlockPtrType>(address.getType());
  checkAddable(step, type.getElementType(), type);
  mlir::Value data = windowValue(step, address, value);
  step.create<tile::AccumulateOp>(address, data, boundaryCheck(step, check, type.getRank()));
}
Tile atomic_add(const Tile& ptrs, AnyArg value, OptionalArg mask, MemoryOrder order, Loc loc) {
  return Tile(atomicAdd(ptrs, value, mask, order, loc));
}
Scalar atomic_add(const Ptr& ptr, ScalarArg value, OptionalArg mask, MemoryOrder order, Loc loc) {
  return Scalar(atomicAdd(ptr, value, mask, order, loc));
}
Tile atomic_add(const Tile& ptrs, AnyArg value, MemoryOrder order, Loc loc) { return atomic_add(ptrs, value, {}, order, loc); }
Scalar atomic_add(const Ptr& ptr, ScalarArg value, MemoryOrder order, Loc loc) { return atomic_add(ptr, value, {}, order, loc); }

}  // namespace fattn::dsl
