// SPDX-License-Identifier: Apache-2.0
// Stores and accumulations through block pointers.
#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/builder/Window.h"
#include "compiler/cpu/nests/Evaluate.h"
#include "compiler/cpu/nests/Materialize.h"
#include "compiler/cpu/nests/Nest.h"
#include "compiler/cpu/operations/Operations.h"
#include "compiler/cpu/state/Emission.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// Elements lie apart: one branch for each.
void storeEachMasked(HostBuilder& b, const View& into, const Point& p, Value v, Value mask) {
  for (int64_t i = 0; i < p.width; ++i)
    b.onlyIf(vector::ExtractOp::create(b, mask, i), [&] {
      Point one = p;
      one.lane = -1;
      one.index[p.lane] = arith::AddIOp::create(b, p.index[p.lane], b.i64(i));
      storeAt(b, into, one, vector::ExtractOp::create(b, v, i));
    });
}

void storeMasked(HostBuilder& b, const View& into, const Point& p, Value v, Value mask) {
  if (!mask || p.elements() == 1) return b.onlyIf(mask, [&] { storeAt(b, into, p, v); });
  if (getConstantIntValue(into.strides[p.lane]) != 1) return storeEachMasked(b, into, p, v, mask);
  LLVM::MaskedStoreOp::create(b, toMemory(b, v, into.element), addressOf(b, into, p.index), mask, bytesOf(into.element));
}

}  // namespace

void emitWrite(Emission& e, tile::StoreOp op) {
  HostBuilder& b = e.b;
  Value value = op.getValue();
  BlockPtr ptr = e.blockPtrs.at(op.getPtr());
  RankedTensorType type = tileType(value);
  View global = windowOf(b, ptr, type.getShape());
  int natural = e.lanes.lane(value), lane = global.lane >= 0 ? global.lane : natural;
  View staged;
  // Stored along another dimension than computed: turn it around in scratch first.
  if (natural >= 0 && natural != lane) staged = materialized(e, value, lane);
  nestOver(e, type.getShape(), lane, [&](const Point& p) {
    Value v = staged.base ? loadAt(b, staged, p) : eval(e, value, p);
    v = b.splat(v, p.elements());
    storeMasked(b, global, p, v, existingAt(b, ptr, op.getBoundaryCheck(), type.getShape(), p));
  });
  if (staged.base) e.buffers.release(staged);
}

/// Element by element: LLVM makes a compare-and-swap loop of each addition of floating-point numbers.
void emitWrite(Emission& e, tile::AccumulateOp op) {
  HostBuilder& b = e.b;
  BlockPtr ptr = e.blockPtrs.at(op.getPtr());
  RankedTensorType type = tileType(op.getValue());
  View global = windowOf(b, ptr, type.getShape());
  auto kind = isa<FloatType>(type.getElementType()) ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
  nestOver(e, type.getShape(), -1, [&](const Point& p) {
    Value mask = existingAt(b, ptr, op.getBoundaryCheck(), type.getShape(), p);
    Value value = eval(e, op.getValue(), p);
    b.onlyIf(mask, [&] { LLVM::AtomicRMWOp::create(b, kind, addressOf(b, global, p.index), value, LLVM::AtomicOrdering::monotonic); });
  });
}

}  // namespace fattn::cpu
