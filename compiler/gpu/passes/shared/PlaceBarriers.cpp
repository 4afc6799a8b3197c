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
// On machines whose barriers order shared memory alone (Barriers::orderAll is false), one that lies between conflicting accesses to global
// memory says that it orders that, too: `{global}`. A barrier that stands for another reason serves for both, but for one in a loop that
// the later access is not in.
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
#include "compiler/gpu/passes/shared/BarrierState.h"
#include "compiler/transforms/Aliasing.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_PLACEBARRIERSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// Accesses to global memory that one is compared with; a barrier for every so many costs less than comparing all pairs.
constexpr size_t kMostCompared = 64;

class BarrierFlow {
 public:
  /// `orderAll`: every barrier of the machine orders global memory.
  explicit BarrierFlow(bool orderAll) : orderAll(orderAll) {}

  void run(Block& entry) {
    BarrierState state;
    block(entry, state);
    for (InitBarriersOp init : entry.getOps<InitBarriersOp>()) before.insert(init->getNextNode());
    for (Operation* op : before) {
      OpBuilder b(op);
      BarrierOp::create(b, op->getLoc(), ordering.contains(op));
    }
    for (Operation* op : ordering)
      if (auto barrier = dyn_cast<BarrierOp>(op)) barrier.setGlobal(true);
  }

 private:
  void block(Block& block, BarrierState& state) {
    for (Operation& op : block) visit(&op, state);
  }

  /// Notes whether the operation needs a barrier before it; the last visit decides.
  void need(Operation* op, bool needed, BarrierState& state) {
    if (!needed) {
      before.remove(op);
      return;
    }
    before.insert(op);
    meet(op, state);
  }

  void meet(Operation* at, BarrierState& state) const { state.meet(at, orderAll || ordering.contains(at)); }

  void visit(Operation* op, BarrierState& state) {
    if (isa<BarrierOp>(op)) return meet(op, state);
    if (auto loop = dyn_cast<scf::ForOp>(op)) return visitLoop(state, [&](BarrierState& s) { block(*loop.getBody(), s); });
    if (auto loop = dyn_cast<scf::WhileOp>(op)) return visitWhile(loop, state);
    if (isa<tile::SelectLazyOp>(op)) return visitLazy(op, state);
    if (auto owned = dyn_cast<OwnerOnlyOp>(op); owned && owned.getMet()) need(op, true, state);
    if (op->getNumRegions() != 0) return visitBranches(op, state);
    SmallVector<BufferAccess, 2> accesses = accessesOf(op);
    const std::optional<transforms::MemoryAccess>& global = globalOf(op);
    if (accesses.empty() && !global) return;
    bool inBuffers = !isa<CopyWaitOp, DotWaitOp>(op) && conflictsInBuffers(accesses, state);
    const bool inGlobal = global && (conflictsInGlobal(op, global->writes, state) || !orderBehind(op, state));
    if (inGlobal && !orderAll) ordering.insert(op);
    need(op, inBuffers || inGlobal, state);
    auto copy = dyn_cast<CopyAsyncOp>(op);
    if (global && !(copy && copy.isBulk())) (global->writes ? state.writes : state.reads).insert(op);
    keep(op, accesses, state);
  }

  static bool conflictsInBuffers(ArrayRef<BufferAccess> accesses, const BarrierState& state) {
    return llvm::any_of(accesses, [&](const BufferAccess& access) {
      return llvm::any_of(state.buffers, [&](const auto& entry) { return conflicts(access, entry.first, entry.second); });
    });
  }

  /// Of an access to global memory with those since the last barrier; too many to compare count as a conflict.
  bool conflictsInGlobal(Operation* op, bool writes, const BarrierState& state) {
    auto conflicting = [&](Operation* other) { return conflictInGlobal(other, op); };
    if (state.writes.size() + (writes ? state.reads.size() : 0) > kMostCompared) return true;
    return llvm::any_of(state.writes, conflicting) || (writes && llvm::any_of(state.reads, conflicting));
  }

  /// Has barriers that stand between the access and those that it conflicts with order global memory. Not in a loop that the access is not
  /// in, where that would be for each trip: one in front of the access is better, and this says false.
  bool orderBehind(Operation* op, const BarrierState& state) {
    if (state.unordered.size() > kMostCompared) return false;
    SmallVector<Operation*> last;
    for (const auto& [access, barriers] : state.unordered)
      if ((globalOf(op)->writes || globalOf(access)->writes) && conflictInGlobal(access, op)) llvm::append_range(last, barriers);
    auto serves = [&](Operation* barrier) {
      auto loop = barrier->getParentOfType<LoopLikeOpInterface>();
      return !loop || loop->isProperAncestor(op);
    };
    if (!llvm::all_of(last, serves)) return false;
    ordering.insert_range(last);
    return true;
  }

  /// What the operation did, or what was waited for, since the last barrier.
  void keep(Operation* op, ArrayRef<BufferAccess> accesses, BarrierState& state) {
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
  void visitLoop(BarrierState& state, llvm::function_ref<void(BarrierState&)> body) {
    BarrierState end;
    do {
      end = state;
      body(end);
    } while (state.join(end));
  }

  void visitWhile(scf::WhileOp loop, BarrierState& state) {
    BarrierState exit;
    visitLoop(state, [&](BarrierState& s) {
      block(*loop.getBeforeBody(), s);
      exit = s;
      block(*loop.getAfterBody(), s);
    });
    state = exit;
  }

  void visitBranches(Operation* op, BarrierState& state) {
    BarrierState out;
    if (!isa<scf::IfOp>(op) || op->getRegion(1).empty()) out = state;
    for (Region& region : op->getRegions()) {
      if (region.empty()) continue;
      BarrierState branch = state;
      block(region.front(), branch);
      out.join(branch);
    }
    state = out;
  }

  /// A barrier before the whole operation where that leaves none inside.
  void visitLazy(Operation* op, BarrierState& state) {
    before.remove(op);
    BarrierState inside = state;
    Block& region = op->getRegion(0).front();
    block(region, inside);
    auto hasBarrier = [&] { return llvm::any_of(before, [&](Operation* inner) { return op->isProperAncestor(inner); }); };
    if (hasBarrier()) {
      BarrierState clean;
      block(region, clean);
      if (!hasBarrier()) {
        if (!orderAll && !transforms::accessesIn(op).empty()) ordering.insert(op);
        need(op, true, state);
        inside = clean;
      } else {
        block(region, inside = state);
      }
    }
    state.join(inside);
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

  bool orderAll;
  transforms::Aliasing aliasing;
  llvm::DenseMap<Operation*, std::optional<transforms::MemoryAccess>> accesses;
  llvm::SetVector<Operation*> before;
  llvm::SetVector<Operation*> ordering;  ///< of these and of barriers that were there: those that order global memory
};

class PlaceBarriersPass : public impl::PlaceBarriersPassBase<PlaceBarriersPass> {
 public:
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration()) BarrierFlow(!func->hasAttr(kTargetAttr) || targetOf(func).barriers.orderAll).run(func.getBody().front());
  }
};

}  // namespace

}  // namespace fattn::tilegpu
