// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/state/Expressions.h"

#include "compiler/cpu/builder/TileType.h"
#include "compiler/dialect/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// Its result has other indices than its operand. A splat may be of a tile without dimensions.
bool isIndexMap(Operation* op) {
  return isa<tile::BroadcastOp, tile::ExpandDimsOp, tile::TransOp>(op) || (isa<tile::SplatOp>(op) && isTile(op->getOperand(0)));
}

bool isCheapOp(Operation* op) {
  return isIndexMap(op) || isa<IntegerType>(getElementTypeOrSelf(op->getResult(0).getType())) || isa<arith::ExtFOp, arith::TruncFOp>(op);
}

/// `seen`: operations looked at before. One that is not cheap has ended the search.
bool isCheapFrom(const Tiles& tiles, Value value, llvm::SmallPtrSetImpl<Operation*>& seen) {
  Operation* op = value.getDefiningOp();
  if (!isTransparent(tiles, op) || !seen.insert(op).second) return true;
  if (isa<arith::ConstantOp, tile::SplatOp, tile::ArangeOp>(op) && !isIndexMap(op)) return true;
  return isCheapOp(op) && llvm::all_of(op->getOperands(), [&](Value v) { return !isTile(v) || isCheapFrom(tiles, v, seen); });
}

}  // namespace

bool isElementwise(Operation* op) {
  if (op->getNumRegions() || op->getNumResults() != 1 || !isTile(op->getResult(0))) return false;
  StringRef dialect = op->getName().getDialectNamespace();
  return dialect == "arith" || dialect == "math" || op->hasTrait<tile::CheapToRepeat>();
}

bool isShuffle(Operation* op) { return isa_and_nonnull<tile::ReshapeOp, tile::JoinOp, tile::SplitOp>(op); }

bool isTransparent(const Tiles& tiles, Operation* op) { return op && isElementwise(op) && !tiles.contains(op->getResult(0)); }

bool isCheap(const Tiles& tiles, Value value) {
  llvm::SmallPtrSet<Operation*, 8> seen;
  return isCheapFrom(tiles, value, seen);
}

bool needsMemory(const Tiles& tiles, Value value) {
  if (isCheap(tiles, value)) return false;
  return llvm::any_of(value.getUsers(), [&](Operation* user) {
    // What the exact side of a select_lazy reads is computed again there: it hardly ever runs.
    Operation* at = value.getParentBlock()->findAncestorOpInBlock(*user);
    if (at != user && isa_and_nonnull<tile::SelectLazyOp>(at)) return false;
    return at != user || user->hasTrait<OpTrait::IsTerminator>() || isIndexMap(user) || isShuffle(user) || isa<tile::SelectLazyOp>(user);
  });
}

void collectLeaves(const Tiles& tiles, Value value, bool identity, function_ref<void(Value, bool)> visit) {
  SmallVector<std::pair<Value, bool>> work = {{value, identity}};
  llvm::DenseSet<std::pair<Value, unsigned>> seen;
  while (!work.empty()) {
    auto [v, same] = work.pop_back_val();
    if (!seen.insert({v, same ? 1U : 0U}).second) continue;
    visit(v, same);
    Operation* op = v.getDefiningOp();
    if (!isTransparent(tiles, op) && !isShuffle(op)) continue;
    for (Value operand : llvm::reverse(op->getOperands()))
      if (isTile(operand)) work.push_back({operand, same && !isIndexMap(op) && !isShuffle(op)});
  }
}

bool anyUse(const Tiles& tiles, Value value, function_ref<bool(Operation*)> matches) {
  SmallVector<Value> work = {value};
  llvm::SmallPtrSet<Operation*, 16> seen;
  while (!work.empty()) {
    for (Operation* user : work.pop_back_val().getUsers()) {
      if (!seen.insert(user).second) continue;
      if (isTransparent(tiles, user))
        work.push_back(user->getResult(0));
      else if (matches(user))
        return true;
    }
  }
  return false;
}

}  // namespace fattn::cpu
