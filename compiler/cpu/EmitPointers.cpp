// SPDX-License-Identifier: Apache-2.0
// Loads, stores and atomics through tiles of pointers, running sums, and printing.
#include "compiler/cpu/Emitter.h"
#include "compiler/cpu/Reduction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {
/// Lanes of a point that lie inside a dimension of `size` elements.
Value Emitter::laneExists(const Point& p, int64_t size) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, laneIndices(b, loc, p.index[p.lane], p.width), splat(i64(size), p.width));
}

/// Calls `body` for every element of `shape` that `mask` selects; lanes are taken apart.
void Emitter::forEachElement(ArrayRef<int64_t> shape, Value mask, const std::function<void(const Point&)>& body) {
  nestOver(shape, -1, [&](const Point& p) {
    if (!mask) return body(p);
    auto branch = scf::IfOp::create(b, loc, eval(mask, p), /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    auto saved = memo;  // what is computed under the mask is not known outside
    body(p);
    memo = saved;
  });
}

/// The address a pointer tile, or a scalar pointer, holds at a point.
Value Emitter::pointerAt(Value ptr, const Point& p) {
  Value v = eval(ptr, p);
  if (isa<LLVM::LLVMPointerType>(v.getType())) return v;
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  int64_t width = isa<VectorType>(v.getType()) ? cast<VectorType>(v.getType()).getNumElements() : 1;
  return LLVM::IntToPtrOp::create(b, loc, vectorOr(pointer, width), v);
}

/// Gives a result its value: a tile lives in `view`, a scalar is read from it.
void Emitter::define(Value result, View view) {
  if (isa<RankedTensorType>(result.getType())) {
    views[result] = view;
    owners.push_back(result);
    return;
  }
  scalars.map(result, loadAt(view, Point{}));
  release(view);
}

LogicalResult Emitter::emitGather(tile::GatherOp op) {
  Type element = cast<tile::PtrType>(getElementTypeOrSelf(op.getPtr().getType())).getPointee();
  Type memory = memoryType(element);
  auto type = dyn_cast<RankedTensorType>(op.getResult().getType());
  auto shape = type ? llvm::to_vector(type.getShape()) : SmallVector<int64_t>{};
  View view = allocate(shape, element, type ? lanes.lane(op.getResult()) : -1);
  auto other = [&](const Point& p) -> Value {
    if (op.getOther()) return eval(op.getOther(), p);
    return arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
  };
  // Scalar code: each element once with what stands for masked ones, then those that are read.
  if (op.getMask()) nestOver(shape, -1, [&](const Point& p) { storeAt(view, p, other(p)); });
  forEachElement(shape, op.getMask(), [&](const Point& p) {
    Value v = LLVM::LoadOp::create(b, loc, memory, pointerAt(op.getPtr(), p), bytesOf(element));
    storeAt(view, p, fromMemory(v, element));
  });
  define(op.getResult(), view);
  return success();
}

LogicalResult Emitter::emitScatter(tile::ScatterOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getPtr().getType());
  auto shape = type ? llvm::to_vector(type.getShape()) : SmallVector<int64_t>{};
  Type element = cast<tile::PtrType>(getElementTypeOrSelf(op.getPtr().getType())).getPointee();
  forEachElement(shape, op.getMask(), [&](const Point& p) {
    View at{.base = pointerAt(op.getPtr(), p), .element = element, .shape = {}, .strides = {}};
    storeAt(at, Point{}, eval(op.getValue(), p));
  });
  return success();
}

/// f16 and bf16 have no atomic addition everywhere: LLVM expands them to a compare-and-swap loop, as it does for f32.
LogicalResult Emitter::emitAtomicAdd(tile::AtomicAddOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getPtr().getType());
  auto shape = type ? llvm::to_vector(type.getShape()) : SmallVector<int64_t>{};
  Type element = cast<tile::PtrType>(getElementTypeOrSelf(op.getPtr().getType())).getPointee();
  View view = allocate(shape, element, type ? lanes.lane(op.getResult()) : -1);
  auto kind = isa<FloatType>(element) ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
  auto ordering = op.getOrder() == tile::MemoryOrder::relaxed ? LLVM::AtomicOrdering::monotonic : LLVM::AtomicOrdering::acq_rel;
  nestOver(shape, -1, [&](const Point& p) { storeAt(view, p, arith::ConstantOp::create(b, loc, b.getZeroAttr(element))); });
  forEachElement(shape, op.getMask(), [&](const Point& p) {
    Value old = LLVM::AtomicRMWOp::create(b, loc, kind, pointerAt(op.getPtr(), p), eval(op.getValue(), p), ordering);
    storeAt(view, p, old);
  });
  define(op.getResult(), view);
  return success();
}

LogicalResult Emitter::emitCumsum(tile::CumsumOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  int axis = op.getAxis();
  int natural = lanes.lane(op.getInput());
  int lane = natural == axis ? -1 : natural;
  View view = allocate(type.getShape(), type.getElementType(), lanes.lane(op.getResult()));
  int64_t width = widthFor(type.getShape(), lane), size = type.getDimSize(axis);
  Type element = type.getElementType();
  Type sum = isa<FloatType>(element) ? Type(b.getF32Type()) : element;
  if (element.isF64()) sum = element;
  nest(
      type.getShape(), lane, width, axis,
      [&](const Point&) {
        return SmallVector<Value>{splat(arith::ConstantOp::create(b, loc, b.getZeroAttr(element)), lane < 0 ? 1 : width)};
      },
      [&](const Point& at, ValueRange acc) {
        Point p = at;
        if (op.getReverse()) p.index[axis] = arith::SubIOp::create(b, loc, i64(size - 1), at.index[axis]);
        Value x = convert(evalVector(op.getInput(), p), sum), a = convert(acc[0], sum);
        Value next =
            isa<FloatType>(sum) ? arith::AddFOp::create(b, loc, a, x).getResult() : arith::AddIOp::create(b, loc, a, x).getResult();
        next = convert(next, element);
        storeAt(view, p, next);
        return SmallVector<Value>{next};
      },
      [](const Point&, ValueRange) {});
  views[op.getResult()] = view;
  owners.push_back(op.getResult());
  return success();
}

/// Calls fattn_device_print(grid, prefix, dtype, rank, shape, data) for every value, with its elements in row-major order.
LogicalResult Emitter::emitPrint(tile::DevicePrintOp op) {
  auto module = source->getParentOfType<ModuleOp>();
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  SmallVector<Type> types{pointer, pointer, b.getI32Type(), b.getI32Type(), pointer, pointer};
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>("fattn_device_print");
  std::string name = "fattn_text_" + std::to_string(printCount++);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto signature = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), types);
    if (!callee) callee = LLVM::LLVMFuncOp::create(b, loc, "fattn_device_print", signature);
    std::string text = op.getPrefix().str() + '\0';
    auto array = LLVM::LLVMArrayType::get(b.getI8Type(), text.size());
    LLVM::GlobalOp::create(b, loc, array, /*isConstant=*/true, LLVM::Linkage::Private, name, b.getStringAttr(text));
  }
  Value text = LLVM::AddressOfOp::create(b, loc, pointer, name);
  auto i32 = [&](int32_t v) -> Value { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(v)); };
  auto print = [&](int32_t dtype, ArrayRef<int64_t> shape, Value data) {
    View dims = allocate({std::max<int64_t>(shape.size(), 1)}, b.getI64Type(), 0);
    for (auto [d, size] : llvm::enumerate(shape)) storeAt(dims, Point{.index = {i64(d)}, .lane = -1, .width = 1}, i64(size));
    LLVM::CallOp::create(b, loc, callee, ValueRange{gridBase, text, i32(dtype), i32(shape.size()), dims.base, data});
    release(dims);
  };
  if (op.getValues().empty()) print(-1, {}, scratchBase);
  for (Value value : op.getValues()) {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    auto shape = tile ? llvm::to_vector(tile.getShape()) : SmallVector<int64_t>{};
    Type element = getElementTypeOrSelf(value.getType());
    if (element.isIndex() || isa<tile::PtrType>(element)) element = b.getI64Type();
    View dense = allocate({tile ? tile.getNumElements() : 1}, element, 0);
    dense.shape = shape;
    dense.lane = -1;
    dense.strides.clear();
    for (int64_t d = 0, stride = 1; d < static_cast<int64_t>(shape.size()); ++d) {
      dense.strides.insert(dense.strides.begin(), b.getI64IntegerAttr(stride));
      stride *= shape[shape.size() - 1 - d];
    }
    nestOver(shape, -1, [&](const Point& p) {
      Value v = eval(value, p);
      if (isa<LLVM::LLVMPointerType>(v.getType())) v = LLVM::PtrToIntOp::create(b, loc, element, v);
      storeAt(dense, p, convert(v, element));
    });
    print(static_cast<int32_t>(tile::dtypeOf(element)), shape, dense.base);
    release(dense);
  }
  return success();
}

}  // namespace fattn::cpu
