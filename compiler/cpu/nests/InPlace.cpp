// SPDX-License-Identifier: Apache-2.0
// The buffers of a group's values: a value may overwrite, element by element, one that is read for it and never again.
#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/nests/Groups.h"
#include "compiler/cpu/state/Emission.h"
#include "compiler/cpu/state/Expressions.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// Does the group read `leaf` only at the index at which it writes?
bool readAtSameIndex(const Emission& e, Value leaf) {
  bool identity = true;
  for (const Root& root : e.group.roots)
    for (Value v : root.computed()) collectLeaves(e.tiles, v, true, [&](Value x, bool same) { identity &= x != leaf || same; });
  return identity;
}

/// Does every use, through recomputed values, end in this group? A pending root counts as its own end.
bool readByGroupOnly(const Emission& e, Value leaf) {
  SmallVector<Value> work = {leaf};
  llvm::SmallPtrSet<Operation*, 16> seen;
  while (!work.empty()) {
    for (Operation* user : work.pop_back_val().getUsers()) {
      if (!seen.insert(user).second || e.liveness.isDone(user) || e.group.computes(user)) continue;
      if (!isTransparent(e.tiles, user)) return false;
      work.push_back(user->getResult(0));
    }
  }
  return true;
}

/// True if `root` may overwrite the memory of `leaf`: same place, same type, read only here and only at the same index.
bool mayReplace(Emission& e, Value leaf, Value root) {
  View* own = e.tiles.findOwn(leaf);
  return own && own->lane == e.lanes.lane(root) && leaf.getType() == root.getType() && leaf.getParentBlock() == root.getParentBlock() &&
         readAtSameIndex(e, leaf) && readByGroupOnly(e, leaf);
}

}  // namespace

View placeRoot(Emission& e, Value value) {
  Value replaced;
  collectLeaves(e.tiles, value, true, [&](Value leaf, bool same) {
    if (!replaced && same && leaf != value && mayReplace(e, leaf, value)) replaced = leaf;
  });
  return replaced ? taken(e.tiles.at(replaced)) : e.buffers.allocate(tileType(value), e.lanes.lane(value));
}

}  // namespace fattn::cpu
