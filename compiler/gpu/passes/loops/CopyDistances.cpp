// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/loops/CopyDistances.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

/// Barrier objects of a slot.
constexpr int64_t kSlotOverhead = 16;

int64_t bytesOf(AllocOp alloc, int64_t slots) { return slots * (alloc.getResult().getType().getSlotBytes() + kSlotOverhead); }

}  // namespace

llvm::SmallPtrSet<Operation*, 4> shortenedCopies(scf::ForOp loop, ArrayRef<Operation*> fetches, int64_t ahead, ReadStages readStages,
                                                 llvm::function_ref<unsigned(Operation*)> stageOf) {
  llvm::SmallPtrSet<Operation*, 4> shortened;
  llvm::DenseMap<Operation*, int64_t> slots;
  SmallVector<CopyAsyncOp> late;
  for (Operation* fetch : fetches) {
    auto copy = dyn_cast<CopyAsyncOp>(fetch);
    if (!copy || !copy.isBulk()) continue;
    const auto [first, last] = readStages(copy.getBuffer());
    slots[copy.getBuffer().getDefiningOp()] = static_cast<int64_t>(last) - first + ahead + 1;
    if (last > first) late.push_back(copy);
  }
  if (late.empty() || ahead == 0) return shortened;
  for (auto store : loop.getBody()->getOps<StoreBufferOp>())
    if (auto alloc = store.getBuffer().getDefiningOp<AllocOp>(); alloc && alloc->hasAttr(kExchangeAttr))
      slots[alloc] = static_cast<int64_t>(readStages(alloc.getResult()).second) - stageOf(store) + 1;
  int64_t bytes = 0;
  loop->getParentOfType<func::FuncOp>().walk(
      [&](AllocOp alloc) { bytes += bytesOf(alloc, std::max(alloc.getResult().getType().getSlots(), slots.lookup(alloc))); });
  auto slotBytes = [](CopyAsyncOp copy) { return copy.getBuffer().getType().getSlotBytes(); };
  std::ranges::stable_sort(late, std::greater<>(), slotBytes);
  for (CopyAsyncOp copy : late) {
    if (bytes <= targetOf(loop).shared.bytesPerBlock) break;
    shortened.insert(copy);
    bytes -= bytesOf(copy.getBuffer().getDefiningOp<AllocOp>(), 1);
  }
  return shortened;
}

}  // namespace fattn::tilegpu
