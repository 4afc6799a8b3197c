// SPDX-License-Identifier: Apache-2.0
// tile.select_lazy: the usual values are computed in place; if the condition holds anywhere in the tile, which is rare, one branch computes
// the exact ones and puts them where they belong.
//
//   %r = tile.select_lazy %cond usual(%u) { %e }   =>   r = u (same buffer)
//                                                       if (any lane of cond) { e = ...; for rows: r = cond ? e : r }
#include "compiler/cpu/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {
/// Is the condition true anywhere in the tile?
Value Emitter::anyOf(Value condition) {
  if (!isTile(condition)) return scalar(condition);
  auto shape = cast<RankedTensorType>(condition.getType()).getShape();
  int lane =
      lanes.lane(condition) >= 0 ? lanes.lane(condition) : (shape.empty() || shape.back() == 1 ? -1 : static_cast<int>(shape.size()) - 1);
  int64_t width = widthFor(shape, lane);
  int inner = lane >= 0 ? lane : 0;
  Value any;
  // Rows are one-dimensional: one loop over their vectors.
  Value start = splat(arith::ConstantOp::create(b, loc, b.getBoolAttr(false)), lane < 0 ? 1 : width);
  nest(
      shape, lane, width, inner, [&](const Point&) { return SmallVector<Value>{start}; },
      [&](const Point& p, ValueRange acc) {
        Value c = evalVector(condition, p);
        if (p.lane >= 0 && shape[p.lane] % width) {
          Value exists = laneExists(p, shape[p.lane]);
          c = arith::AndIOp::create(b, loc, c, exists);
        }
        return SmallVector<Value>{arith::OrIOp::create(b, loc, acc[0], c)};
      },
      [&](const Point&, ValueRange acc) { any = acc[0]; });
  if (isa<VectorType>(any.getType())) any = vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, any);
  return any;
}

/// The buffer of a result: the usual value's own if nobody needs that afterwards, else a copy of it.
View Emitter::usualPlace(tile::SelectLazyOp op, Value usual, Value result) {
  auto nestedUse = [&](Operation* user) { return user == op || op->isProperAncestor(user); };
  auto it = views.find(usual);
  if (it != views.end() && it->second.slot >= 0 && !it->second.shared && it->second.lane == lanes.lane(result) &&
      usual.getParentBlock() == op->getBlock() && llvm::count(op.getUsual(), usual) == 1 && deadAfter(usual, nestedUse))
    return it->second;
  auto type = cast<RankedTensorType>(usual.getType());
  View view = allocate(type.getShape(), type.getElementType(), lanes.lane(result));
  materialize(usual, view);
  return view;
}

LogicalResult Emitter::emitSelectLazy(tile::SelectLazyOp op) {
  SmallVector<View> results;
  SmallVector<Value> scalarsUsual;
  SmallVector<Type> scalarTypes;
  for (auto [usual, result] : llvm::zip_equal(op.getUsual(), op.getResults())) {
    flatten(usual, scalarsUsual);
    flattenTypes(usual, scalarTypes);
    if (isTile(usual)) results.push_back(usualPlace(op, usual, result));
  }
  Value any = anyOf(op.getCondition());
  auto branch = scf::IfOp::create(b, loc, scalarTypes, any, /*withElseRegion=*/!scalarTypes.empty());
  Block& exact = op.getExact().front();
  {
    OpBuilder::InsertionGuard guard(b);
    Block* then = branch.thenBlock();
    if (!then->empty()) then->back().erase();
    b.setInsertionPointToEnd(then);
    if (failed(emitBlock(exact))) return failure();
    mergeExact(op, results);
    SmallVector<Value> parts;
    for (Value v : exact.getTerminator()->getOperands()) flatten(v, parts);
    done.insert(exact.getTerminator());
    releaseDead(exact);
    scf::YieldOp::create(b, loc, parts);
    if (!scalarTypes.empty()) {
      b.setInsertionPointToEnd(branch.elseBlock());
      scf::YieldOp::create(b, loc, scalarsUsual);
    }
  }
  ValueRange parts = branch.getResults();
  size_t tile = 0;
  for (auto [usual, r] : llvm::zip_equal(op.getUsual(), op.getResults())) {
    unflatten(r, parts, nullptr);
    if (!isTile(r)) continue;
    if (auto it = views.find(usual); it != views.end() && it->second.slot == results[tile].slot) it->second.slot = -1;
    views[r] = results[tile++];
    owners.push_back(r);
  }
  return success();
}

/// Inside the rare branch: rows where the condition holds take what the exact side yielded.
void Emitter::mergeExact(tile::SelectLazyOp op, ArrayRef<View> results) {
  Value condition = op.getCondition();
  size_t tile = 0;
  SmallVector<View> exactViews;
  SmallVector<Value> yielded;
  for (Value v : op.getExact().front().getTerminator()->getOperands())
    if (isTile(v)) yielded.push_back(v);
  // The exact values may read the usual ones: all of them are computed before any is overwritten.
  for (Value v : yielded) {
    auto it = views.find(v);
    bool aliases = it == views.end() || llvm::any_of(results, [&](const View& r) { return r.slot == it->second.slot; });
    if (!aliases) {
      exactViews.push_back(it->second);
      exactViews.back().slot = -1;
      continue;
    }
    auto type = cast<RankedTensorType>(v.getType());
    exactViews.push_back(allocate(type.getShape(), type.getElementType(), results[exactViews.size()].lane));
    materialize(v, exactViews.back());
  }
  View rows;
  if (isTile(condition)) {
    auto type = cast<RankedTensorType>(condition.getType());
    rows = allocate(type.getShape(), type.getElementType(), lanes.lane(condition));
    materialize(condition, rows);
  }
  for (const View& into : results) {
    View& from = exactViews[tile++];
    nestOver(into.shape, into.lane, [&](const Point& p) {
      int64_t width = p.lane < 0 ? 1 : p.width;
      Value e = splat(loadAt(from, p), width), u = splat(loadAt(into, p), width), take;
      if (rows.base) {
        Point row{.index = {p.index[0]}, .lane = p.lane == 0 ? 0 : -1, .width = p.width};
        take = splat(loadAt(rows, row), width);
      } else {
        take = splat(scalar(condition), width);
      }
      storeAt(into, p, arith::SelectOp::create(b, loc, take, e, u));
    });
    release(from);
  }
  if (rows.base) release(rows);
}

}  // namespace fattn::cpu
