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
//   - a store_buffer with any access;
//   - the issue of a copy with reads and stores. That a copy does not write the slot that is being read, and is not read before it was
//     waited for, is what the loop's schedule sees to: an issue is no write for reads that follow.
// Buffers conflict where they are the same or their bytes overlap (-tilegpu-allocate-shared has run; without offsets all are distinct).
//
// Global memory is a hazard as well where a program reads what it wrote, or writes what it read: other threads may hold the same elements.
// Pointers that come from different arguments of the kernel lead to different arrays, those that lead to none may lead anywhere.
//
// The region of tile.select_lazy may run in some warps only. A barrier that what it touches needs at its entry stands before the
// operation; where the region writes and reads shared memory itself there are barriers inside, and the lowering branches for the block.
//
// Assumption: A1 conditions of scf.if and scf.while, and loops' bounds, are the same in all threads. Test:
// tests/lit/gpu/place-barriers.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

/// What was done to a buffer since the last barrier.
struct Done {
  bool read = false, stored = false, copied = false;
  bool operator==(const Done&) const = default;
};
struct State {
  llvm::MapVector<Value, Done> buffers;
  llvm::SetVector<Operation*> global;  ///< that accessed global memory

  void clear() { *this = {}; }
};

bool join(State& into, const State& other) {
  bool changed = false;
  for (Operation* op : other.global) changed |= into.global.insert(op);
  for (const auto& [buffer, done] : other.buffers) {
    Done& known = into.buffers[buffer];
    Done both{known.read || done.read, known.stored || done.stored, known.copied || done.copied};
    changed |= !(both == known);
    known = both;
  }
  return changed;
}

bool overlap(Value a, Value b) {
  if (a == b) return true;
  auto first = a.getDefiningOp<AllocOp>(), second = b.getDefiningOp<AllocOp>();
  if (!first || !second || !first.getOffset() || !second.getOffset()) return false;
  auto begin = [](AllocOp alloc) { return static_cast<int64_t>(*alloc.getOffset()); };
  auto end = [&](AllocOp alloc) { return begin(alloc) + alloc.getResult().getType().getBytes(); };
  return begin(first) < end(second) && begin(second) < end(first);
}

bool conflicts(const BufferAccess& access, Value buffer, const Done& done) {
  if (!overlap(access.buffer, buffer)) return false;
  if (!access.write) return done.stored || done.copied;
  if (!access.copy) return done.read || done.stored || done.copied;
  // A thread writes the same places with every copy into a buffer, and its copies complete in order.
  return done.read || done.stored || (done.copied && access.buffer != buffer);
}

/// The pointer of an access to global memory; null for other operations.
Value globalPointer(Operation* op) {
  if (auto copy = dyn_cast<CopyAsyncOp>(op)) return copy.getPtr();
  return isa<tile::LoadOp, tile::StoreOp, tile::GatherOp, tile::ScatterOp, tile::AtomicAddOp>(op) ? op->getOperand(0) : Value();
}

/// The argument of the kernel that a pointer comes from; null where that is not known.
Value arrayOf(Value pointer) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(pointer)) {
      Operation* parent = argument.getOwner()->getParentOp();
      if (isa<func::FuncOp>(parent)) return pointer;
      auto loop = dyn_cast<scf::ForOp>(parent);
      OpOperand* init = loop ? loop.getTiedLoopInit(argument) : nullptr;
      if (!init) return {};
      pointer = init->get();
      continue;
    }
    Operation* def = pointer.getDefiningOp();
    if (!isa<tile::MakeBlockPtrOp, tile::AdvanceOp, tile::AddPtrOp, tile::AssumeDivisibleOp, tile::SplatOp, tile::BroadcastOp,
             tile::ExpandDimsOp, tile::TransOp, tile::ReshapeOp, ConvertLayoutOp>(def))
      return {};
    pointer = def->getOperand(0);
  }
}

/// The layout that a thread's part of the access follows from.
Attribute accessLayout(Operation* op) {
  if (auto copy = dyn_cast<CopyAsyncOp>(op)) return copy.getLayout();
  Type type = isa<tile::StoreOp, tile::ScatterOp>(op) ? op->getOperand(1).getType() : op->getResult(0).getType();
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getEncoding() : Attribute();
}

bool conflictInGlobal(Operation* first, Operation* second) {
  auto writes = [](Operation* op) { return isa<tile::StoreOp, tile::ScatterOp, tile::AtomicAddOp>(op); };
  if (first == second || (!writes(first) && !writes(second))) return false;
  if (isa<tile::AtomicAddOp>(first) && isa<tile::AtomicAddOp>(second)) return false;
  Value a = arrayOf(globalPointer(first)), b = arrayOf(globalPointer(second));
  if (a && b && a != b) return false;
  // The same window in the same layout: every thread meets its own elements only. In a loop the pointer may have moved between the two.
  bool same = globalPointer(first) == globalPointer(second) && accessLayout(first) == accessLayout(second);
  return !same || !accessLayout(first) || first->getParentOfType<LoopLikeOpInterface>();
}

class BarrierFlow {
 public:
  void run(Block& entry) {
    State state;
    block(entry, state);
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
    if (op->getNumRegions() != 0) return visitBranches(op, state);
    SmallVector<BufferAccess, 2> accesses = accessesOf(op);
    bool wait = isa<CopyWaitOp>(op), global = globalPointer(op) != nullptr;
    if (accesses.empty() && !global) return;
    bool needed = !wait && llvm::any_of(accesses, [&](const BufferAccess& access) {
      return llvm::any_of(state.buffers, [&](const auto& entry) { return conflicts(access, entry.first, entry.second); });
    });
    needed |= global && llvm::any_of(state.global, [&](Operation* other) { return conflictInGlobal(other, op); });
    need(op, needed, state);
    if (global) state.global.insert(op);
    for (const BufferAccess& access : accesses) {
      Done& done = state.buffers[access.buffer];
      done.read |= !access.write;
      done.stored |= access.write && !access.copy;
      done.copied |= wait;
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

  llvm::SetVector<Operation*> before;
};

class PlaceBarriersPass : public PassWrapper<PlaceBarriersPass, OperationPass<ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlaceBarriersPass)
  StringRef getArgument() const override { return "tilegpu-place-barriers"; }
  StringRef getDescription() const override { return "Insert barriers from the accesses to shared memory"; }
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration()) BarrierFlow().run(func.getBody().front());
  }
};

}  // namespace

std::unique_ptr<Pass> createPlaceBarriersPass() { return std::make_unique<PlaceBarriersPass>(); }

}  // namespace fattn::tilegpu
