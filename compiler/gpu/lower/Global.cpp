// SPDX-License-Identifier: Apache-2.0
// Tiles between global memory and registers.
//
// tile.load and tile.store move the widest vectors that the layout holds and the IR proves to be aligned (transforms/Divisibility); what is
// checked against the array's bounds is checked once a vector. gather, scatter and atomic_add go element by element. Elements that several
// threads hold are read by all of them and written by one. A scalar is read by all threads, and written by the first of the block.
#include "compiler/gpu/lower/WindowAccess.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::gpu {

using layout::kRegister, layout::LinearLayout;

namespace {

/// A number of a register's type, given as an attribute of the element's.
Value registerConstant(Lowering& to, Attribute number, Type element) {
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8)
    return arith::ConstantOp::create(to.b, to.b.getIntegerAttr(to.b.getI8Type(), cast<FloatAttr>(number).getValue().bitcastToAPInt()));
  return arith::ConstantOp::create(to.b, cast<TypedAttr>(number));
}

LogicalResult load(Lowering& to, tile::LoadOp op) {
  RankedTensorType type = op.getResult().getType();
  const LinearLayout& layout = *tilegpu::layoutOf(type);
  Type element = type.getElementType();
  WindowVectors vectors = windowVectors(op.getPtr(), op.getBoundaryCheck(), tilegpu::extentsOf(op), layout, tilegpu::elementBits(element));
  WindowAccess access(to, op.getPtr().getType(), to.window(op.getPtr()), op.getBoundaryCheck(), tilegpu::extentsOf(op), layout);
  Type memory = memoryType(to, element, vectors.width);
  Value other;
  if (!op.getBoundaryCheck().empty() || access.isPadded()) {
    Value one = registerConstant(to, op.getPadding().value_or(to.b.getZeroAttr(element)), element);
    other = toMemory(to, SmallVector<Value>(static_cast<size_t>(vectors.width), one), element);
  }
  std::map<layout::Coords, Value> elements;
  for (const std::vector<int64_t>& group : vectors.groups) {
    Value loaded = to.machine.loadGlobal(to.b, access.address(group[0]), memory, access.inside(group[0]), other);
    for (auto [r, value] : llvm::zip_equal(group, fromMemory(to, loaded, element, vectors.width)))
      elements[Lowering::registerPart(layout, r)] = value;
  }
  Registers result;
  for (int64_t r = 0; r < layout.inputSize(kRegister); ++r) result.push_back(elements[Lowering::registerPart(layout, r)]);
  to.set(op.getResult(), std::move(result));
  return success();
}

LogicalResult store(Lowering& to, tile::StoreOp op) {
  RankedTensorType type = op.getValue().getType();
  const LinearLayout& layout = *tilegpu::layoutOf(type);
  Type element = type.getElementType();
  WindowVectors vectors = windowVectors(op.getPtr(), op.getBoundaryCheck(), tilegpu::extentsOf(op), layout, tilegpu::elementBits(element));
  WindowAccess access(to, op.getPtr().getType(), to.window(op.getPtr()), op.getBoundaryCheck(), tilegpu::extentsOf(op), layout);
  Value holder = isHolder(to, holdersOf(layout));
  const Registers& registers = to.registers(op.getValue());
  for (const std::vector<int64_t>& group : vectors.groups) {
    SmallVector<Value> elements;
    for (int64_t r : group) elements.push_back(registers[static_cast<size_t>(r)]);
    to.machine.storeGlobal(to.b, access.address(group[0]), toMemory(to, elements, element), both(to.b, holder, access.inside(group[0])));
  }
  return success();
}

}  // namespace

LogicalResult lowerGlobal(Lowering& to, Operation* op) {
  return llvm::TypeSwitch<Operation*, LogicalResult>(op)
      .Case([&](tile::LoadOp one) { return load(to, one); })
      .Case([&](tile::StoreOp one) { return store(to, one); })
      .Default([](Operation* other) { return other->emitOpError() << "does not access a window of global memory"; });
}

}  // namespace fattn::gpu
