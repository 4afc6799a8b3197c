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
// loop it does not pass a copy: the barrier behind the wait, which the copied data needs, is also the one behind which other threads have
// finished reading the slots that the copies below refill, and one barrier then serves both.
//
// A wait for an engine's copy of boxes passes other copies: it is for its own slot.
//
// A wait for a dot moves down its block to the first operation that uses its result, that writes a buffer which the dot reads, that
// computes what takes over the registers of an operand in the next trip, or that nothing may be in flight beyond (tilegpu.owner_only).
// Releases of these buffers on the way come along: the dot reads them until then.
//
// `pending` is the number of copies that are younger than those waited for on every path to the wait. A forward data-flow over structured
// control flow counts, for each token, the copies issued since its own (the least of all paths); loops are followed until nothing
// changes. Every copy counts, whether its predicate holds or not: its group is closed in any case. Dots are counted in the same way, by
// themselves: each kind completes in the order of its issue. A dot that a wait for another one has covered on every path is not waited for.
//
// Test: tests/lit/gpu/place-waits.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/transforms/Aliasing.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_PLACEWAITSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

bool isInLoop(Operation* op) { return op->getParentOfType<LoopLikeOpInterface>() != nullptr; }

void sink(CopyWaitOp wait, transforms::Aliasing& aliasing) {
  llvm::SmallSetVector<Value, 4> buffers;
  SmallVector<transforms::MemoryAccess> reads;
  for (Value token : wait.getTokens())
    for (CopyAsyncOp copy : copiesOf(token)) llvm::append_range(reads, transforms::accessesIn(copy));
  auto overwrites = [&](Operation* op) {
    return llvm::any_of(transforms::accessesIn(op), [&](const transforms::MemoryAccess& access) {
      return access.writes && llvm::any_of(reads, [&](const transforms::MemoryAccess& read) {
               return aliasing.overlap(read, access) != transforms::Overlap::Never;
             });
    });
  };
  for (const BufferAccess& access : accessesOf(wait)) buffers.insert(access.buffer);
  bool inLoop = isInLoop(wait);
  Operation* place = wait->getNextNode();
  for (; !place->hasTrait<OpTrait::IsTerminator>(); place = place->getNextNode()) {
    auto copy = dyn_cast<CopyAsyncOp>(place);
    if (copy && copy.isBulk() && wait.isBulk()) continue;
    bool stop = isa<BarrierOp>(place) || touches(place, buffers) || (inLoop && copy && !copy.isBulk());
    if (stop) return wait->moveBefore(place);
    if (overwrites(place)) return;
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
  llvm::SmallPtrSet<Operation*, 4> successors = successorsOf(wait.getValue().getDefiningOp<DotAsyncOp>().getA());
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

/// For each token of a copy, the copies issued since its own; for each dot in flight, the dots. From kComplete on, of a dot: it is
/// complete.
using Ages = llvm::DenseMap<Value, int64_t>;
constexpr int64_t kComplete = int64_t{1} << 32;

/// The younger state at a join: what either path knows, the lesser count of both. True if `into` changes.
bool join(Ages& into, const Ages& other) {
  bool changed = false;
  for (auto [token, age] : other) {
    auto [it, fresh] = into.try_emplace(token, age);
    if (!fresh && age < it->second)
      it->second = age;
    else if (!fresh)
      continue;
    changed = true;
  }
  return changed;
}

class AgeFlow {
 public:
  void block(Block& block, Ages& ages) {
    for (Operation& op : block) visit(&op, ages);
  }

 private:
  static void bind(Ages& ages, ValueRange to, ValueRange from) {
    Ages bound;
    for (auto [t, f] : llvm::zip(to, from))
      if (auto it = ages.find(f); it != ages.end()) bound[t] = it->second;
    for (auto [token, age] : bound) ages[token] = age;
  }

  void visit(Operation* op, Ages& ages) {
    auto copy = dyn_cast<CopyAsyncOp>(op);
    auto bulkWait = dyn_cast<CopyWaitOp>(op);
    if ((copy && copy.isBulk()) || (bulkWait && bulkWait.isBulk())) return;
    if (isa<CopyAsyncOp, DotAsyncOp>(op)) {
      Value issued = op->getResult(0);
      for (auto& [value, age] : ages)
        if (isa<TokenType>(value.getType()) == isa<TokenType>(issued.getType())) ++age;
      ages[issued] = 0;
    } else if (auto dot = dyn_cast<DotWaitOp>(op)) {
      const int64_t age = ages.lookup(dot.getValue());
      dot.setCovered(age >= kComplete);
      if (dot.getCovered()) {
        dot.removePendingAttr();
        return;
      }
      dot.setPending(age);
      for (auto& [value, other] : ages)
        if (!isa<TokenType>(value.getType()) && other >= age) other = kComplete;
    } else if (auto wait = dyn_cast<CopyWaitOp>(op)) {
      int64_t pending = std::numeric_limits<int64_t>::max();
      for (Value token : wait.getTokens())
        if (auto it = ages.find(token); it != ages.end()) pending = std::min(pending, it->second);
      wait.setPending(pending == std::numeric_limits<int64_t>::max() ? 0 : pending);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      visitFor(loop, ages);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      visitWhile(loop, ages);
    } else if (op->getNumRegions() != 0) {
      visitBranches(op, ages);
    }
  }

  void visitFor(scf::ForOp loop, Ages& ages) {
    Ages entry = ages;
    bind(entry, loop.getRegionIterArgs(), loop.getInitArgs());
    Ages end;
    do {
      end = entry;
      block(*loop.getBody(), end);
      bind(end, loop.getRegionIterArgs(), loop.getYieldedValues());
    } while (join(entry, end));
    join(ages, end);
    bind(ages, loop.getResults(), loop.getRegionIterArgs());
    for (auto [result, argument] : llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
      if (auto it = entry.find(argument); it != entry.end()) ages[result] = it->second;
  }

  void visitWhile(scf::WhileOp loop, Ages& ages) {
    Ages entry = ages;
    bind(entry, loop.getBeforeArguments(), loop.getInits());
    Ages before, end;
    do {
      before = entry;
      block(*loop.getBeforeBody(), before);
      end = before;
      bind(end, loop.getAfterArguments(), loop.getConditionOp().getArgs());
      block(*loop.getAfterBody(), end);
      bind(end, loop.getBeforeArguments(), loop.getYieldOp()->getOperands());
    } while (join(entry, end));
    ages = before;
    bind(ages, loop.getResults(), loop.getConditionOp().getArgs());
  }

  /// scf.if, and regions that may or may not run.
  void visitBranches(Operation* op, Ages& ages) {
    bool one = isa<scf::IfOp>(op) && !op->getRegion(1).empty();  // exactly one of them runs
    Ages out;
    if (!one) out = ages;
    for (Region& region : op->getRegions()) {
      if (region.empty()) continue;
      Ages branch = ages;
      block(region.front(), branch);
      if (isa<scf::IfOp>(op)) bind(branch, op->getResults(), region.front().getTerminator()->getOperands());
      join(out, branch);
    }
    ages = out;
  }
};

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
      SmallVector<DotWaitOp> dots;
      func.walk([&](DotWaitOp wait) { dots.push_back(wait); });
      for (DotWaitOp wait : llvm::reverse(dots)) sink(wait);
      Ages ages;
      AgeFlow().block(func.getBody().front(), ages);
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
