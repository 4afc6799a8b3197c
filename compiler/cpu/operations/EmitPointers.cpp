// SPDX-License-Identifier: Apache-2.0
// Loads, stores and atomics through tiles of pointers, or through one pointer: scalar code, element by element.
#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/nests/Evaluate.h"
#include "compiler/cpu/nests/Nest.h"
#include "compiler/cpu/operations/Operations.h"
#include "compiler/cpu/state/Emission.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// A scalar has no dimensions.
SmallVector<int64_t> shapeOf(Value v) {
  auto type = tileType(v);
  return type ? llvm::to_vector(type.getShape()) : SmallVector<int64_t>{};
}

Type pointeeOf(Value ptr) { return cast<tile::PtrType>(getElementTypeOrSelf(ptr.getType())).getPointee(); }

/// The address a pointer tile, or a scalar pointer, holds at a point.
Value pointerAt(Emission& e, Value ptr, const Point& p) {
  Value v = eval(e, ptr, p);
  if (isa<LLVM::LLVMPointerType>(v.getType())) return v;
  Type pointer = LLVM::LLVMPointerType::get(e.b.getContext());
  auto vec = dyn_cast<VectorType>(v.getType());
  return LLVM::IntToPtrOp::create(e.b, vectorOr(pointer, vec ? vec.getNumElements() : 1), v);
}

View bufferFor(Emission& e, Value result, Type element) {
  return e.buffers.allocate(shapeOf(result), element, isTile(result) ? e.lanes.lane(result) : -1);
}

/// Gives a result its value: a tile lives in `view`, a scalar is read from it.
void define(Emission& e, Value result, View view) {
  if (isTile(result)) return e.tiles.placeOwned(result, view);
  e.scalars.map(result, loadAt(e.b, view, Point{}));
  e.buffers.release(view);
}

Value zeroOf(HostBuilder& b, Type element) { return arith::ConstantOp::create(b, b.getZeroAttr(element)); }

}  // namespace

void emitGather(Emission& e, tile::GatherOp op) {
  HostBuilder& b = e.b;
  Type element = pointeeOf(op.getPtr());
  SmallVector<int64_t> shape = shapeOf(op.getResult());
  View view = bufferFor(e, op.getResult(), element);
  auto other = [&](const Point& p) { return op.getOther() ? eval(e, op.getOther(), p) : zeroOf(b, element); };
  // Each element once with what stands for masked ones, then those that are read.
  if (op.getMask()) nestOver(e, shape, -1, [&](const Point& p) { storeAt(b, view, p, other(p)); });
  forEachElement(e, shape, op.getMask(), [&](const Point& p) {
    Value v = LLVM::LoadOp::create(b, memoryType(element), pointerAt(e, op.getPtr(), p), bytesOf(element));
    storeAt(b, view, p, fromMemory(b, v, element));
  });
  define(e, op.getResult(), view);
}

void emitScatter(Emission& e, tile::ScatterOp op) {
  Type element = pointeeOf(op.getPtr());
  forEachElement(e, shapeOf(op.getPtr()), op.getMask(), [&](const Point& p) {
    View at{.base = pointerAt(e, op.getPtr(), p), .element = element, .shape = {}, .strides = {}};
    storeAt(e.b, at, Point{}, eval(e, op.getValue(), p));
  });
}

/// f16 and bf16 have no atomic addition everywhere: LLVM expands them to a compare-and-swap loop, as it does for f32.
void emitAtomicAdd(Emission& e, tile::AtomicAddOp op) {
  HostBuilder& b = e.b;
  Type element = pointeeOf(op.getPtr());
  SmallVector<int64_t> shape = shapeOf(op.getPtr());
  View view = bufferFor(e, op.getResult(), element);
  auto kind = isa<FloatType>(element) ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
  auto ordering = op.getOrder() == tile::MemoryOrder::relaxed ? LLVM::AtomicOrdering::monotonic : LLVM::AtomicOrdering::acq_rel;
  nestOver(e, shape, -1, [&](const Point& p) { storeAt(b, view, p, zeroOf(b, element)); });
  forEachElement(e, shape, op.getMask(), [&](const Point& p) {
    Value old = LLVM::AtomicRMWOp::create(b, kind, pointerAt(e, op.getPtr(), p), eval(e, op.getValue(), p), ordering);
    storeAt(b, view, p, old);
  });
  define(e, op.getResult(), view);
}

}  // namespace fattn::cpu
