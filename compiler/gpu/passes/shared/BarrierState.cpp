// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/shared/BarrierState.h"

#include "compiler/gpu/passes/Passes.h"
#include "compiler/layout/Queries.h"

using namespace mlir;

namespace fattn::tilegpu {

void BarrierState::meet(Operation* at, bool ordersGlobal) {
  if (ordersGlobal) {
    unordered.clear();
  } else {
    for (auto& [access, last] : unordered) last = {}, last.insert(at);
    for (Operation* access : llvm::concat<Operation* const>(reads, writes)) unordered[access].insert(at);
  }
  buffers.clear();
  reads.clear();
  writes.clear();
}

bool BarrierState::join(const BarrierState& other) {
  bool changed = false;
  for (Operation* op : other.reads) changed |= reads.insert(op);
  for (Operation* op : other.writes) changed |= writes.insert(op);
  for (const auto& [access, last] : other.unordered)
    for (Operation* at : last) changed |= unordered[access].insert(at);
  for (const auto& [buffer, done] : other.buffers) {
    Done& known = buffers[buffer];
    Done both{known.read || done.read, known.stored || done.stored, known.copied || done.copied};
    changed |= !(both == known);
    known = both;
  }
  return changed;
}

bool conflicts(const BufferAccess& access, Value buffer, const Done& done) {
  if (!overlap(access.buffer, buffer) || (access.bySlot && access.buffer == buffer)) return false;
  if (!access.write) return done.stored || done.copied;
  if (access.byWarp && access.buffer == buffer) return false;
  if (!access.copy) return done.read || done.stored || done.copied;
  if (access.buffer == buffer && access.released) return false;
  // A thread writes the same places with every copy into a buffer, and its copies complete in order.
  return done.read || done.stored || (done.copied && access.buffer != buffer);
}

namespace {

/// The layout of the access to a window, where each element is one thread's; else null.
const layout::LinearLayout* ownLayout(Operation* op) {
  if (!isa<tile::LoadOp, tile::StoreOp, tile::AccumulateOp, StoreBoxesOp>(op)) return nullptr;
  const layout::LinearLayout* layout = layoutOf(isa<tile::LoadOp>(op) ? op->getResult(0).getType() : op->getOperand(1).getType());
  return layout && layout::holdersOf(*layout).all() ? layout : nullptr;
}

}  // namespace

bool haveSameOwners(Operation* first, Operation* second) {
  const layout::LinearLayout *a = ownLayout(first), *b = ownLayout(second);
  if (!a || !b || *a == *b) return a && b;
  if (!isa<StoreBoxesOp>(first) && !isa<StoreBoxesOp>(second)) return false;
  return layout::warpsHoldSameRows(*a, *b);
}

}  // namespace fattn::tilegpu
