// SPDX-License-Identifier: Apache-2.0
// Tiles between shared memory and registers by the widest vectors that lie in one piece in both.
//
//   %x = load_buffer %b[0] : 64x64xf16        =>        %v = load %b + ... : vector<4xi32>        // 8 neighbours of a row
//
// Lanes whose stores would meet in the same banks store their registers in different orders (layout/Stagger.h).
//
// Test: tests/lit/nvidia/shared.mlir.
#include "compiler/gpu/lower/BufferAccess.h"
#include "compiler/gpu/lower/SharedRows.h"
#include "compiler/gpu/lower/WindowAccess.h"
#include "compiler/layout/Stagger.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::gpu {

using layout::kRegister, layout::LinearLayout;

LogicalResult Machine::loadBuffer(Lowering& to, tilegpu::LoadBufferOp op) {
  if (!op.getExtents().empty()) return loadRows(to, op);
  RankedTensorType type = op.getResult().getType();
  const LinearLayout& layout = *tilegpu::layoutOf(type);
  Type element = type.getElementType();
  FailureOr<BufferAccess> access = BufferAccess::create(to, op, op.getBuffer(), op.getSlot(), layout, op.getOffsets());
  if (failed(access)) return failure();
  std::map<int64_t, Value> loaded;
  int64_t bytes = tilegpu::elementBits(element) / 8;
  for (const std::vector<int64_t>& group : bufferVectors(*access, bytes)) {
    int count = static_cast<int>(group.size());
    Value value =
        LLVM::LoadOp::create(to.b, memoryType(to, element, count), access->pointer(group[0]), static_cast<unsigned>(bytes * count));
    for (auto [r, part] : llvm::zip_equal(group, fromMemory(to, value, element, count))) loaded[access->offset(r)] = part;
  }
  Registers result;
  for (int64_t r = 0; r < layout.inputSize(kRegister); ++r) result.push_back(loaded[access->offset(r)]);
  to.set(op.getResult(), std::move(result));
  return success();
}

/// The registers as they stand behind the swaps.
static Registers swapped(Lowering& to, Registers registers, ArrayRef<layout::Swap> swaps) {
  for (const layout::Swap& swap : swaps) {
    Value bit = arith::AndIOp::create(to.b, to.lane, to.i32(int64_t{1} << swap.laneBit));
    Value other = arith::CmpIOp::create(to.b, arith::CmpIPredicate::ne, bit, to.i32(0));
    Registers next = registers;
    for (size_t r = 0; r < registers.size(); ++r)
      next[r] = arith::SelectOp::create(to.b, other, registers[r ^ size_t{1} << swap.registerBit], registers[r]);
    registers = std::move(next);
  }
  return registers;
}

LogicalResult Machine::storeBuffer(Lowering& to, tilegpu::StoreBufferOp op) {
  if (!op.getExtents().empty()) return storeRows(to, op);
  RankedTensorType type = op.getValue().getType();
  const LinearLayout& layout = *tilegpu::layoutOf(type);
  Type element = type.getElementType();
  const layout::SharedLayout home(op.getBuffer().getType().getLayout().getLayout());
  const layout::Staggered order = layout::staggered(layout, home, tilegpu::elementBits(element), tilegpu::banksOf(op));
  FailureOr<BufferAccess> access = BufferAccess::create(to, op, op.getBuffer(), op.getSlot(), order.layout, {});
  if (failed(access)) return failure();
  int64_t bytes = tilegpu::elementBits(element) / 8;
  OpBuilder::InsertionGuard behind(to.b);
  if (Value holder = isHolder(to, layout::holdersOf(layout)))
    to.b.setInsertionPointToStart(scf::IfOp::create(to.b, holder, /*withElseRegion=*/false).thenBlock());
  const Registers registers = swapped(to, to.registers(op.getValue()), order.swaps);
  for (const std::vector<int64_t>& group : bufferVectors(*access, bytes)) {
    SmallVector<Value> elements;
    for (int64_t r : group) elements.push_back(registers[static_cast<size_t>(r)]);
    LLVM::StoreOp::create(to.b, toMemory(to, elements, element), access->pointer(group[0]),
                          static_cast<unsigned>(bytes * static_cast<int64_t>(group.size())));
  }
  return success();
}

}  // namespace fattn::gpu
