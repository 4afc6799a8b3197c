// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/operations/Carried.h"

#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/nests/Materialize.h"
#include "compiler/cpu/operations/Operations.h"
#include "compiler/cpu/state/Emission.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

BlockPtr joinParts(Type element, size_t rank, ValueRange parts) {
  auto take = [&](size_t from) { return SmallVector<Stride>(parts.slice(from, rank).begin(), parts.slice(from, rank).end()); };
  return {parts.front(), element, take(1), take(1 + rank), take(1 + 2 * rank)};
}

/// Takes the parts of `value` off `parts`.
void takeParts(Emission& e, Value value, ValueRange& parts, const std::optional<BlockPtr>& advanced) {
  if (isTile(value)) return;
  auto type = dyn_cast<tile::BlockPtrType>(value.getType());
  if (!type) {
    e.scalars.map(value, parts.front());
    parts = parts.drop_front();
    return;
  }
  size_t rank = type.getRank();
  BlockPtr ptr = joinParts(type.getElementType(), rank, parts);
  if (advanced) {
    ptr.base = advanced->base;
    ptr.shape = advanced->shape;
    ptr.strides = advanced->strides;
  }
  e.blockPtrs[value] = ptr;
  parts = parts.drop_front(1 + 3 * rank);
}

struct Move {
  View from, to;
  bool temporary;
};

/// How a value gets into its buffer where other values are moved at the same time: from where it lies, or through a copy of its own.
Move moveInto(Emission& e, Value value, const View& to, ArrayRef<View> all) {
  View* view = e.tiles.find(value);
  bool aliases = view && llvm::any_of(all, [&](const View& v) { return v.slot == view->slot && v.slot >= 0; });
  if (view && !aliases && view->lane == to.lane) return {*view, to, false};
  View staged = e.buffers.allocate(to.shape, to.element, to.lane);
  materialize(e, value, staged);
  return {staged, to, true};
}

/// Writes the values a body yields into the buffers of the carried tiles, as if all at once.
void writeCarried(Emission& e, ValueRange values, ArrayRef<View> into) {
  std::vector<Move> moves;
  for (auto [value, to] : llvm::zip_equal(values, into)) {
    View* view = e.tiles.find(value);
    if (view && view->slot == to.slot && view->slot >= 0) continue;
    if (into.size() == 1)
      materialize(e, value, to);
    else
      moves.push_back(moveInto(e, value, to, into));
  }
  for (Move& move : moves) {
    copyTile(e, move.from, move.to);
    if (move.temporary) e.buffers.release(move.from);
  }
}

}  // namespace

void appendPartTypes(Value value, SmallVectorImpl<Type>& out) {
  if (isTile(value)) return;
  Type type = value.getType(), pointer = LLVM::LLVMPointerType::get(type.getContext());
  auto block = dyn_cast<tile::BlockPtrType>(type);
  if (!block) return out.push_back(isa<tile::PtrType>(type) ? pointer : type);
  out.push_back(pointer);
  out.append(3 * block.getRank(), IntegerType::get(type.getContext(), 64));
}

void appendParts(Emission& e, Value value, SmallVectorImpl<Value>& out) {
  if (isTile(value)) return;
  if (!isa<tile::BlockPtrType>(value.getType())) return out.push_back(e.scalar(value));
  const BlockPtr& ptr = e.blockPtrs.at(value);
  out.push_back(ptr.base);
  for (const auto& part : {ptr.shape, ptr.strides, ptr.offsets})
    for (Stride s : part) out.push_back(e.b.toValue(s));
}

void bindValues(Emission& e, ValueRange values, ValueRange parts, ArrayRef<View> tiles, ArrayRef<std::optional<BlockPtr>> advanced) {
  for (auto [i, v] : llvm::enumerate(values)) {
    takeParts(e, v, parts, advanced.empty() ? std::nullopt : advanced[i]);
    if (!isTile(v)) continue;
    e.tiles.place(v, tiles.front());
    tiles = tiles.drop_front();
  }
}

void ownTiles(Emission& e, ValueRange values) {
  for (Value v : values)
    if (isTile(v)) e.tiles.own(v);
}

SmallVector<View> allocateResults(Emission& e, ValueRange results, SmallVectorImpl<Type>& types) {
  SmallVector<View> tiles;
  for (Value r : results) {
    appendPartTypes(r, types);
    if (isTile(r)) tiles.push_back(e.buffers.allocate(tileType(r), e.lanes.lane(r)));
  }
  return tiles;
}

View ownedCopy(Emission& e, Value value, Operation* user, int lane) {
  View* own = e.tiles.findOwn(value);
  if (own && (lane < 0 || own->lane == lane) && value.getParentBlock() == user->getBlock() &&
      llvm::count(user->getOperands(), value) == 1 && e.liveness.deadAfter(value, [&](Operation* other) { return other == user; }))
    return taken(*own);
  return materialized(e, value, lane);
}

FailureOr<SmallVector<Value>> emitSide(Emission& e, Block& from, ValueRange yielded, ArrayRef<View> into) {
  if (failed(emitBlock(e, from))) return failure();
  SmallVector<Value> tiles, parts;
  for (Value v : yielded) {
    if (isTile(v)) tiles.push_back(v);
    appendParts(e, v, parts);
  }
  writeCarried(e, tiles, into);
  e.liveness.markDone(from.getTerminator());
  releaseDead(e, from);
  return parts;
}

}  // namespace fattn::cpu
