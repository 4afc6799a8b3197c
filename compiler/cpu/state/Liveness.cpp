// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/state/Liveness.h"

#include "compiler/cpu/state/Expressions.h"
#include "compiler/dialect/Tile.h"
#include "compiler/transforms/Aliasing.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

bool writesMemory(Operation* op) {
  auto writes = [](Operation* inner) {
    auto access = transforms::accessOf(inner);
    return access && access->writes ? WalkResult::interrupt() : WalkResult::advance();
  };
  return op->walk(writes).wasInterrupted();
}

/// Whether what is between a load and a store takes each element from the same place of its operands.
bool reachesElementwise(Operation* load, tile::StoreOp store) {
  llvm::SmallPtrSet<Operation*, 16> seen;
  SmallVector<Operation*> pending = {load};
  while (!pending.empty()) {
    for (Operation* user : pending.pop_back_val()->getUsers()) {
      if (user == store || !seen.insert(user).second) continue;
      if (!user->hasTrait<OpTrait::Elementwise>()) return false;
      pending.push_back(user);
    }
  }
  return true;
}

/// A store reads an element before it writes it, which is enough where no element is read for another one.
bool overwritesTooEarly(Operation* load, tile::StoreOp store) {
  transforms::Aliasing aliasing;
  transforms::Overlap overlap = aliasing.overlap(*transforms::accessOf(load), *transforms::accessOf(store));
  if (overlap == transforms::Overlap::Never) return false;
  return overlap == transforms::Overlap::Maybe || !reachesElementwise(load, store);
}

}  // namespace

bool Liveness::deadAfter(Value value, function_ref<bool(Operation*)> counts) const {
  return !anyUse(tiles, value, [&](Operation* user) { return !isDone(user) && !counts(user); });
}

bool Liveness::isDead(Value value) {
  Operation*& user = pendingUser[value];
  if (user && !isDone(user)) return false;
  return !anyUse(tiles, value, [&](Operation* other) {
    user = other;
    return !isDone(other);
  });
}

bool Liveness::overwrittenBeforeUse(Operation* load) {
  Operation* writer = nextWriter(load);
  if (!writer) return false;
  Value loaded = load->getResult(0);
  auto place = [&](Operation* user) { return load->getBlock()->findAncestorOpInBlock(*user); };
  if (anyUse(tiles, loaded, [&](Operation* user) { return place(user) && writer->isBeforeInBlock(place(user)); })) return true;
  if (!anyUse(tiles, loaded, [&](Operation* user) { return place(user) == writer; })) return false;
  auto store = dyn_cast<tile::StoreOp>(writer);
  if (!store || anyUse(tiles, loaded, [&](Operation* user) { return user != writer; })) return true;
  return overwritesTooEarly(load, store);
}

/// The first operation behind `op`, in its block, that writes to global memory; null where there is none.
Operation* Liveness::nextWriter(Operation* op) {
  auto [entry, isNew] = writersOfBlock.try_emplace(op->getBlock());
  std::vector<Operation*>& writers = entry->second;
  if (isNew)
    for (Operation& each : *op->getBlock())
      if (writesMemory(&each)) writers.push_back(&each);
  auto behind = llvm::partition_point(writers, [&](Operation* writer) { return !op->isBeforeInBlock(writer); });
  return behind == writers.end() ? nullptr : *behind;
}

}  // namespace fattn::cpu
