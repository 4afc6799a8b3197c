// SPDX-License-Identifier: Apache-2.0
// A barrier wherever threads of a block may see or destroy what others have in shared memory:
//
//   copy_wait %t                                    copy_wait %t
//   %u = copy_async %q, %v[%next]                   barrier     // others' parts of the copy are there; others have read the last %v
//   %x = load_buffer %k[%slot]                =>    %u = copy_async %q, %v[%next]
//   ...                                             %x = load_buffer %k[%slot]
//   %y = load_buffer %v[%slot]
//
// A forward data-flow over structured control flow, followed round loops until nothing changes, keeps the accesses since the last barrier
// (of any path). An operation that conflicts with one of them gets a barrier before it:
//   - a read with a write by store_buffer or by a copy that was waited for;
//   - a store_buffer with any access, also with the reads of a dot_async, which end at its dot_wait;
//   - the issue of a copy with reads and stores, but for reads that a release follows, which the copy waits for. That a copy does not write
//   the slot that is being read, and is not read before it was
//     waited for, is what the loop's schedule sees to: an issue is no write for reads that follow.
// What an engine has copied in boxes every thread sees that waits for it.
//
// Buffers conflict where they are the same or their bytes overlap (-tilegpu-allocate-shared has run; without offsets all are distinct).
//
// Global memory is a hazard as well where a program reads what it wrote, or writes what it read or wrote (transforms/Aliasing): other
// threads may hold the same elements. None is needed where both are the same window or none in common, and each element has one thread that
// does both, or one warp where an engine writes for it (store_boxes). A copy reads global memory until it is waited for: behind the wait
// for boxes, which every thread waits for by itself, none of them is read any more, so that no barrier is needed for what such a copy has
// read. An atomic addition with an order conflicts with every access: one thread adds, and speaks for all threads that have met it at a
// barrier before, and for all that meet it behind.
//
// Buffers whose slots warps hand over (tilegpu.slot_commit) need none among their own accesses. In tilegpu.owner_only there cannot be one:
// what its owner reads there beside such slots lies in boxes, or was written before the loop. In front of one with `met` there is one.
//
// The region of tile.select_lazy may run in some warps only. A barrier that what it touches needs at its entry stands before the
// operation; where the region writes and reads shared memory itself there are barriers inside, and the lowering branches for the block.
//
// Assumption: A1 conditions of scf.if and scf.while, and loops' bounds, are the same in all threads. Test:
// tests/lit/gpu/place-barriers.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/layout/Queries.h"
#include "compiler/transforms/Aliasing.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_PLACEBARRIERSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// Accesses to global memory that one is compared with; a barrier for every so many costs less than comparing all pairs.
constexpr size_t kMostCompared = 64;

/// What was done to a buffer since the last barrier.
struct Done {
  bool read = false, stored = false, copied = false;
  bool operator==(const Done&) const = default;
};
struct State {
  llvm::MapVector<Value, Done> buffers;
  llvm::SetVector<Operation*> reads, writes;  ///< that accessed global memory

  void clear() { *this = {}; }
};

bool join(State& into, const State& other) {
  bool changed = false;
  for (Operation* op : other.reads) changed |= into.reads.insert(op);
  for (Operation* op : other.writes) changed |= into.writes.insert(op);
  for (const auto& [buffer, done] : other.buffers) {
    Done& known = into.buffers[buffer];
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

/// The layout of the access to a window, where each element is one thread's; else null.
const layout::LinearLayout* ownLayout(Operation* op) {
  if (!isa<tile::LoadOp, tile::StoreOp, tile::AccumulateOp, StoreBoxesOp>(op)) return nullptr;
  const layout::LinearLayout* layout = layoutOf(isa<tile::LoadOp>(op) ? op->getResult(0).getType() : op->getOperand(1).getType());
  return layout && layout::holdersOf(*layout).all() ? layout : nullptr;
}

/// Whether two accesses to one window leave each element to the same thread; or, where an engine writes for a warp what the warp's threads
/// have met before, to the same warp.
bool haveSameOwners(Operation* first, Operation* second) {
  const layout::LinearLayout *a = ownLayout(first), *b = ownLayout(second);
  if (!a || !b || *a == *b) return a && b;
  if (!isa<StoreBoxesOp>(first) && !isa<StoreBoxesOp>(second)) return false;
  return layout::warpsHoldSameRows(*a, *b);
}

class BarrierFlow {
 public:
  void run(Block& entry) {
    State state;
    block(entry, state);
    for (InitBarriersOp init : entry.getOps<InitBarriersOp>()) before.insert(init->getNextNode());
    for (Operation* op : before) {
      OpBuilder b(op);
      BarrierOp::create(b, op->getLoc());
    }
  }

 private:
  void block(Block& block, State& state) {
    for (Operation& op : block) visit(&op, state);
  }

  /// Notes whether the operation needs a barrier before it; the last visit decides.
  void need(Operation* op, bool needed, State& state) {
    if (!needed) {
      before.remove(op);
      return;
    }
    before.insert(op);
    state.clear();
  }

  void visit(Operation* op, State& state) {
    if (isa<BarrierOp>(op)) return state.clear();
    if (auto loop = dyn_cast<scf::ForOp>(op)) return visitLoop(state, [&](State& s) { block(*loop.getBody(), s); });
    if (auto loop = dyn_cast<scf::WhileOp>(op)) return visitWhile(loop, state);
    if (isa<tile::SelectLazyOp>(op)) return visitLazy(op, state);
    if (auto owned = dyn_cast<OwnerOnlyOp>(op); owned && owned.getMet()) need(op, true, state);
    if (op->getNumRegions() != 0) return visitBranches(op, state);
    SmallVector<BufferAccess, 2> accesses = accessesOf(op);
    const std::optional<transforms::MemoryAccess>& global = globalOf(op);
    if (accesses.empty() && !global) return;
    bool inBuffers = !isa<CopyWaitOp, DotWaitOp>(op) && conflictsInBuffers(accesses, state);
    need(op, inBuffers || (global && conflictsInGlobal(op, global->writes, state)), state);
    auto copy = dyn_cast<CopyAsyncOp>(op);
    if (global && !(copy && copy.isBulk())) (global->writes ? state.writes : state.reads).insert(op);
    keep(op, accesses, state);
  }

  static bool conflictsInBuffers(ArrayRef<BufferAccess> accesses, const State& state) {
    return llvm::any_of(accesses, [&](const BufferAccess& access) {
      return llvm::any_of(state.buffers, [&](const auto& entry) { return conflicts(access, entry.first, entry.second); });
    });
  }

  /// Of an access to global memory with those since the last barrier; too many to compare count as a conflict.
  bool conflictsInGlobal(Operation* op, bool writes, const State& state) {
    auto conflicting = [&](Operation* other) { return conflictInGlobal(other, op); };
    if (state.writes.size() + (writes ? state.reads.size() : 0) > kMostCompared) return true;
    return llvm::any_of(state.writes, conflicting) || (writes && llvm::any_of(state.reads, conflicting));
  }

  /// What the operation did, or what was waited for, since the last barrier.
  void keep(Operation* op, ArrayRef<BufferAccess> accesses, State& state) {
    auto waits = dyn_cast<CopyWaitOp>(op);
    if (waits && waits.isBulk()) return;
    if (waits)
      for (Value token : waits.getTokens())
        for (CopyAsyncOp copy : copiesOf(token)) state.reads.insert(copy);
    for (const BufferAccess& access : accesses) {
      Done& done = state.buffers[access.buffer];
      done.read |= !access.write;
      done.stored |= access.write && !access.copy;
      done.copied |= isa<CopyWaitOp, DotWaitOp>(op) && access.copy;
    }
  }

  /// Runs the body until the state at its entry holds what any trip leaves behind; `state` ends as no or any number of trips leave it.
  void visitLoop(State& state, llvm::function_ref<void(State&)> body) {
    State end;
    do {
      end = state;
      body(end);
    } while (join(state, end));
  }

  void visitWhile(scf::WhileOp loop, State& state) {
    State exit;
    visitLoop(state, [&](State& s) {
      block(*loop.getBeforeBody(), s);
      exit = s;
      block(*loop.getAfterBody(), s);
    });
    state = exit;
  }

  void visitBranches(Operation* op, State& state) {
    State out;
    if (!isa<scf::IfOp>(op) || op->getRegion(1).empty()) out = state;
    for (Region& region : op->getRegions()) {
      if (region.empty()) continue;
      State branch = state;
      block(region.front(), branch);
      join(out, branch);
    }
    state = out;
  }

  /// A barrier before the whole operation where that leaves none inside.
  void visitLazy(Operation* op, State& state) {
    before.remove(op);
    State inside = state;
    Block& region = op->getRegion(0).front();
    block(region, inside);
    auto hasBarrier = [&] { return llvm::any_of(before, [&](Operation* inner) { return op->isProperAncestor(inner); }); };
    if (hasBarrier()) {
      State clean;
      block(region, clean);
      if (!hasBarrier()) {
        need(op, true, state);
        inside = clean;
      } else {
        block(region, inside = state);
      }
    }
    join(state, inside);
  }

  const std::optional<transforms::MemoryAccess>& globalOf(Operation* op) {
    auto [known, fresh] = accesses.try_emplace(op);
    if (fresh) known->second = transforms::accessOf(op);
    return known->second;
  }

  /// Two accesses of which one writes; the same operation in two trips of a loop, too.
  bool conflictInGlobal(Operation* first, Operation* second) {
    if (isUnorderedAdd(first) && isUnorderedAdd(second)) return false;
    transforms::MemoryAccess a = *globalOf(first), b = *globalOf(second);
    switch (aliasing.overlap(a, b)) {
      case transforms::Overlap::Never:
        return false;
      case transforms::Overlap::SameOrNever:
        return !haveSameOwners(first, second);
      case transforms::Overlap::Maybe:
        return true;
    }
    llvm_unreachable("all are listed");
  }

  transforms::Aliasing aliasing;
  llvm::DenseMap<Operation*, std::optional<transforms::MemoryAccess>> accesses;
  llvm::SetVector<Operation*> before;
};

class PlaceBarriersPass : public impl::PlaceBarriersPassBase<PlaceBarriersPass> {
 public:
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration()) BarrierFlow().run(func.getBody().front());
  }
};

}  // namespace

}  // namespace fattn::tilegpu
