// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/roles/StoredRows.h"

#include "compiler/gpu/passes/roles/Masks.h"
#include "compiler/gpu/passes/roles/Roles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

/// first + i < end for the rows that an operation stores.
struct Bound {
  Value first, end;
  bool operator==(const Bound&) const = default;
};

/// Of a window that is checked along its rows.
std::optional<Bound> boundOf(StoreBoxesOp store) {
  auto window = store.getPtr().getDefiningOp<tile::MakeBlockPtrOp>();
  if (!window || !llvm::is_contained(store.getBoundaryCheck(), 0)) return std::nullopt;
  return Bound{window.getOffsets().front(), window.getShape().front()};
}

/// Of a mask of one dimension: that of a comparison which is a part of it.
std::optional<Bound> boundOf(Value mask) {
  if (auto both = mask.getDefiningOp<arith::AndIOp>()) {
    std::optional<Bound> left = boundOf(both.getLhs());
    return left ? left : boundOf(both.getRhs());
  }
  auto less = mask.getDefiningOp<arith::CmpIOp>();
  if (!less || less.getPredicate() != arith::CmpIPredicate::slt) return std::nullopt;
  auto wide = less.getLhs().getDefiningOp<arith::ExtSIOp>();
  auto sum = wide ? wide.getIn().getDefiningOp<arith::AddIOp>() : arith::AddIOp();
  auto range = sum ? sum.getLhs().getDefiningOp<tile::ArangeOp>() : tile::ArangeOp();
  Value first = sum ? scalarOf(sum.getRhs()) : Value(), end = scalarOf(less.getRhs());
  if (!range || range.getStart() != 0 || !first || !end || !end.getType().isInteger(64)) return std::nullopt;
  for (Operation* user : first.getUsers())
    if (auto same = dyn_cast<arith::ExtSIOp>(user); same && same.getType().isInteger(64)) return Bound{same, end};
  return std::nullopt;
}

/// What is neither a store nor brings what the group has computed to others.
bool staysInGroup(Operation* op) {
  if (isa<CopyWaitOp, ReleaseOp, DotAsyncOp, DotWaitOp, TurnWaitOp, TurnPassOp, LoadBufferOp, AwaitSentOp, TakeProgramOp, SetRegistersOp>(
          op))
    return true;
  if (isCopyElsewhere(op) || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() || isMemoryEffectFree(op)) return true;
  return hasSingleEffect<MemoryEffects::Read>(op);
}

/// The rows of a tile: their bound, and who holds them.
struct Store {
  Bound bound;
  RegsAttr layout;
};

std::optional<Store> storeOf(Operation* op) {
  std::optional<Bound> bound;
  Value value;
  if (auto boxes = dyn_cast<StoreBoxesOp>(op); boxes && !isMadeElsewhere(op) && !boxes.getAdd())
    bound = boundOf(boxes), value = boxes.getValue();
  else if (auto scatter = dyn_cast<tile::ScatterOp>(op); scatter && scatter.getMask() && tile::isTile(scatter.getValue().getType()))
    bound = boundOf(scatter.getMask()), value = scatter.getValue();
  auto layout = bound ? dyn_cast_or_null<RegsAttr>(cast<RankedTensorType>(value.getType()).getEncoding()) : RegsAttr();
  if (!layout) return std::nullopt;
  return Store{*bound, layout};
}

}  // namespace

std::optional<StoredRows> storedRowsOf(Block& program) {
  SmallVector<Store> stores;
  WalkResult result = program.walk([&](Operation* op) {
    if (staysInGroup(op) || op->hasTrait<OpTrait::IsTerminator>()) return WalkResult::advance();
    std::optional<Store> store = storeOf(op);
    if (store) stores.push_back(*store);
    return store ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (result.wasInterrupted() || stores.empty()) return std::nullopt;
  // A layout of fewer dimensions says the same with less.
  const Store& chosen = *std::ranges::min_element(stores, {}, [](const Store& one) { return one.layout.getLayout().outputs().size(); });
  const int64_t group = *targetOf(program.getParentOp()).warpGroup;
  const SmallVector<RowsOfGroup> groups = rowsByGroup(chosen.layout.getLayout(), group);
  for (const Store& one : stores)
    if (!(one.bound == chosen.bound) || (one.layout != chosen.layout && rowsByGroup(one.layout.getLayout(), group) != groups))
      return std::nullopt;
  const int64_t rows = groups.front().last - groups.front().first;
  if (!llvm::all_of(groups, [&](const RowsOfGroup& one) { return one.last - one.first == rows; })) return std::nullopt;
  return StoredRows{chosen.bound.first, chosen.bound.end, chosen.layout, rows};
}

}  // namespace fattn::tilegpu
