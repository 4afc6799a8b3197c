// SPDX-License-Identifier: Apache-2.0
// The grid, pointers and block pointers. A block pointer is base, shape, strides and offsets; nothing is computed until memory is accessed.
#include "compiler/gpu/lower/Lowering.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::gpu {
namespace {

SmallVector<Value, 3> scalars(Lowering& to, ValueRange values) {
  return llvm::map_to_vector<3>(values, [&](Value value) { return to.scalar(value); });
}

void makeBlockPtr(Lowering& to, tile::MakeBlockPtrOp op) {
  to.set(op.getResult(),
         Window{to.scalar(op.getBase()), scalars(to, op.getShape()), scalars(to, op.getStrides()), scalars(to, op.getOffsets())});
}

void advance(Lowering& to, tile::AdvanceOp op) {
  Window window = to.window(op.getPtr());
  for (auto [offset, delta] : llvm::zip_equal(window.offsets, op.getDeltas()))
    offset = arith::AddIOp::create(to.b, offset, to.scalar(delta));
  to.set(op.getResult(), std::move(window));
}

Value addTo(Lowering& to, Type element, Value pointer, Value offset) {
  // 64 bits, and signed, before the multiplication by the size
  if (offset.getType().isIndex()) offset = arith::IndexCastOp::create(to.b, to.b.getI64Type(), offset);
  if (offset.getType().getIntOrFloatBitWidth() < 64) offset = arith::ExtSIOp::create(to.b, to.b.getI64Type(), offset);
  Type unit = to.b.getIntegerType(static_cast<unsigned>(tilegpu::elementBits(element)));
  return LLVM::GEPOp::create(to.b, pointer.getType(), unit, pointer, ArrayRef<LLVM::GEPArg>{offset});
}

void addPtr(Lowering& to, tile::AddPtrOp op) {
  Type type = op.getPtr().getType();
  auto element = cast<tile::PtrType>(getElementTypeOrSelf(type)).getPointee();
  if (!isa<RankedTensorType>(type)) {
    to.setScalar(op.getResult(), addTo(to, element, to.scalar(op.getPtr()), to.scalar(op.getOffset())));
    return;
  }
  Registers result;
  for (auto [pointer, offset] : llvm::zip_equal(to.registers(op.getPtr()), to.registers(op.getOffset())))
    result.push_back(addTo(to, element, pointer, offset));
  to.set(op.getResult(), std::move(result));
}

}  // namespace

LogicalResult lowerPointers(Lowering& to, Operation* op) {
  return llvm::TypeSwitch<Operation*, LogicalResult>(op)
      .Case([&](tile::ProgramIdOp id) {
        to.setScalar(id.getResult(), to.machine.programId(to.b, static_cast<int>(id.getAxis())));
        return success();
      })
      .Case([&](tile::NumProgramsOp number) {
        auto axis = static_cast<unsigned>(number.getAxis());
        to.setScalar(number.getResult(), to.extents.empty() ? to.machine.numPrograms(to.b, static_cast<int>(axis)) : to.extents[axis]);
        return success();
      })
      .Case([&](tile::MakeBlockPtrOp make) { return makeBlockPtr(to, make), success(); })
      .Case([&](tile::AdvanceOp move) { return advance(to, move), success(); })
      .Case([&](tile::AddPtrOp add) { return addPtr(to, add), success(); })
      .Default([](Operation* other) { return other->emitOpError() << "is not an operation on pointers"; });
}

}  // namespace fattn::gpu
