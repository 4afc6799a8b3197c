// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/nests/Groups.h"

#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/nests/Evaluate.h"
#include "compiler/cpu/nests/Nest.h"
#include "compiler/cpu/state/Emission.h"
#include "compiler/cpu/state/Expressions.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// Whether a value needs what the group that waits computes, other than at the same index of an elementwise value.
bool dependsOnGroup(const Emission& e, Value value) {
  bool depends = false;
  collectLeaves(e.tiles, value, true, [&](Value v, bool same) {
    for (const Root& root : e.group.roots) {
      if (root.value && root.value == v && !same) depends = true;
      if (!root.value && v.getDefiningOp() == root.op) depends = true;
    }
  });
  return depends;
}

bool joins(const Emission& e, const Root& root) {
  const Group& group = e.group;
  if (group.empty() || isShuffle(root.op) || isShuffle(group.roots[0].op)) return false;
  if (tileType(root.over()).getShape() != ArrayRef<int64_t>(group.shape) || e.lanes.lane(root.over()) != group.lane) return false;
  auto reduce = dyn_cast<tile::ReduceOp>(root.op);
  if (reduce && group.reduced >= 0 && group.reduced != static_cast<int>(reduce.getAxis())) return false;
  return llvm::none_of(root.computed(), [&](Value v) { return dependsOnGroup(e, v); });
}

/// What the group computes on the way, at the same index as its roots.
llvm::SetVector<Value> computedInside(const Emission& e, const Group& group) {
  llvm::SetVector<Value> inside;
  for (const Root& root : group.roots)
    for (Value computed : root.computed())
      collectLeaves(e.tiles, computed, true, [&](Value v, bool same) {
        if (same && isTransparent(e.tiles, v.getDefiningOp())) inside.insert(v);
      });
  return inside;
}

/// Costly values inside the group that somebody outside of it will need, too, are stored on the way.
void materializeEscaping(const Emission& e, Group& group) {
  llvm::SetVector<Value> inside = computedInside(e, group);
  auto readsOutside = [&](Operation* user) {
    return !group.computes(user) && !e.liveness.isDone(user) && !(user->getNumResults() == 1 && inside.contains(user->getResult(0)));
  };
  for (Value v : inside) {
    bool isRoot = llvm::any_of(group.roots, [&](const Root& root) { return root.value == v; });
    // What a branch or a loop stores on its way may not be there afterwards: such values belong to the block that defines them.
    if (isRoot || isCheap(e.tiles, v) || v.getParentBlock() != group.roots[0].op->getBlock()) continue;
    if (llvm::any_of(v.getUsers(), readsOutside)) group.roots.push_back({v.getDefiningOp(), v});
  }
}

void placeResults(Emission& e, tile::ReduceOp reduce) {
  for (Value r : reduce.getResults()) e.tiles.placeOwned(r, e.buffers.allocate(tileType(r), e.lanes.lane(r)));
}

void emitGroup(Emission& e, const Group& group) {
  e.b.setLoc(group.roots[0].op->getLoc());
  SmallVector<tile::ReduceOp> reductions;
  for (const Root& root : group.roots) {
    if (root.value) continue;
    reductions.push_back(cast<tile::ReduceOp>(root.op));
    placeResults(e, reductions.back());
  }
  if (!reductions.empty()) return emitReductionNest(e, group, reductions);
  int lane = isShuffle(group.roots[0].op) ? -1 : group.lane;
  nestOver(e, group.shape, lane, [&](const Point& p) {
    for (const Root& root : group.roots) storeAt(e.b, e.tiles.at(root.value), p, evalVector(e, root.value, p));
  });
}

}  // namespace

void addRoot(Emission& e, Root root) {
  constexpr size_t kMostRoots = 32;  // each is compared with all others
  if (e.group.roots.size() >= kMostRoots || !joins(e, root)) flush(e);
  if (e.group.empty()) {
    e.group.shape = llvm::to_vector(tileType(root.over()).getShape());
    e.group.lane = e.lanes.lane(root.over());
  }
  if (!root.value) e.group.reduced = cast<tile::ReduceOp>(root.op).getAxis();
  e.group.roots.push_back(root);
}

void flush(Emission& e) {
  if (e.group.empty()) return;
  e.liveness.forgetUsers();
  materializeEscaping(e, e.group);
  SmallVector<std::pair<Value, View>> placed;
  for (const Root& root : e.group.roots)
    if (root.value) placed.push_back({root.value, placeRoot(e, root.value)});
  for (auto& [value, view] : placed) {
    e.tiles.placeOwned(value, view);
    e.computing.insert(value);
  }
  Group emitted = std::exchange(e.group, {});
  emitGroup(e, emitted);
  e.computing.clear();
  for (const Root& root : emitted.roots) e.liveness.markDone(root.op);
}

int64_t recomputedOps(const Emission& e, Value value) {
  auto known = e.expressionSize.find(value);
  return known == e.expressionSize.end() || !isTransparent(e.tiles, value.getDefiningOp()) ? 0 : known->second;
}

void shareBefore(Emission& e, Operation* user, Value value) {
  constexpr int64_t kWorthMemory = 16;
  Operation* op = value.getDefiningOp();
  if (recomputedOps(e, value) < kWorthMemory || op->getBlock() != user->getBlock()) return;
  if (llvm::none_of(value.getUsers(), [&](Operation* other) { return other != user && !e.liveness.isDone(other); })) return;
  addRoot(e, {op, value});
  flush(e);
}

}  // namespace fattn::cpu
