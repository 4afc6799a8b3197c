// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/builder/Access.h"

#include "compiler/cpu/builder/TileType.h"
#include "compiler/dialect/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

bool liesTogether(const View& view, int dim) { return getConstantIntValue(view.strides[dim]) == 1; }

/// Elements in one piece, of which the last lanes may not exist.
Value loadTogether(HostBuilder& b, const View& view, const Point& p, Value at, VectorType type, bool partial) {
  int64_t bytes = bytesOf(view.element);
  if (!partial) return LLVM::LoadOp::create(b, type, at, bytes);
  Value zero = arith::ConstantOp::create(b, type, b.getZeroAttr(type));
  Value mask = lanesBelow(b, p, view.shape[p.lane]);
  return LLVM::MaskedLoadOp::create(b, type, at, mask, zero, bytes);
}

/// Elements that lie apart: one by one.
Value loadApart(HostBuilder& b, const View& view, const Point& p, VectorType type, bool partial) {
  Value out = arith::ConstantOp::create(b, type, b.getZeroAttr(type));
  Point one = p;
  one.lane = -1;
  for (int64_t i = 0; i < p.width; ++i) {
    one.index[p.lane] = arith::AddIOp::create(b, p.index[p.lane], b.i64(i));
    if (partial) one.index[p.lane] = arith::MinSIOp::create(b, one.index[p.lane], b.i64(view.shape[p.lane] - 1));
    Value v = LLVM::LoadOp::create(b, type.getElementType(), addressOf(b, view, one.index), bytesOf(view.element));
    out = vector::InsertOp::create(b, v, out, i);
  }
  return out;
}

}  // namespace

Type memoryType(Type element) {
  MLIRContext* context = element.getContext();
  if (element.isInteger(1)) return IntegerType::get(context, 8);
  if (isa<tile::PtrType>(element)) return IntegerType::get(context, 64);
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32) return IntegerType::get(context, element.getIntOrFloatBitWidth());
  return element;
}

int64_t bytesOf(Type element) { return memoryType(element).getIntOrFloatBitWidth() / 8; }

Value toMemory(HostBuilder& b, Value v, Type element) {
  auto vec = dyn_cast<VectorType>(v.getType());
  Type memory = vectorOr(memoryType(element), vec ? vec.getNumElements() : 1);
  if (v.getType() == memory) return v;
  if (element.isInteger(1)) return arith::ExtUIOp::create(b, memory, v);
  return arith::BitcastOp::create(b, memory, v);
}

Value fromMemory(HostBuilder& b, Value v, Type element) {
  auto vec = dyn_cast<VectorType>(v.getType());
  int64_t width = vec ? vec.getNumElements() : 1;
  if (memoryType(element) == element || isa<tile::PtrType>(element)) return v;
  if (!element.isInteger(1)) return arith::BitcastOp::create(b, vectorOr(element, width), v);
  Value zero = b.splat(arith::ConstantOp::create(b, b.getI8IntegerAttr(0)), width);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, v, zero);
}

Value addressOf(HostBuilder& b, const View& view, ArrayRef<Value> index) {
  Stride at = b.getI64IntegerAttr(0);
  for (auto [i, stride] : llvm::zip_equal(index, view.strides)) {
    if (auto k = getConstantIntValue(Stride(i)); k && *k == 0) continue;
    at = b.add(at, b.multiply(i, stride));
  }
  return LLVM::GEPOp::create(b, view.base.getType(), memoryType(view.element), view.base, ArrayRef<LLVM::GEPArg>{b.toValue(at)});
}

Value loadAt(HostBuilder& b, const View& view, const Point& p) {
  Type memory = memoryType(view.element);
  bool vector = p.lane >= 0 && p.lane < static_cast<int>(view.shape.size()) && view.shape[p.lane] > 1;
  Value at = addressOf(b, view, p.index);
  if (!vector) return fromMemory(b, LLVM::LoadOp::create(b, memory, at, bytesOf(memory)), view.element);
  auto type = cast<VectorType>(vectorOr(memory, p.width));
  bool partial = !view.padded && view.shape[p.lane] % p.width != 0;
  Value v = liesTogether(view, p.lane) ? loadTogether(b, view, p, at, type, partial) : loadApart(b, view, p, type, partial);
  return fromMemory(b, v, view.element);
}

void storeAt(HostBuilder& b, const View& view, const Point& p, Value v) {
  v = toMemory(b, v, view.element);
  int64_t bytes = bytesOf(view.element);
  auto vec = dyn_cast<VectorType>(v.getType());
  if (!vec || liesTogether(view, p.lane)) {
    LLVM::StoreOp::create(b, v, addressOf(b, view, p.index), bytes);
    return;
  }
  // Elements lie apart: written one by one, those that exist.
  Point one = p;
  for (int64_t i = 0; i < vec.getNumElements(); ++i) {
    one.index[p.lane] = arith::AddIOp::create(b, p.index[p.lane], b.i64(i));
    Value exists;
    if (view.shape[p.lane] % p.width)
      exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, one.index[p.lane], b.i64(view.shape[p.lane]));
    b.onlyIf(exists, [&] { LLVM::StoreOp::create(b, vector::ExtractOp::create(b, v, i), addressOf(b, view, one.index), bytes); });
  }
}

Value lanesBelow(HostBuilder& b, const Point& p, int64_t size) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, b.laneIndices(p.index[p.lane], p.width), b.splat(b.i64(size), p.width));
}

Value loadOrPad(HostBuilder& b, Value at, Value mask, Value padding, int64_t bytes) {
  auto guarded = scf::IfOp::create(b, TypeRange{padding.getType()}, mask, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(guarded.thenBlock());
  scf::YieldOp::create(b, LLVM::LoadOp::create(b, padding.getType(), at, bytes).getResult());
  b.setInsertionPointToStart(guarded.elseBlock());
  scf::YieldOp::create(b, padding);
  return guarded.getResult(0);
}

}  // namespace fattn::cpu
