// SPDX-License-Identifier: Apache-2.0
// What an exact side needs of large tiles that nothing else needs any more is computed again there, so that it takes no registers on the
// way:
//
//   %s = tile.dot %a, %b, %zero                       %s = tile.dot %a, %b, %zero
//   %p = math.exp2 %s                                 %p = math.exp2 %s
//   %z = tile.select_lazy %any usual(%p) {      =>    %z = tile.select_lazy %any usual(%p) {
//     %r = tile.reduce %s ...                           %s2 = tile.dot %a, %b, %zero
//                                                       %r = tile.reduce %s2 ...
//
// The exact side is rarely taken: its price does not count, registers on the usual side do. Here %s ends where %p is computed, in place.
// Assumptions: A1 the value and what it is computed from, up to values that live on anyway, stand in the block of the select_lazy; A2 they
// are free of effects, or loads of buffers that nothing writes in between; A3 every other use comes before the select_lazy; A4 the tile
// takes at least kLeastRegisters of a thread; A5 a dot is one of registers: instructions of several warps cannot stand in a branch that
// single warps take. Test: tests/lit/gpu/rematerialize-lazy.mlir.
#include "compiler/gpu/passes/lazy/RematerializeLazy.h"

#include <map>

#include "compiler/gpu/dialect/SourceLabels.h"
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/DotShapes.h"
#include "compiler/gpu/passes/Passes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_REMATERIALIZELAZYPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

constexpr int64_t kLeastRegisters = 16;            // fewer are not worth the code
constexpr int64_t kFirstClone = int64_t{1} << 32;  // beyond those that PipelineLoop numbers by their fetches

/// Numbers for what is computed again. A select_lazy that stands in a loop and in a trip in front of it is one of the program, and gets
/// one number: it repeats the same accesses, and is the same one among the block's that do.
class CloneNumbers {
 public:
  int64_t number(Block* block, const llvm::SetVector<Operation*>& slice) {
    Accesses accesses;
    for (Operation* op : slice)
      if (auto label = sourceLabelOf(op)) accesses.emplace_back(label->source, label->clone);
    int64_t among = seen[{block, accesses}]++;
    return kFirstClone + numbers.try_emplace({accesses, among}, static_cast<int64_t>(numbers.size())).first->second;
  }

 private:
  using Accesses = std::vector<std::pair<int64_t, int64_t>>;
  std::map<std::pair<Block*, Accesses>, int64_t> seen;
  std::map<std::pair<Accesses, int64_t>, int64_t> numbers;
};

class Rematerializer {
 public:
  Rematerializer(tile::SelectLazyOp lazy, CloneNumbers& clones) : lazy(lazy), block(lazy->getBlock()), clones(clones) {}

  /// Whether the exact side computes the value again.
  bool takes(Value value) {
    llvm::SetVector<Operation*> slice;
    return isCandidate(value) && collect(value, slice);
  }

  void run() {
    llvm::SetVector<Value> candidates;
    lazy.getExact().walk([&](Operation* op) {
      for (Value operand : op->getOperands())
        if (isCandidate(operand)) candidates.insert(operand);
    });
    for (Value value : candidates) rematerialize(value);
  }

 private:
  bool isCandidate(Value value) { return dies(value) && registersOf(value.getType()) >= kLeastRegisters; }

  bool isInside(Operation* op) { return lazy.getExact().isAncestor(op->getParentRegion()); }

  /// A1, A3: computed in this block, and used outside of the exact side before it only.
  bool dies(Value value) {
    Operation* op = value.getDefiningOp();
    if (!op || op->getBlock() != block) return false;
    return llvm::all_of(value.getUsers(), [&](Operation* user) {
      if (isInside(user)) return true;
      Operation* here = block->findAncestorOpInBlock(*user);
      return here && here->isBeforeInBlock(lazy);
    });
  }

  /// A2: whether the operation gives the same where the select_lazy stands.
  bool isRepeatable(Operation* op) {
    if (auto dot = dyn_cast<tile::DotOp>(op); dot && isReadFromShared(dot, 1)) return false;
    if (isMemoryEffectFree(op)) return true;
    auto load = dyn_cast<LoadBufferOp>(op);
    return load && !isWrittenBetween(load, lazy, load.getBuffer());
  }

  /// Everything to compute again for `value`, operands first; false where something cannot be.
  bool collect(Value value, llvm::SetVector<Operation*>& slice) {
    Operation* op = value.getDefiningOp();
    if (!dies(value) || isa<AllocOp>(op)) return true;  // lives on, as memory does
    if (slice.contains(op)) return true;
    if (!isRepeatable(op)) return false;
    WalkResult ok = op->walk([&](Operation* inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentRegion()->getParentOp()) && !collect(operand, slice)) return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (ok.wasInterrupted()) return false;
    slice.insert(op);
    return true;
  }

  void rematerialize(Value value) {
    llvm::SetVector<Operation*> slice;
    if (!collect(value, slice)) return;
    OpBuilder b = OpBuilder::atBlockBegin(&lazy.getExact().front());
    IRMapping map;
    int64_t number = clones.number(block, slice);
    for (Operation* op : slice) relabelClone(b.clone(*op, map), number);
    value.replaceUsesWithIf(map.lookup(value), [&](OpOperand& use) { return isInside(use.getOwner()); });
  }

  tile::SelectLazyOp lazy;
  Block* block;
  CloneNumbers& clones;
};

class RematerializeLazyPass : public impl::RematerializeLazyPassBase<RematerializeLazyPass> {
 public:
  void runOnOperation() override {
    CloneNumbers clones;
    getOperation().walk([&](tile::SelectLazyOp lazy) { Rematerializer(lazy, clones).run(); });
  }
};

}  // namespace

bool isComputedAgain(Value value, tile::SelectLazyOp lazy) {
  CloneNumbers unused;
  return Rematerializer(lazy, unused).takes(value);
}

}  // namespace fattn::tilegpu
