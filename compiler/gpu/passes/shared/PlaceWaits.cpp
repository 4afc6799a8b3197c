// SPDX-License-Identifier: Apache-2.0
// Waits for copies and dots as late as possible, and for no more of them than needed:
//
//   %t = copy_async %p, %b[0]                       %t = copy_async %p, %b[0]
//   copy_wait %t                              =>    %u = copy_async %q, %c[0]
//   %u = copy_async %q, %c[0]                       copy_wait %t {pending = 1}
//   %x = load_buffer %b[0]                          %x = load_buffer %b[0]
//
// A wait moves down its block to the first operation that touches a buffer of its copies, and stays where there is none (behind a loop it
// ends the buffer's life), or where something on the way may write the global memory that the copies read; waits in a row become one. In a
// loop it does not pass a copy, nor a read of what another copy brings: the barrier behind the wait, which the copied data needs, is also
// the one behind which other threads have finished reading the slots that the copies below refill, and the one that the other data needs.
// One barrier then serves all.
//
// A wait for an engine's copy of boxes passes other copies: it is for its own slot.
//
// A wait for a dot moves down its block to the first operation that uses its result, that writes a buffer which the dot reads, that
// computes what takes over the registers of an operand in the next trip, or that nothing may be in flight beyond (tilegpu.owner_only).
// Releases of these buffers on the way come along: the dot reads them until then. A dot that runs on when its trip ends is waited for in
// the next one (RunOn.h); an owner beyond which nothing may be in flight waits for it first, alone.
//
// `pending` is the number of copies that are younger than those waited for on every path to the wait (Waits.h).
//
// Test: tests/lit/gpu/place-waits.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/shared/RunOn.h"
#include "compiler/gpu/passes/shared/Waits.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_PLACEWAITSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

bool isInLoop(Operation* op) { return op->getParentOfType<LoopLikeOpInterface>() != nullptr; }

/// A copy by all threads, or something that reads what such copies bring.
bool sharesBarrier(Operation* op) {
  auto isVectors = [](Operation* user) {
    auto copy = dyn_cast<CopyAsyncOp>(user);
    return copy && !copy.isBulk();
  };
  WalkResult found = op->walk([&](Operation* inner) {
    auto load = dyn_cast<LoadBufferOp>(inner);
    bool shares = isVectors(inner) || (load && llvm::any_of(load.getBuffer().getUsers(), isVectors));
    return shares ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}

void sink(CopyWaitOp wait, transforms::Aliasing& aliasing) {
  llvm::SmallSetVector<Value, 4> buffers;
  const CopiedMemory copied(wait.getTokens(), aliasing);
  for (const BufferAccess& access : accessesOf(wait)) buffers.insert(access.buffer);
  bool inLoop = isInLoop(wait);
  Operation* place = wait->getNextNode();
  for (; !place->hasTrait<OpTrait::IsTerminator>(); place = place->getNextNode()) {
    auto copy = dyn_cast<CopyAsyncOp>(place);
    if (copy && copy.isBulk() && wait.isBulk()) continue;
    bool stop = isa<BarrierOp>(place) || touches(place, buffers) || (inLoop && !wait.isBulk() && sharesBarrier(place));
    if (stop) return wait->moveBefore(place);
    if (copied.mayChangeIn(place)) return;
  }
}

/// What computes the value that takes over the registers of an operand in the next trip: the dot reads them until it is waited for.
llvm::SmallPtrSet<Operation*, 4> successorsOf(Value operand) {
  llvm::SmallPtrSet<Operation*, 4> definitions;
  auto usual = [](Value v) {  // whose registers a select_lazy's result has
    auto lazy = v.getDefiningOp<tile::SelectLazyOp>();
    return lazy ? lazy.getUsual()[cast<OpResult>(v).getResultNumber()] : Value();
  };
  while (Value before = usual(operand)) operand = before;
  auto argument = dyn_cast<BlockArgument>(operand);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop || argument == loop.getInductionVar()) return definitions;
  Value next = loop.getTiedLoopYieldedValue(argument)->get();
  while (Operation* op = next ? next.getDefiningOp() : nullptr) {
    if (!definitions.insert(op).second) break;
    next = usual(next);
  }
  return definitions;
}

void sink(DotWaitOp wait) {
  llvm::SmallSetVector<Value, 4> buffers;
  llvm::SmallPtrSet<Operation*, 4> successors = successorsOf(dotOf(wait.getValue()).getA());
  for (const BufferAccess& access : accessesOf(wait)) buffers.insert(access.buffer);
  auto uses = [&](Operation* op) { return llvm::any_of(wait->getUsers(), [&](Operation* user) { return op->isAncestor(user); }); };
  auto writes = [&](Operation* op) {
    WalkResult found = op->walk([&](Operation* inner) {
      // An engine writes into slots that are released: none that the dot still reads.
      auto hit = [&](const BufferAccess& access) { return access.write && !access.released && buffers.contains(access.buffer); };
      return llvm::any_of(accessesOf(inner), hit) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return found.wasInterrupted();
  };
  Operation* place = wait->getNextNode();
  auto stops = [&](Operation* op) {
    auto owner = dyn_cast<OwnerOnlyOp>(op);
    return isa<BarrierOp>(op) || (owner && owner.getDrained()) || successors.contains(op) || uses(op) || writes(op);
  };
  SmallVector<ReleaseOp> releases;
  for (; !place->hasTrait<OpTrait::IsTerminator>() && !stops(place); place = place->getNextNode())
    if (auto release = dyn_cast<ReleaseOp>(place); release && buffers.contains(release.getBuffer())) releases.push_back(release);
  wait->moveBefore(place);
  for (ReleaseOp release : releases) release->moveBefore(place);
}

/// Two waits in a row are one, for the copies of both.
void merge(CopyWaitOp wait) {
  auto next = dyn_cast_or_null<CopyWaitOp>(wait->getNextNode());
  if (!next || next.isBulk() || wait.isBulk()) return;
  SmallVector<Value> tokens(wait.getTokens());
  tokens.append(next.getTokens().begin(), next.getTokens().end());
  next.getTokensMutable().assign(tokens);
  wait->erase();
}

class PlaceWaitsPass : public impl::PlaceWaitsPassBase<PlaceWaitsPass> {
 public:
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isDeclaration()) continue;
      SmallVector<CopyWaitOp> waits;
      func.walk([&](CopyWaitOp wait) { waits.push_back(wait); });
      transforms::Aliasing aliasing;
      for (CopyWaitOp wait : llvm::reverse(waits)) sink(wait, aliasing);
      for (CopyWaitOp wait : waits) merge(wait);
      SmallVector<DotWaitOp> dots, late;
      func.walk([&](DotWaitOp wait) { (canRunOn(wait) ? late : dots).push_back(wait); });
      for (DotWaitOp wait : llvm::reverse(dots)) sink(wait);
      for (DotWaitOp wait : llvm::reverse(late)) sink(runOn(wait));
      countPending(func);
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
