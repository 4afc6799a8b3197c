// SPDX-License-Identifier: Apache-2.0
// gather, scatter and atomic_add: element by element, through pointers.
//
// Each element is added once, by one thread. Where other threads hold it, too, and want the old value, it goes through shared memory: a
// place for each element behind what the block has allocated, and one more where threads that added nothing store.
#include "compiler/gpu/lower/WindowAccess.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::gpu {

using layout::kRegister, layout::LinearLayout;

namespace {

/// The elements of an operand: the registers of a tile, or one scalar.
Registers elementsOf(Lowering& to, Value value) {
  return isa<RankedTensorType>(value.getType()) ? to.registers(value) : Registers{to.scalar(value)};
}

void setElements(Lowering& to, Value value, Registers elements) {
  if (isa<RankedTensorType>(value.getType())) return to.set(value, std::move(elements));
  to.setScalar(value, elements[0]);
}

Type pointeeOf(Type pointers) { return cast<tile::PtrType>(getElementTypeOrSelf(pointers)).getPointee(); }

/// Whether the executing thread is the one to write; null where all are.
Value writes(Lowering& to, Type pointers) {
  if (const LinearLayout* layout = tilegpu::layoutOf(pointers)) return isHolder(to, holdersOf(*layout));
  Value thread = arith::OrIOp::create(to.b, to.lane, to.warp);
  return arith::CmpIOp::create(to.b, arith::CmpIPredicate::eq, thread, to.i32(0));
}

/// The registers of a tile that hold elements no earlier one does.
SmallVector<int64_t> distinct(Type pointers) {
  const LinearLayout* layout = tilegpu::layoutOf(pointers);
  if (!layout) return {0};
  std::map<layout::Coords, int64_t> first;
  for (int64_t r = 0; r < layout->inputSize(kRegister); ++r) first.try_emplace(Lowering::registerPart(*layout, r), r);
  SmallVector<int64_t> result;
  for (const auto& [coords, r] : first) result.push_back(r);
  llvm::sort(result);
  return result;
}

LogicalResult gather(Lowering& to, tile::GatherOp op) {
  Type element = pointeeOf(op.getPtr().getType()), memory = memoryType(to, element, 1);
  Registers pointers = elementsOf(to, op.getPtr()), masks, others, result;
  if (op.getMask()) masks = elementsOf(to, op.getMask());
  if (op.getOther()) others = elementsOf(to, op.getOther());
  Value zero;
  if (op.getMask() && !op.getOther()) zero = arith::ConstantOp::create(to.b, to.b.getZeroAttr(memory));
  for (auto [r, pointer] : llvm::enumerate(pointers)) {
    Value other = op.getOther() ? toMemory(to, others[r], element) : zero;
    Value loaded = to.machine.loadGlobal(to.b, pointer, memory, op.getMask() ? masks[r] : Value(), other);
    result.push_back(fromMemory(to, loaded, element, 1)[0]);
  }
  setElements(to, op.getResult(), std::move(result));
  return success();
}

LogicalResult scatter(Lowering& to, tile::ScatterOp op) {
  Type element = pointeeOf(op.getPtr().getType());
  Registers pointers = elementsOf(to, op.getPtr()), values = elementsOf(to, op.getValue()), masks;
  if (op.getMask()) masks = elementsOf(to, op.getMask());
  Value writer = writes(to, op.getPtr().getType());
  for (int64_t r : distinct(op.getPtr().getType())) {
    auto i = static_cast<size_t>(r);
    to.machine.storeGlobal(to.b, pointers[i], toMemory(to, values[i], element), both(to.b, writer, op.getMask() ? masks[i] : Value()));
  }
  return success();
}

/// Room behind all that the block has allocated; returns where it starts.
int64_t reserve(Lowering& to, int64_t bytes) {
  Operation* kernel = to.b.getInsertionBlock()->getParentOp();
  if (!isa<func::FuncOp>(kernel)) kernel = kernel->getParentOfType<func::FuncOp>();
  auto used = kernel->getAttrOfType<IntegerAttr>(tilegpu::kSharedBytesAttr);
  int64_t start = llvm::alignTo(used ? used.getInt() : 0, 16);
  kernel->setAttr(tilegpu::kSharedBytesAttr, to.b.getI64IntegerAttr(start + bytes));
  return start;
}

/// The number of register r's element in row-major order.
Value elementNumber(Lowering& to, const LinearLayout& layout, int64_t r) {
  Value number = to.i32(0);
  layout::Coords coords = Lowering::registerPart(layout, r), shape = layout.outputShape();
  for (size_t d = 0; d < coords.size(); ++d) {
    int axis = static_cast<int>(d);
    Value coordinate = to.combine(layout, axis, to.threadPart(layout, axis), coords[d]);
    number = arith::AddIOp::create(to.b, arith::MulIOp::create(to.b, number, to.i32(shape[d])).getResult(), coordinate);
  }
  return number;
}

/// Gives every thread the elements that `writer` threads have.
Registers shareAll(Lowering& to, Type tile, const Registers& own, Value writer) {
  const LinearLayout* layout = tilegpu::layoutOf(tile);
  auto type = dyn_cast<RankedTensorType>(tile);
  int64_t count = type ? type.getNumElements() : 1;
  Type element = own[0].getType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8, start = reserve(to, (count + 1) * bytes);
  auto place = [&](Value number) -> Value {
    Value base = LLVM::GEPOp::create(to.b, to.sharedBase.getType(), to.b.getI8Type(), to.sharedBase,
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(start)});
    return LLVM::GEPOp::create(to.b, base.getType(), element, base, ArrayRef<LLVM::GEPArg>{number});
  };
  SmallVector<Value> numbers;
  for (int64_t r = 0; r < static_cast<int64_t>(own.size()); ++r) numbers.push_back(layout ? elementNumber(to, *layout, r) : to.i32(0));
  to.machine.barrier(to.b, Visible::Shared);  // what was read here before has been read
  for (int64_t r : distinct(tile)) {
    auto i = static_cast<size_t>(r);
    Value number = arith::SelectOp::create(to.b, writer, numbers[i], to.i32(count));
    LLVM::StoreOp::create(to.b, own[i], place(number), static_cast<unsigned>(bytes));
  }
  to.machine.barrier(to.b, Visible::Shared);
  Registers result;
  for (Value number : numbers) result.push_back(LLVM::LoadOp::create(to.b, element, place(number), static_cast<unsigned>(bytes)));
  return result;
}

LogicalResult atomicAdd(Lowering& to, tile::AtomicAddOp op) {
  Type tile = op.getPtr().getType();
  Registers pointers = elementsOf(to, op.getPtr()), values = elementsOf(to, op.getValue()), masks;
  if (op.getMask()) masks = elementsOf(to, op.getMask());
  Value writer = writes(to, tile);
  bool used = !op.getResult().use_empty();
  std::map<layout::Coords, Value> old;
  const LinearLayout* layout = tilegpu::layoutOf(tile);
  auto coordsOf = [&](int64_t r) { return layout ? Lowering::registerPart(*layout, r) : layout::Coords{}; };
  for (int64_t r : distinct(tile)) {
    auto i = static_cast<size_t>(r);
    Value predicate = both(to.b, writer, op.getMask() ? masks[i] : Value());
    old[coordsOf(r)] = to.machine.atomicAdd(to.b, pointers[i], values[i], predicate, op.getOrder(), used);
  }
  if (!used) return success();
  Registers result;
  for (int64_t r = 0; r < static_cast<int64_t>(pointers.size()); ++r) result.push_back(old[coordsOf(r)]);
  setElements(to, op.getResult(), writer ? shareAll(to, tile, result, writer) : std::move(result));
  return success();
}

}  // namespace

LogicalResult lowerScattered(Lowering& to, Operation* op) {
  return llvm::TypeSwitch<Operation*, LogicalResult>(op)
      .Case([&](tile::GatherOp one) { return gather(to, one); })
      .Case([&](tile::ScatterOp one) { return scatter(to, one); })
      .Case([&](tile::AtomicAddOp one) { return atomicAdd(to, one); })
      .Default([](Operation* other) { return other->emitOpError() << "does not access memory"; });
}

}  // namespace fattn::gpu
