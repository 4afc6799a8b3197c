// SPDX-License-Identifier: Apache-2.0
// A schedule of a loop's graph as operations in their order, each with its stage.
#include "compiler/gpu/passes/loops/LoopGraph.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

/// What operations that follow from scalars become in the stage of who uses them.
class FreeOps {
 public:
  FreeOps(ArrayRef<Operation*> operations, StagedOps& order) : order(order) {
    for (Operation* op : operations) origin[op] = op;
  }

  /// Makes `user` use the operations of its own stage, and puts these before it.
  void give(Operation* user, unsigned stage) {
    user->walk([&](Operation* inner) {
      for (OpOperand& operand : inner->getOpOperands()) {
        Operation* def = operand.get().getDefiningOp();
        auto it = def ? origin.find(def) : origin.end();
        if (it != origin.end()) operand.set(inStage(it->second, stage)->getResult(cast<OpResult>(operand.get()).getResultNumber()));
      }
    });
  }

  /// The operation as that stage computes it: itself for the first stage that asks, else a clone.
  Operation* inStage(Operation* op, unsigned stage) {
    auto [it, fresh] = byStage.try_emplace({op, stage}, op);
    if (!fresh) return it->second;
    if (!used.insert(op).second) it->second = OpBuilder(op).clone(*op);
    Operation* mine = it->second;
    origin[mine] = op;
    give(mine, stage);
    order.push_back({mine, stage});
    return mine;
  }

 private:
  StagedOps& order;
  llvm::DenseMap<Operation*, Operation*> origin;
  llvm::SmallPtrSet<Operation*, 16> used;
  std::map<std::pair<Operation*, unsigned>, Operation*> byStage;
};

}  // namespace

bool keepsText(const LoopGraph& graph, const gpu::Schedule& schedule) {
  gpu::Schedule order = schedule;
  order.ahead = {};
  if (order != gpu::textOrder(schedule.size)) return false;
  if (!graph.queued) return true;
  Operation* last = nullptr;
  for (const auto& operations : graph.operations)
    for (Operation* op : operations) {
      if (last && !last->isBeforeInBlock(op)) return false;
      last = op;
    }
  return true;
}

StagedOps stagedOps(const LoopGraph& graph, const gpu::Schedule& schedule) {
  StagedOps order;
  FreeOps free(graph.free, order);
  // What is carried from trip to trip comes first, so that later stages find it in earlier ones.
  for (Operation* op : graph.free)
    if (llvm::any_of(op->getUsers(), [&](Operation* user) { return user->hasTrait<OpTrait::IsTerminator>(); })) free.inStage(op, 0);
  for (int place = 0; place < schedule.size; ++place) {
    int node = schedule.order[place];
    unsigned stage = schedule.stage[node];
    for (Operation* op : graph.operations[node]) {
      free.give(op, stage);
      order.push_back({op, stage});
    }
  }
  for (Operation* op : graph.free) free.inStage(op, 0);
  return order;
}

}  // namespace fattn::tilegpu
