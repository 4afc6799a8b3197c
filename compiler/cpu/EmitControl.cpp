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

/// Emits a block of structured control flow: its tiles end in `into`. Gives the parts of what it hands on that are no tiles.
FailureOr<SmallVector<Value>> Emitter::emitSide(Block& from, ValueRange yielded, ArrayRef<View> into) {
  if (failed(emitBlock(from))) return failure();
  SmallVector<Value> tiles, parts;
  for (Value v : yielded) {
    if (isTile(v)) tiles.push_back(v);
    flatten(v, parts);
  }
  writeCarried(tiles, into);
  done.insert(from.getTerminator());
  releaseDead(from);
  return parts;
}

/// Keeps the slots of these from being given away. Gives those that were not kept before.
SmallVector<int> Emitter::pin(ArrayRef<View> carried) {
  SmallVector<int> fresh;
  for (const View& view : carried)
    if (pinned.insert(view.slot).second) fresh.push_back(view.slot);
  return fresh;
}

/// Values of structured control flow get their parts and their tiles. `likes`: a block pointer to take what it is made of from, for each or
/// none.
void Emitter::bind(ValueRange originals, ValueRange parts, ArrayRef<View> tiles, ArrayRef<const BlockPtr*> likes) {
  size_t tile = 0;
  for (auto [i, v] : llvm::enumerate(originals)) {
    unflatten(v, parts, likes.empty() ? nullptr : likes[i]);
    if (isTile(v)) views[v] = tiles[tile++];
  }
}

/// Room for the tiles among results; `types`: of the parts of the others.
SmallVector<View> Emitter::allocateResults(ValueRange results, SmallVectorImpl<Type>& types) {
  SmallVector<View> tiles;
  for (Value r : results) {
    flattenTypes(r, types);
    if (!isTile(r)) continue;
    auto type = cast<RankedTensorType>(r.getType());
    tiles.push_back(allocate(type.getShape(), type.getElementType(), lanes.lane(r)));
  }
  return tiles;
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
  SmallVector<int> pinnedHere = pin(carried);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(made.getBody());
    if (init.empty() && !made.getBody()->empty()) made.getBody()->back().erase();
    b.setInsertionPointToEnd(made.getBody());
    bind(op.getRegionIterArgs(), made.getRegionIterArgs(), carried, likes);
    FailureOr<SmallVector<Value>> next = emitSide(*op.getBody(), yield->getOperands(), carried);
    if (failed(next)) return failure();
    scf::YieldOp::create(b, loc, *next);
  }
  for (int slot : pinnedHere) pinned.erase(slot);
  bind(op.getResults(), made.getResults(), carried, likes);
  llvm::append_range(owners, llvm::make_filter_range(op.getResults(), isTile));
  for (auto key : prepacked) {
    release(packed[key]);
    packed.erase(key);
  }
  return success();
}

LogicalResult Emitter::emitIf(scf::IfOp op) {
  SmallVector<Type> types;
  SmallVector<View> results = allocateResults(op.getResults(), types);
  bool hasElse = !op.getElseRegion().empty();
  auto made = scf::IfOp::create(b, loc, types, scalar(op.getCondition()), hasElse);
  auto side = [&](Block& from, Block* to) -> LogicalResult {
    OpBuilder::InsertionGuard guard(b);
    if (!to->empty()) to->back().erase();
    b.setInsertionPointToEnd(to);
    FailureOr<SmallVector<Value>> parts = emitSide(from, from.getTerminator()->getOperands(), results);
    if (failed(parts)) return failure();
    scf::YieldOp::create(b, loc, *parts);
    return success();
  };
  if (failed(side(*op.thenBlock(), made.thenBlock()))) return failure();
  if (hasElse && failed(side(*op.elseBlock(), made.elseBlock()))) return failure();
  bind(op.getResults(), made.getResults(), results);
  llvm::append_range(owners, llvm::make_filter_range(op.getResults(), isTile));
  return success();
}

LogicalResult Emitter::emitWhile(scf::WhileOp op) {
  SmallVector<View> before;
  SmallVector<Value> init;
  SmallVector<Type> resultTypes;
  for (auto [value, arg] : llvm::zip_equal(op.getInits(), op.getBeforeArguments())) {
    if (isTile(value)) before.push_back(ownedCopy(value, op, lanes.lane(arg)));
    flatten(value, init);
  }
  SmallVector<View> after = allocateResults(op.getResults(), resultTypes);
  SmallVector<int> pinnedHere = pin(before);
  llvm::append_range(pinnedHere, pin(after));
  auto made = scf::WhileOp::create(b, loc, resultTypes, init);
  SmallVector<Type> initTypes(ValueRange(init).getTypes());
  b.createBlock(&made.getBefore(), {}, initTypes, SmallVector<Location>(initTypes.size(), loc));
  bind(op.getBeforeArguments(), made.getBeforeArguments(), before);
  FailureOr<SmallVector<Value>> passed = emitSide(*op.getBeforeBody(), op.getConditionOp().getArgs(), after);
  if (failed(passed)) return failure();
  scf::ConditionOp::create(b, loc, scalar(op.getConditionOp().getCondition()), *passed);
  b.createBlock(&made.getAfter(), {}, resultTypes, SmallVector<Location>(resultTypes.size(), loc));
  bind(op.getAfterArguments(), made.getAfterArguments(), after);
  FailureOr<SmallVector<Value>> next = emitSide(*op.getAfterBody(), op.getYieldOp().getOperands(), before);
  if (failed(next)) return failure();
  scf::YieldOp::create(b, loc, *next);
  b.setInsertionPointAfter(made);
  for (int slot : pinnedHere) pinned.erase(slot);
  for (View& view : before) release(view);
  bind(op.getResults(), made.getResults(), after);
  llvm::append_range(owners, llvm::make_filter_range(op.getResults(), isTile));
  return success();
}

}  // namespace fattn::cpu
