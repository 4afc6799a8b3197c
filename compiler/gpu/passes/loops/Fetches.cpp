// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/loops/Fetches.h"

#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/loops/MemoryOrder.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

bool isRegisterFetch(tile::LoadOp load) {
  return load->hasOneUse() && isa<StoreBufferOp>(*load->user_begin()) && (*load->user_begin())->getBlock() == load->getBlock();
}

/// What fills the buffer: the copy itself, or the store of what was loaded.
Operation* fillOf(Operation* fetch) { return isa<CopyAsyncOp>(fetch) ? fetch : *fetch->user_begin(); }

/// What has all warps of a block wait for each other, as it exchanges numbers between them.
bool isMeeting(Operation* op) {
  if (auto reduce = dyn_cast<tile::ReduceOp>(op)) return crossesWarps(reduce);
  return crossesWarps(dyn_cast<ConvertLayoutOp>(op));
}

/// The last operation of the order that reads the buffer, or a product that may read it step by step (SliceDots); the end where some of
/// them are of another stage than others.
StagedOps::const_iterator lastUse(scf::ForOp loop, Value buffer, const StagedOps& order) {
  llvm::SmallPtrSet<Operation*, 8> uses;
  for (Operation* user : buffer.getUsers()) {
    if (!isa<LoadBufferOp>(user) || !inBody(loop, user)) continue;
    SmallVector<Operation*> open = {user};
    while (!open.empty()) {
      Operation* op = open.pop_back_val();
      if (!uses.insert(inBody(loop, op)).second || isa<tile::DotOp>(op)) continue;
      llvm::copy_if(op->getUsers(), std::back_inserter(open), [](Operation* next) { return isa<tile::TransOp, tile::DotOp>(next); });
    }
  }
  auto last = order.end();
  for (auto place = order.begin(); place != order.end(); ++place) {
    if (!uses.contains(place->first)) continue;
    if (last != order.end() && last->second != place->second) return order.end();
    last = place;
  }
  return last;
}

}  // namespace

Operation* inBody(scf::ForOp loop, Operation* op) { return loop.getBody()->findAncestorOpInBlock(*op); }

SmallVector<Operation*> sliceOf(scf::ForOp loop, Operation* op) {
  llvm::SetVector<Operation*> slice;
  SmallVector<Operation*> work = {op};
  auto need = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == loop.getBody()) {
      if (argument == loop.getInductionVar()) return;
      value = loop.getTiedLoopYieldedValue(argument)->get();
    }
    Operation* def = value.getDefiningOp();
    if (def && def->getBlock() == loop.getBody() && slice.insert(def)) work.push_back(def);
  };
  while (!work.empty()) {
    Operation* next = work.pop_back_val();
    next->walk([&](Operation* inner) {
      for (Value operand : inner->getOperands()) need(operand);
    });
  }
  SmallVector<Operation*> sorted(slice.begin(), slice.end());
  llvm::sort(sorted, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
  return sorted;
}

Value bufferOf(Operation* fetch) {
  if (auto copy = dyn_cast<CopyAsyncOp>(fetch)) return copy.getBuffer();
  return cast<StoreBufferOp>(*fetch->user_begin()).getBuffer();
}

bool canRunAhead(scf::ForOp loop, Operation* fetch, int64_t ahead, transforms::Aliasing& aliasing) {
  if (!fillsForIteration(loop, fillOf(fetch), bufferOf(fetch))) return false;
  SmallVector<Operation*> slice = sliceOf(loop, fetch);
  bool possible = llvm::none_of(slice, [](Operation* op) {
    return isa<tile::DotOp, LoadBufferOp>(op) || (!isMemoryEffectFree(op) && !isa<tile::LoadOp, tile::GatherOp>(op));
  });
  if (!possible) return false;
  SmallVector<transforms::MemoryAccess> reads;
  for (Operation* op : slice) llvm::append_range(reads, transforms::accessesIn(op));
  // What the address comes from goes along to wherever the fetch is put.
  return mayMove(loop, transforms::accessesIn(fetch), ahead + 1, /*late=*/-1, aliasing) &&
         mayMove(loop, reads, ahead + 1, /*late=*/1, aliasing);
}

SmallVector<Operation*> fetchesOf(scf::ForOp loop, int64_t ahead) {
  SmallVector<Operation*> fetches;
  transforms::Aliasing aliasing;
  for (Operation& op : loop.getBody()->without_terminator()) {
    auto copy = dyn_cast<CopyAsyncOp>(op);
    auto load = dyn_cast<tile::LoadOp>(op);
    bool plain = copy && copy->hasOneUse() && isa<CopyWaitOp>(*copy->user_begin()) && (*copy->user_begin())->getBlock() == op.getBlock();
    if ((plain || (load && isRegisterFetch(load))) && canRunAhead(loop, &op, ahead, aliasing)) fetches.push_back(&op);
  }
  return fetches;
}

llvm::DenseMap<Operation*, Operation*> refillsOf(scf::ForOp loop, ArrayRef<Operation*> fetches, const StagedOps& order, int64_t ahead) {
  llvm::DenseMap<Operation*, Operation*> refills;
  transforms::Aliasing aliasing;
  for (Operation* fetch : fetches) {
    auto copy = dyn_cast<CopyAsyncOp>(fetch);
    if (!copy || copy.isBulk() || !canRunAhead(loop, fetch, ahead + 1, aliasing)) continue;
    auto last = lastUse(loop, copy.getBuffer(), order);
    if (last == order.end()) continue;
    auto meeting = std::find_if(std::next(last), order.end(), [](const auto& entry) { return isMeeting(entry.first); });
    if (meeting != order.end())
      refills[fetch] = meeting->first;
    else if (ahead == 0)
      refills[fetch] = last->first;
  }
  return refills;
}

}  // namespace fattn::tilegpu
