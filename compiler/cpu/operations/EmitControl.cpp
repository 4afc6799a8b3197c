// SPDX-License-Identifier: Apache-2.0
// Loops and branches of the program. Carried tiles live in one buffer for the whole loop; scalars and block pointers are carried as values.
#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/operations/Carried.h"
#include "compiler/cpu/operations/DotOperands.h"
#include "compiler/cpu/operations/Operations.h"
#include "compiler/cpu/state/Emission.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// Follows tile.advance back to where the pointer came from.
Value rootOf(Value ptr) {
  while (auto advance = ptr.getDefiningOp<tile::AdvanceOp>()) ptr = advance.getPtr();
  return ptr;
}

/// What a loop is made from.
struct Start {
  SmallVector<View> tiles;
  SmallVector<Value> parts;
};

Start startOf(Emission& e, Operation* loop, ValueRange inits, ValueRange arguments) {
  Start start;
  for (auto [init, arg] : llvm::zip_equal(inits, arguments)) {
    if (isTile(init)) start.tiles.push_back(ownedCopy(e, init, loop, e.lanes.lane(arg)));
    appendParts(e, init, start.parts);
  }
  return start;
}

/// The block pointers that a loop only advances, as they enter it: one for each value that the loop carries.
SmallVector<std::optional<BlockPtr>> advancedPointers(Emission& e, scf::ForOp loop) {
  SmallVector<std::optional<BlockPtr>> pointers;
  auto yielded = loop.getBody()->getTerminator()->getOperands();
  for (auto [init, arg, next] : llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), yielded)) {
    bool advances = isa<tile::BlockPtrType>(init.getType()) && rootOf(next) == arg;
    pointers.push_back(advances ? std::optional(e.blockPtrs.at(init)) : std::nullopt);
  }
  return pointers;
}

/// Emits a block into an empty one of the new operation, up to what it yields.
LogicalResult fill(Emission& e, Block& to, Block& from, ArrayRef<View> tiles) {
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToEnd(&to);
  FailureOr<SmallVector<Value>> parts = emitSide(e, from, from.getTerminator()->getOperands(), tiles);
  if (failed(parts)) return failure();
  scf::YieldOp::create(e.b, *parts);
  return success();
}

/// Takes off the yield of nothing with which a block may have been made.
Block& withoutEnd(Block& made) {
  if (!made.empty()) made.back().erase();
  return made;
}

Block* addBlock(HostBuilder& b, Region& region, ArrayRef<Type> types) {
  return b.createBlock(&region, {}, types, SmallVector<Location>(types.size(), b.getLoc()));
}

}  // namespace

LogicalResult emitFor(Emission& e, scf::ForOp op) {
  Start start = startOf(e, op, op.getInitArgs(), op.getRegionIterArgs());
  SmallVector<std::optional<BlockPtr>> advanced = advancedPointers(e, op);
  SmallVector<PackedOperand> packed = prepackFor(e, op);
  auto made = scf::ForOp::create(e.b, e.scalar(op.getLowerBound()), e.scalar(op.getUpperBound()), e.scalar(op.getStep()), start.parts);
  e.scalars.map(op.getInductionVar(), made.getInductionVar());
  SmallVector<int> pinned = e.buffers.pin(start.tiles);
  bindValues(e, op.getRegionIterArgs(), made.getRegionIterArgs(), start.tiles, advanced);
  if (failed(fill(e, withoutEnd(*made.getBody()), *op.getBody(), start.tiles))) return failure();
  e.buffers.unpin(pinned);
  bindValues(e, op.getResults(), made.getResults(), start.tiles, advanced);
  ownTiles(e, op.getResults());
  releasePacked(e, packed);
  return success();
}

LogicalResult emitIf(Emission& e, scf::IfOp op) {
  SmallVector<Type> types;
  SmallVector<View> results = allocateResults(e, op.getResults(), types);
  bool hasElse = !op.getElseRegion().empty();
  auto made = scf::IfOp::create(e.b, types, e.scalar(op.getCondition()), hasElse);
  if (failed(fill(e, withoutEnd(*made.thenBlock()), *op.thenBlock(), results))) return failure();
  if (hasElse && failed(fill(e, withoutEnd(*made.elseBlock()), *op.elseBlock(), results))) return failure();
  bindValues(e, op.getResults(), made.getResults(), results);
  ownTiles(e, op.getResults());
  return success();
}

LogicalResult emitWhile(Emission& e, scf::WhileOp op) {
  Start before = startOf(e, op, op.getInits(), op.getBeforeArguments());
  SmallVector<Type> resultTypes;
  SmallVector<View> after = allocateResults(e, op.getResults(), resultTypes);
  SmallVector<int> pinned = e.buffers.pin(before.tiles);
  llvm::append_range(pinned, e.buffers.pin(after));
  auto made = scf::WhileOp::create(e.b, resultTypes, before.parts);

  addBlock(e.b, made.getBefore(), llvm::to_vector(ValueRange(before.parts).getTypes()));
  bindValues(e, op.getBeforeArguments(), made.getBeforeArguments(), before.tiles);
  FailureOr<SmallVector<Value>> passed = emitSide(e, *op.getBeforeBody(), op.getConditionOp().getArgs(), after);
  if (failed(passed)) return failure();
  scf::ConditionOp::create(e.b, e.scalar(op.getConditionOp().getCondition()), *passed);

  Block* body = addBlock(e.b, made.getAfter(), resultTypes);
  bindValues(e, op.getAfterArguments(), made.getAfterArguments(), after);
  if (failed(fill(e, *body, *op.getAfterBody(), before.tiles))) return failure();
  e.b.setInsertionPointAfter(made);
  e.buffers.unpin(pinned);
  for (View& view : before.tiles) e.buffers.release(view);
  bindValues(e, op.getResults(), made.getResults(), after);
  ownTiles(e, op.getResults());
  return success();
}

}  // namespace fattn::cpu
