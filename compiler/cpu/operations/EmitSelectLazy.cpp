// SPDX-License-Identifier: Apache-2.0
// tile.select_lazy: the usual values are computed in place; if the condition holds anywhere in the tile, which is rare, one branch computes
// the exact ones and puts them where they belong.
//
//   %r = tile.select_lazy %cond usual(%u) { %e }   =>   r = u (same buffer)
//                                                       if (any lane of cond) { e = ...; for rows: r = cond ? e : r }
#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/nests/Evaluate.h"
#include "compiler/cpu/nests/Materialize.h"
#include "compiler/cpu/nests/Nest.h"
#include "compiler/cpu/operations/Carried.h"
#include "compiler/cpu/operations/Operations.h"
#include "compiler/cpu/state/Emission.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// Is the condition true anywhere in the tile?
Value anyOf(Emission& e, Value condition) {
  if (!isTile(condition)) return e.scalar(condition);
  HostBuilder& b = e.b;
  // A condition has one dimension: one loop over its vectors.
  auto shape = tileType(condition).getShape();
  Space space = Space::of(b.host, shape, shape[0] == 1 ? -1 : 0);
  space.carrying = 0;
  Value any;
  Value none = b.splat(arith::ConstantOp::create(b, b.getBoolAttr(false)), space.width);
  nest(e, space,
       {.init = [&](const Point&) { return SmallVector<Value>{none}; },
        .body =
            [&](const Point& p, ValueRange found) {
              Value c = evalVector(e, condition, p);
              if (p.lane >= 0 && shape[p.lane] % p.width) c = arith::AndIOp::create(b, c, lanesBelow(b, p, shape[p.lane]));
              return SmallVector<Value>{arith::OrIOp::create(b, found[0], c)};
            },
        .finish = [&](const Point&, ValueRange found) { any = found[0]; }});
  if (isa<VectorType>(any.getType())) any = vector::ReductionOp::create(b, vector::CombiningKind::OR, any);
  return any;
}

/// The buffer of a result: the usual value's own if nobody needs that afterwards, else a copy of it.
View usualPlace(Emission& e, tile::SelectLazyOp op, Value usual, Value result) {
  auto nestedUse = [&](Operation* user) { return op->isAncestor(user); };
  View* own = e.tiles.findOwn(usual);
  if (own && own->lane == e.lanes.lane(result) && usual.getParentBlock() == op->getBlock() && llvm::count(op.getUsual(), usual) == 1 &&
      e.liveness.deadAfter(usual, nestedUse))
    return *own;
  return materialized(e, usual, e.lanes.lane(result));
}

/// The exact tiles, all of them before any result is overwritten: they may read the usual ones.
SmallVector<View> exactTiles(Emission& e, tile::SelectLazyOp op, ArrayRef<View> results) {
  SmallVector<View> exact;
  for (Value v : op.getExact().front().getTerminator()->getOperands()) {
    if (!isTile(v)) continue;
    View* view = e.tiles.find(v);
    bool aliases = !view || llvm::any_of(results, [&](const View& r) { return r.slot == view->slot; });
    exact.push_back(aliases ? materialized(e, v, results[exact.size()].lane) : borrowed(*view));
  }
  return exact;
}

/// Where the condition holds: `rows` has it for each row of the tile; without them it is one for all.
Value conditionAt(Emission& e, Value condition, const View& rows, const Point& p) {
  if (!rows.base) return e.scalar(condition);
  return loadAt(e.b, rows, Point{.index = {p.index[0]}, .lane = p.lane == 0 ? 0 : -1, .width = p.width});
}

/// Inside the rare branch: rows where the condition holds take what the exact side yielded.
void mergeExact(Emission& e, tile::SelectLazyOp op, ArrayRef<View> results) {
  HostBuilder& b = e.b;
  Value condition = op.getCondition();
  SmallVector<View> exact = exactTiles(e, op, results);
  View rows;
  if (isTile(condition)) rows = materialized(e, condition, e.lanes.lane(condition));
  for (auto [from, into] : llvm::zip_equal(exact, results)) {
    nestOver(e, into.shape, into.lane, [&](const Point& p) {
      int64_t width = p.elements();
      Value rare = b.splat(loadAt(b, from, p), width), usual = b.splat(loadAt(b, into, p), width);
      Value take = b.splat(conditionAt(e, condition, rows, p), width);
      storeAt(b, into, p, arith::SelectOp::create(b, take, rare, usual));
    });
    e.buffers.release(from);
  }
  if (rows.base) e.buffers.release(rows);
}

/// The rare branch: computes the exact values and puts the tiles among them into `results`.
LogicalResult emitExact(Emission& e, tile::SelectLazyOp op, Block& into, ArrayRef<View> results) {
  Block& exact = op.getExact().front();
  if (!into.empty()) into.back().erase();
  e.b.setInsertionPointToEnd(&into);
  if (failed(emitBlock(e, exact))) return failure();
  mergeExact(e, op, results);
  SmallVector<Value> parts;
  for (Value v : exact.getTerminator()->getOperands()) appendParts(e, v, parts);
  e.liveness.markDone(exact.getTerminator());
  releaseDead(e, exact);
  scf::YieldOp::create(e.b, parts);
  return success();
}

}  // namespace

LogicalResult emitSelectLazy(Emission& e, tile::SelectLazyOp op) {
  SmallVector<View> results;
  SmallVector<Value> usualParts;
  SmallVector<Type> types;
  for (auto [usual, result] : llvm::zip_equal(op.getUsual(), op.getResults())) {
    appendParts(e, usual, usualParts);
    appendPartTypes(usual, types);
    if (isTile(usual)) results.push_back(usualPlace(e, op, usual, result));
  }
  Value any = anyOf(e, op.getCondition());
  auto branch = scf::IfOp::create(e.b, types, any, /*withElseRegion=*/!types.empty());
  {
    OpBuilder::InsertionGuard guard(e.b);
    if (failed(emitExact(e, op, *branch.thenBlock(), results))) return failure();
    if (!types.empty()) {
      e.b.setInsertionPointToEnd(branch.elseBlock());
      scf::YieldOp::create(e.b, usualParts);
    }
  }
  // A buffer that was the usual value's is the result's now.
  for (Value usual : op.getUsual())
    if (View* view = e.tiles.find(usual); view && llvm::any_of(results, [&](const View& r) { return r.slot == view->slot; }))
      view->slot = -1;
  bindValues(e, op.getResults(), branch.getResults(), results);
  ownTiles(e, op.getResults());
  return success();
}

}  // namespace fattn::cpu
