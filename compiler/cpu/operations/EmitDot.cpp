// SPDX-License-Identifier: Apache-2.0
// Register-blocked matrix products. One operand is read as vectors along the lane dimension of the result, elements of the other are
// broadcast; a block of rows x vectors accumulators stays in registers over the whole contraction:
//
//   for lane step, row step:  acc[r][v] = load         for k:  b[v] = vectors[k][lane + v*L]
//                                                             acc[r][v] += splat(broadcast[row + r][k]) * b[v]
//                             store acc[r][v]
//
// A few rows are multiplied along the contraction instead (SumBlocks.h).
#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/Convert.h"
#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/nests/Groups.h"
#include "compiler/cpu/nests/Materialize.h"
#include "compiler/cpu/nests/Nest.h"
#include "compiler/cpu/operations/DotOperands.h"
#include "compiler/cpu/operations/Operations.h"
#include "compiler/cpu/operations/SumBlocks.h"
#include "compiler/cpu/state/Emission.h"
#include "compiler/cpu/state/Expressions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// The accumulators t.rows x t.vectors from `row` and `lane` on, over the whole contraction.
struct RegisterBlock {
  HostBuilder& b;
  const Panel& panel;
  const Factor &vectors, &broadcast;
  Tiling t;
  Value lane, row;
  bool asksForBroadcast;  ///< for the rows of `broadcast` that the next trip of the loop around reads: no other block asks for them

  void emit() const;

 private:
  static constexpr int64_t kAlign = 4;

  Value plus(Value start, int64_t n) const { return b.toValue(b.add(start, b.getI64IntegerAttr(n))); }
  Value laneOfVector(int64_t v) const { return plus(lane, v * b.host.lanes); }
  VectorType vectorOf(Type element) const { return VectorType::get({b.host.lanes}, element); }
  Value accAddress(int64_t r, int64_t v) const;
  Value initial(int64_t r, int64_t v) const;
  SmallVector<Value> loadVectors(Value k) const;
  void askForRows(Value k) const;
  Value loadBroadcast(Value k, int64_t r) const;
  SmallVector<Value> trip(Value k, ValueRange accs) const;
};

Value RegisterBlock::accAddress(int64_t r, int64_t v) const {
  SmallVector<Value> index(2);
  index[1 - panel.acc.lane] = plus(row, r);
  index[panel.acc.lane] = laneOfVector(v);
  return addressOf(b, panel.acc, index);
}

Value RegisterBlock::initial(int64_t r, int64_t v) const {
  VectorType type = vectorOf(panel.acc.element);
  if (panel.zero) return arith::ConstantOp::create(b, type, b.getZeroAttr(type));
  return LLVM::LoadOp::create(b, type, accAddress(r, v), kAlign);
}

SmallVector<Value> RegisterBlock::loadVectors(Value k) const {
  if (isInterleaved(panel.kind, vectors)) return loadInterleaved(b, vectors, k, lane, t.vectors);
  SmallVector<Value> out;
  for (int64_t v = 0; v < t.vectors; ++v) out.push_back(loadTogether(b, panel.kind, vectors, k, laneOfVector(v)));
  return out;
}

/// Asks for each line of the rows that the trip reads, that far in front.
void RegisterBlock::askForRows(Value k) const {
  bool pairs = isInterleaved(panel.kind, vectors);
  int64_t bytes = bytesOfVector(b, panel.kind, vectors);
  Value first = pairs ? b.toValue(b.multiply(k, b.getI64IntegerAttr(2))) : k;
  for (int64_t r = 0; r < (pairs ? 2 : 1); ++r) {
    askAhead(b, vectors, plus(first, r), lane, b.host.pageAheadBytes);
    for (int64_t v = 0; v < t.vectors; ++v)
      if (v * bytes % b.host.lineBytes < bytes) askAhead(b, vectors, plus(first, r), laneOfVector(v), b.host.aheadBytes);
  }
}

Value RegisterBlock::loadBroadcast(Value k, int64_t r) const {
  SmallVector<Value> index(2);
  index[broadcast.k] = k;
  index[1 - broadcast.k] = plus(row, r);
  VectorType wide = operandType(b, panel.kind);
  Value x = LLVM::LoadOp::create(b, wide.getElementType(), addressOf(b, broadcast.view, index), bytesOf(broadcast.view.element));
  return vector::BroadcastOp::create(b, wide, x);
}

SmallVector<Value> RegisterBlock::trip(Value k, ValueRange accs) const {
  askForRows(k);
  if (asksForBroadcast) askInOrder(b, panel, broadcast, row, t.rows, k, 1);
  SmallVector<Value> of = loadVectors(k), next;
  for (int64_t r = 0; r < t.rows; ++r) {
    Value wide = loadBroadcast(k, r);
    for (int64_t v = 0; v < t.vectors; ++v) next.push_back(multiplyAdd(b, panel.kind, wide, of[v], accs[r * t.vectors + v]));
  }
  return next;
}

void RegisterBlock::emit() const {
  if (asksForBroadcast)
    for (int64_t r = 0; r < t.rows; ++r) askAhead(b, broadcast, b.i64(0), plus(row, r), b.host.pageAheadBytes);
  SmallVector<Value> init;
  for (int64_t r = 0; r < t.rows; ++r)
    for (int64_t v = 0; v < t.vectors; ++v) init.push_back(initial(r, v));
  SmallVector<Value> sums = b.loop(b.i64(0), b.i64(panel.depth), 1, init, [&](Value k, ValueRange accs) { return trip(k, accs); });
  for (int64_t r = 0; r < t.rows; ++r)
    for (int64_t v = 0; v < t.vectors; ++v) LLVM::StoreOp::create(b, sums[r * t.vectors + v], accAddress(r, v), kAlign);
}

void multiplyAlongLane(HostBuilder& b, const Panel& panel, Tiling whole) {
  const Factor &vectors = panel.factors[panel.acc.lane], &broadcast = panel.factors[1 - panel.acc.lane];
  Tiling t = chooseTiling(b.host, whole.rows, whole.vectors);
  const bool asks = t.vectors == whole.vectors && broadcast.view.readsOn == 1 - broadcast.k;
  forBlocks(b, whole.vectors, t.vectors, b.host.lanes, [&](Value lane, int64_t count) {
    forBlocks(b, whole.rows, t.rows, 1,
              [&](Value row, int64_t rows) { RegisterBlock{b, panel, vectors, broadcast, {rows, count}, lane, row, asks}.emit(); });
  });
}

/// Whether the accumulator that goes in is the sum that comes out: nobody else needs it, and its elements are as wide.
bool sumsInPlace(Emission& e, tile::DotOp op, int lane) {
  Value acc = op.getAcc();
  View* own = e.tiles.findOwn(acc);
  return own && own->lane == lane && acc.getParentBlock() == op->getBlock() &&
         tileType(acc).getElementType().getIntOrFloatBitWidth() == 32 &&
         e.liveness.deadAfter(acc, [&](Operation* user) { return user == op; });
}

/// A computed accumulator gets memory of its own, perhaps that of what it is computed from, which the sums then take over.
void computeAccumulator(Emission& e, tile::DotOp op, int lane) {
  Operation* made = op.getAcc().getDefiningOp();
  if (!isTransparent(e.tiles, made) || made->getBlock() != op->getBlock() || e.lanes.lane(op.getAcc()) != lane) return;
  addRoot(e, {made, op.getAcc()});
  flush(e);
}

View accumulatorFor(Emission& e, tile::DotOp op, int lane, bool isZero) {
  if (!isZero) computeAccumulator(e, op, lane);
  if (sumsInPlace(e, op, lane)) return taken(e.tiles.at(op.getAcc()));
  auto type = cast<RankedTensorType>(op.getType());
  View view =
      e.buffers.allocate(type.getShape(), type.getElementType().isInteger() ? Type(e.b.getI32Type()) : Type(e.b.getF32Type()), lane);
  if (!isZero) materialize(e, op.getAcc(), view);
  return view;
}

/// The accumulator as the result's element type: an f16 sum is computed in f32 and rounded once.
View rounded(Emission& e, View acc, Type element) {
  if (acc.element == element) return acc;
  View out = e.buffers.allocate(acc.shape, element, acc.lane);
  nestOver(e, out.shape, out.lane, [&](const Point& p) { storeAt(e.b, out, p, convert(e.b, loadAt(e.b, acc, p), element)); });
  e.buffers.release(acc);
  return out;
}

}  // namespace

void emitDot(Emission& e, tile::DotOp op) {
  const HostTarget& host = e.b.host;
  int lane = e.lanes.dotLane(op);
  DotKind kind = dotKind(host, op);
  Panel panel{.kind = kind,
              .factors = {},
              .acc = {},
              .depth = cast<RankedTensorType>(op.getA().getType()).getDimSize(1) / (kind == DotKind::Bf16Pairs ? 2 : 1),
              .zero = matchPattern(op.getAcc(), m_AnyZeroFloat()) || matchPattern(op.getAcc(), m_Zero())};
  for (int number : {lane, 1 - lane}) panel.factors[number] = {dotOperand(e, op, number), operandOf(op, number).second};
  panel.acc = accumulatorFor(e, op, lane, panel.zero);
  if (e.lanes.isAlongK(op))
    multiplyAlongK(e.b, panel);
  else
    multiplyAlongLane(e.b, panel, productSize(host, op, e.lanes));
  for (int number : {lane, 1 - lane}) e.buffers.release(panel.factors[number].view);
  e.tiles.placeOwned(op.getResult(), rounded(e, panel.acc, cast<RankedTensorType>(op.getType()).getElementType()));
}

}  // namespace fattn::cpu
