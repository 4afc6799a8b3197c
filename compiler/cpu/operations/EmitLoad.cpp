// SPDX-License-Identifier: Apache-2.0
// Loads through block pointers: read in place where possible, copied with padding at the edges of arrays.
#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/Window.h"
#include "compiler/cpu/nests/Materialize.h"
#include "compiler/cpu/nests/Nest.h"
#include "compiler/cpu/operations/NextTrip.h"
#include "compiler/cpu/operations/Operations.h"
#include "compiler/cpu/state/Emission.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

Value paddingOf(HostBuilder& b, tile::LoadOp op, Type element) {
  auto attr = dyn_cast_or_null<TypedAttr>(op.getPaddingAttr());
  return toMemory(b, arith::ConstantOp::create(b, attr ? attr : b.getZeroAttr(element)), element);
}

void copyPadded(Emission& e, tile::LoadOp op, const BlockPtr& ptr, const View& global, const View& into) {
  HostBuilder& b = e.b;
  Type memory = memoryType(global.element);
  int64_t bytes = bytesOf(memory);
  Value padding = paddingOf(b, op, global.element);
  View raw = into;  // the copy moves memory types, never interpreted
  raw.element = memory;
  nestOver(e, global.shape, global.lane, [&](const Point& p) {
    int64_t width = p.elements();
    Value mask = existingAt(b, ptr, op.getBoundaryCheck(), global.shape, p);
    Value at = addressOf(b, global, p.index);
    if (width == 1) return storeAt(b, raw, p, loadOrPad(b, at, mask, padding, bytes));
    storeAt(b, raw, p, LLVM::MaskedLoadOp::create(b, VectorType::get({width}, memory), at, mask, b.splat(padding, width), bytes));
  });
}

void yieldView(HostBuilder& b, const View& view) {
  SmallVector<Value> out{view.base};
  for (Stride s : view.strides) out.push_back(b.toValue(s));
  scf::YieldOp::create(b, out);
}

/// A window at the array's edge is copied, with its padding, into scratch; one inside is used where it lies.
View loadBoundary(Emission& e, tile::LoadOp op, const BlockPtr& ptr, const View& global) {
  HostBuilder& b = e.b;
  View padded = e.buffers.allocate(global.shape, global.element, global.lane);
  SmallVector<Type> types(1 + global.shape.size(), b.getI64Type());
  types[0] = global.base.getType();
  Value interior = liesInside(b, ptr, op.getBoundaryCheck(), global.shape);
  auto branch = scf::IfOp::create(b, types, interior, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  yieldView(b, global);
  b.setInsertionPointToStart(branch.elseBlock());
  copyPadded(e, op, ptr, global, padded);
  yieldView(b, padded);
  View view = global;
  view.base = branch.getResult(0);
  for (size_t d = 0; d < view.shape.size(); ++d)
    if (static_cast<int>(d) != global.lane) view.strides[d] = branch.getResult(1 + d);
  view.slot = padded.slot;
  view.shared = true;
  return view;
}

}  // namespace

void emitLoad(Emission& e, tile::LoadOp op) {
  BlockPtr ptr = e.blockPtrs.at(op.getPtr());
  RankedTensorType type = op.getResult().getType();
  View view = windowOf(e.b, ptr, type.getShape());
  view.readsOn = readsOnAlong(op);
  if (view.readsOn < 0 && type.getRank() == 2)
    if (view.next = nextWindow(e, op); view.next) view.readsOn = 0;
  bool snapshot = e.liveness.overwrittenBeforeUse(op);
  if (!op.getBoundaryCheck().empty()) view = loadBoundary(e, op, ptr, view);
  if (snapshot) {
    View own = e.buffers.allocate(type, e.lanes.lane(op.getResult()));
    copyTile(e, view, own);
    e.buffers.release(view);
    view = own;
  }
  e.tiles.place(op.getResult(), view);
  if (view.slot >= 0) e.tiles.own(op.getResult());
}

}  // namespace fattn::cpu
