// SPDX-License-Identifier: Apache-2.0
// Loops and branches of the program. Carried tiles live in one buffer for the whole loop; scalars and block pointers are carried as values.
#include "compiler/cpu/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// Follows tile.advance back to where the pointer came from.
Value rootOf(Value ptr) {
  while (auto advance = ptr.getDefiningOp<tile::AdvanceOp>()) ptr = advance.getPtr();
  return ptr;
}

}  // namespace

void Emitter::flattenTypes(Value value, SmallVectorImpl<Type>& out) {
  if (isTile(value)) return;
  if (auto ptr = dyn_cast<tile::BlockPtrType>(value.getType())) {
    out.push_back(LLVM::LLVMPointerType::get(b.getContext()));
    out.append(3 * ptr.getRank(), b.getI64Type());
  } else {
    out.push_back(isa<tile::PtrType>(value.getType()) ? Type(LLVM::LLVMPointerType::get(b.getContext())) : value.getType());
  }
}

void Emitter::flatten(Value value, SmallVectorImpl<Value>& out) {
  if (isTile(value)) return;
  if (!isa<tile::BlockPtrType>(value.getType())) return out.push_back(scalar(value));
  const BlockPtr& ptr = blockPtrs.at(value);
  out.push_back(ptr.base);
  for (const auto& part : {ptr.shape, ptr.strides, ptr.offsets})
    for (Stride s : part) out.push_back(toValue(s));
}

/// Takes the parts of `value` off `parts`. Where the pointer is known only to have advanced from `like`, its shape and strides are like's.
void Emitter::unflatten(Value value, ValueRange& parts, const BlockPtr* like) {
  if (isTile(value)) return;
  auto type = dyn_cast<tile::BlockPtrType>(value.getType());
  if (!type) {
    scalars.map(value, parts.front());
    parts = parts.drop_front();
    return;
  }
  size_t rank = type.getRank();
  auto take = [&](size_t from) { return SmallVector<Stride>(parts.slice(from, rank).begin(), parts.slice(from, rank).end()); };
  BlockPtr ptr{parts.front(), type.getElementType(), take(1), take(1 + rank), take(1 + 2 * rank)};
  if (like) {
    ptr.base = like->base;
    ptr.shape = like->shape;
    ptr.strides = like->strides;
  }
  blockPtrs[value] = ptr;
  parts = parts.drop_front(1 + 3 * rank);
}

const BlockPtr* Emitter::carriedLike(Value init, Value arg, Value yielded) {
  if (!isa<tile::BlockPtrType>(init.getType()) || rootOf(yielded) != arg) return nullptr;
  return &blockPtrs.at(init);
}

/// A buffer that holds `value` and belongs to the caller: the value's own if `user` is the last to need it, else a copy.
View Emitter::ownedCopy(Value value, Operation* user, int lane) {
  auto type = cast<RankedTensorType>(value.getType());
  auto it = views.find(value);
  if (it != views.end() && it->second.slot >= 0 && !it->second.shared && it->second.lane == (lane < 0 ? it->second.lane : lane) &&
      value.getParentBlock() == user->getBlock()) {
    bool once = llvm::count(user->getOperands(), value) == 1;
    if (once && deadAfter(value, [&](Operation* u) { return u == user; })) {
      View view = it->second;
      it->second.slot = -1;
      return view;
    }
  }
  View view = allocate(type.getShape(), type.getElementType(), lane);
  materialize(value, view);
  return view;
}

/// Writes the values a body yields into the buffers of the carried tiles, as if all at once.
void Emitter::writeCarried(ValueRange values, ArrayRef<View> into) {
  struct Move {
    View from, to;
    bool temporary;
  };
  std::vector<Move> moves;
  for (auto [value, to] : llvm::zip_equal(values, into)) {
    auto it = views.find(value);
    if (it != views.end() && it->second.slot == to.slot && it->second.slot >= 0) continue;
    if (into.size() == 1) {
      View target = to;
      materialize(value, target);
      continue;
    }
    bool aliases = it != views.end() && llvm::any_of(into, [&](const View& v) { return v.slot == it->second.slot && v.slot >= 0; });
    if (it != views.end() && !aliases && it->second.lane == to.lane) {
      moves.push_back({it->second, to, false});
      continue;
    }
    View staged = allocate(to.shape, to.element, to.lane);
    materialize(value, staged);
    moves.push_back({staged, to, true});
  }
  for (Move& move : moves) {
    copy(move.from, move.to);
    if (move.temporary) release(move.from);
  }
}

LogicalResult Emitter::emitFor(scf::ForOp op) {
  SmallVector<View> carried;
  SmallVector<Value> init;
  SmallVector<const BlockPtr*> likes;
  Operation* yield = op.getBody()->getTerminator();
  std::vector<BlockPtr> keep(op.getInitArgs().size());
  for (auto [i, value] : llvm::enumerate(op.getInitArgs())) {
    Value arg = op.getRegionIterArg(i);
    if (isTile(value)) carried.push_back(ownedCopy(value, op, lanes.lane(arg)));
    flatten(value, init);
    const BlockPtr* like = carriedLike(value, arg, yield->getOperand(i));
    if (like) keep[i] = *like;
    likes.push_back(like ? &keep[i] : nullptr);
  }
  auto prepacked = prepackFor(op);
  auto made = scf::ForOp::create(b, loc, scalar(op.getLowerBound()), scalar(op.getUpperBound()), scalar(op.getStep()), init);
  scalars.map(op.getInductionVar(), made.getInductionVar());
  auto bind = [&](ValueRange originals, ValueRange parts, bool own) {
    size_t tile = 0;
    for (auto [i, v] : llvm::enumerate(originals)) {
      unflatten(v, parts, likes[i]);
      if (!isTile(v)) continue;
      views[v] = carried[tile++];
      if (own) owners.push_back(v);
    }
  };
  SmallVector<int> pinnedHere;
  for (View& view : carried)
    if (pinned.insert(view.slot).second) pinnedHere.push_back(view.slot);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(made.getBody());
    if (init.empty() && !made.getBody()->empty()) made.getBody()->back().erase();
    b.setInsertionPointToEnd(made.getBody());
    bind(op.getRegionIterArgs(), made.getRegionIterArgs(), false);
    if (failed(emitBlock(*op.getBody()))) return failure();
    SmallVector<Value> tiles, next;
    for (Value v : yield->getOperands()) {
      if (isTile(v)) tiles.push_back(v);
      flatten(v, next);
    }
    writeCarried(tiles, carried);
    done.insert(yield);
    releaseDead(*op.getBody());
    scf::YieldOp::create(b, loc, next);
  }
  for (int slot : pinnedHere) pinned.erase(slot);
  bind(op.getResults(), made.getResults(), true);
  for (auto key : prepacked) {
    release(packed[key]);
    packed.erase(key);
  }
  return success();
}

LogicalResult Emitter::emitIf(scf::IfOp op) {
  SmallVector<Type> types;
  SmallVector<View> results;
  for (Value r : op.getResults()) {
    flattenTypes(r, types);
    if (!isTile(r)) continue;
    auto type = cast<RankedTensorType>(r.getType());
    results.push_back(allocate(type.getShape(), type.getElementType(), lanes.lane(r)));
  }
  bool hasElse = !op.getElseRegion().empty();
  auto made = scf::IfOp::create(b, loc, types, scalar(op.getCondition()), hasElse);
  auto emitSide = [&](Block& from, Block* to) -> LogicalResult {
    OpBuilder::InsertionGuard guard(b);
    if (!to->empty()) to->back().erase();
    b.setInsertionPointToEnd(to);
    if (failed(emitBlock(from))) return failure();
    SmallVector<Value> tiles, parts;
    for (Value v : from.getTerminator()->getOperands()) {
      if (isTile(v)) tiles.push_back(v);
      flatten(v, parts);
    }
    writeCarried(tiles, results);
    done.insert(from.getTerminator());
    releaseDead(from);
    scf::YieldOp::create(b, loc, parts);
    return success();
  };
  if (failed(emitSide(*op.thenBlock(), made.thenBlock()))) return failure();
  if (hasElse && failed(emitSide(*op.elseBlock(), made.elseBlock()))) return failure();
  ValueRange parts = made.getResults();
  size_t tile = 0;
  for (Value r : op.getResults()) {
    unflatten(r, parts, nullptr);
    if (!isTile(r)) continue;
    views[r] = results[tile++];
    owners.push_back(r);
  }
  return success();
}

LogicalResult Emitter::emitWhile(scf::WhileOp op) {
  SmallVector<View> before, after;
  SmallVector<Value> init;
  SmallVector<Type> resultTypes;
  for (auto [value, arg] : llvm::zip_equal(op.getInits(), op.getBeforeArguments())) {
    if (isTile(value)) before.push_back(ownedCopy(value, op, lanes.lane(arg)));
    flatten(value, init);
  }
  for (Value r : op.getResults()) {
    flattenTypes(r, resultTypes);
    if (!isTile(r)) continue;
    auto type = cast<RankedTensorType>(r.getType());
    after.push_back(allocate(type.getShape(), type.getElementType(), lanes.lane(r)));
  }
  SmallVector<int> pinnedHere;
  for (ArrayRef<View> group : {ArrayRef<View>(before), ArrayRef<View>(after)})
    for (const View& view : group)
      if (pinned.insert(view.slot).second) pinnedHere.push_back(view.slot);
  auto bind = [&](ValueRange originals, ValueRange parts, ArrayRef<View> tiles) {
    size_t tile = 0;
    for (Value v : originals) {
      unflatten(v, parts, nullptr);
      if (isTile(v)) views[v] = tiles[tile++];
    }
  };
  auto side = [&](Block& from, ArrayRef<View> into, ValueRange yielded, const std::function<void(ValueRange)>& close) -> LogicalResult {
    if (failed(emitBlock(from))) return failure();
    SmallVector<Value> tiles, parts;
    for (Value v : yielded) {
      if (isTile(v)) tiles.push_back(v);
      flatten(v, parts);
    }
    writeCarried(tiles, into);
    done.insert(from.getTerminator());
    releaseDead(from);
    close(parts);
    return success();
  };
  auto made = scf::WhileOp::create(b, loc, resultTypes, init);
  SmallVector<Type> initTypes(ValueRange(init).getTypes());
  b.createBlock(&made.getBefore(), {}, initTypes, SmallVector<Location>(initTypes.size(), loc));
  bind(op.getBeforeArguments(), made.getBeforeArguments(), before);
  auto closeBefore = [&](ValueRange parts) { scf::ConditionOp::create(b, loc, scalar(op.getConditionOp().getCondition()), parts); };
  if (failed(side(*op.getBeforeBody(), after, op.getConditionOp().getArgs(), closeBefore))) return failure();
  b.createBlock(&made.getAfter(), {}, resultTypes, SmallVector<Location>(resultTypes.size(), loc));
  bind(op.getAfterArguments(), made.getAfterArguments(), after);
  auto closeAfter = [&](ValueRange parts) { scf::YieldOp::create(b, loc, parts); };
  if (failed(side(*op.getAfterBody(), before, op.getYieldOp().getOperands(), closeAfter))) return failure();
  b.setInsertionPointAfter(made);
  for (int slot : pinnedHere) pinned.erase(slot);
  for (View& view : before) release(view);
  bind(op.getResults(), made.getResults(), after);
  for (Value r : op.getResults())
    if (isTile(r)) owners.push_back(r);
  return success();
}

}  // namespace fattn::cpu
