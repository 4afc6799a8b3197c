// SPDX-License-Identifier: Apache-2.0
// Register-blocked matrix products. One operand is read as vectors along the lane dimension of the result, elements of the other are
// broadcast; a block of rows x vectors accumulators stays in registers over the whole contraction:
//
//   for lane step, row step:  acc[r][v] = load         for k:  b[v] = vectors[k][lane + v*L]
//                                                             acc[r][v] += splat(broadcast[row + r][k]) * b[v]
//                             store acc[r][v]
#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/Convert.h"
#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/nests/Materialize.h"
#include "compiler/cpu/nests/Nest.h"
#include "compiler/cpu/operations/DotOperands.h"
#include "compiler/cpu/operations/Operations.h"
#include "compiler/cpu/state/Emission.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// What all register blocks of a product share.
struct Panel {
  DotKind kind;
  View vectors, broadcast, acc;
  int kVector, kBroadcast;  ///< the contracted dimension of either operand
  int64_t depth;            ///< trips of the contraction loop
  bool zero;                ///< start from zero instead of loading the accumulators
};

Value multiplyAdd(HostBuilder& b, DotKind kind, Value broadcast, Value vector, Value acc) {
  if (kind == DotKind::F32) {
    if (b.host.fma) return math::FmaOp::create(b, broadcast, vector, acc);
    return arith::AddFOp::create(b, arith::MulFOp::create(b, broadcast, vector), acc);
  }
  if (kind == DotKind::I32) return arith::AddIOp::create(b, arith::MulIOp::create(b, broadcast, vector), acc);
  auto pairs = VectorType::get({2 * b.host.lanes}, b.getBF16Type());
  Value x = LLVM::BitcastOp::create(b, pairs, vector), y = LLVM::BitcastOp::create(b, pairs, broadcast);
  const char* name = b.host.lanes == 16 ? "llvm.x86.avx512bf16.dpbf16ps.512" : "llvm.x86.avx512bf16.dpbf16ps.256";
  return b.call(name, acc.getType(), {acc, x, y});
}

/// The accumulators t.rows x t.vectors from `row` and `lane` on, over the whole contraction.
struct RegisterBlock {
  HostBuilder& b;
  const Panel& panel;
  Tiling t;
  Value lane, row;

  void emit() const;

 private:
  static constexpr int64_t kAlign = 4;

  Value plus(Value start, int64_t n) const { return b.toValue(b.add(start, b.getI64IntegerAttr(n))); }
  Value laneOfVector(int64_t v) const { return plus(lane, v * b.host.lanes); }
  VectorType vectorOf(Type element) const { return VectorType::get({b.host.lanes}, element); }
  VectorType operandType() const { return vectorOf(computeType(b.getContext(), panel.kind)); }
  Value accAddress(int64_t r, int64_t v) const;
  Value initial(int64_t r, int64_t v) const;
  Value loadVector(Value k, int64_t v) const;
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

Value RegisterBlock::loadVector(Value k, int64_t v) const {
  SmallVector<Value> index(2);
  index[panel.kVector] = k;
  index[1 - panel.kVector] = laneOfVector(v);
  return LLVM::LoadOp::create(b, operandType(), addressOf(b, panel.vectors, index), kAlign);
}

Value RegisterBlock::loadBroadcast(Value k, int64_t r) const {
  SmallVector<Value> index(2);
  index[panel.kBroadcast] = k;
  index[1 - panel.kBroadcast] = plus(row, r);
  unsigned align = panel.broadcast.element.getIntOrFloatBitWidth() / 8;
  Value x = LLVM::LoadOp::create(b, operandType().getElementType(), addressOf(b, panel.broadcast, index), align);
  return vector::BroadcastOp::create(b, operandType(), x);
}

SmallVector<Value> RegisterBlock::trip(Value k, ValueRange accs) const {
  SmallVector<Value> vectors, next;
  for (int64_t v = 0; v < t.vectors; ++v) vectors.push_back(loadVector(k, v));
  for (int64_t r = 0; r < t.rows; ++r) {
    Value wide = loadBroadcast(k, r);
    for (int64_t v = 0; v < t.vectors; ++v) next.push_back(multiplyAdd(b, panel.kind, wide, vectors[v], accs[r * t.vectors + v]));
  }
  return next;
}

void RegisterBlock::emit() const {
  SmallVector<Value> init;
  for (int64_t r = 0; r < t.rows; ++r)
    for (int64_t v = 0; v < t.vectors; ++v) init.push_back(initial(r, v));
  SmallVector<Value> sums = b.loop(b.i64(0), b.i64(panel.depth), 1, init, [&](Value k, ValueRange accs) { return trip(k, accs); });
  for (int64_t r = 0; r < t.rows; ++r)
    for (int64_t v = 0; v < t.vectors; ++v) LLVM::StoreOp::create(b, sums[r * t.vectors + v], accAddress(r, v), kAlign);
}

/// Blocks of `step` of `total` things: a loop over the full ones, then what is left. `block` gets where one begins, counted in `unit` for
/// each thing, and how many things it has.
void forBlocks(HostBuilder& b, int64_t total, int64_t step, int64_t unit, function_ref<void(Value, int64_t)> block) {
  int64_t full = total / step * step;
  if (full == step)
    block(b.i64(0), step);
  else
    b.loop(b.i64(0), b.i64(full * unit), step * unit, [&](Value at) { block(at, step); });
  if (full < total) block(b.i64(full * unit), total - full);
}

void multiply(HostBuilder& b, const Panel& panel, Tiling whole) {
  Tiling t = chooseTiling(b.host, whole.rows, whole.vectors);
  forBlocks(b, whole.vectors, t.vectors, b.host.lanes, [&](Value lane, int64_t vectors) {
    forBlocks(b, whole.rows, t.rows, 1, [&](Value row, int64_t rows) { RegisterBlock{b, panel, {rows, vectors}, lane, row}.emit(); });
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

View accumulatorFor(Emission& e, tile::DotOp op, int lane, bool isZero) {
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
              .vectors = dotOperand(e, op, Role::Vectors),
              .broadcast = dotOperand(e, op, Role::Broadcast),
              .acc = {},
              .kVector = operandOf(op, Role::Vectors, e.lanes).second,
              .kBroadcast = operandOf(op, Role::Broadcast, e.lanes).second,
              .depth = cast<RankedTensorType>(op.getA().getType()).getDimSize(1) / (kind == DotKind::Bf16Pairs ? 2 : 1),
              .zero = matchPattern(op.getAcc(), m_AnyZeroFloat()) || matchPattern(op.getAcc(), m_Zero())};
  panel.acc = accumulatorFor(e, op, lane, panel.zero);
  multiply(e.b, panel, productSize(host, op, e.lanes));
  for (View* operand : {&panel.vectors, &panel.broadcast}) e.buffers.release(*operand);
  e.tiles.placeOwned(op.getResult(), rounded(e, panel.acc, cast<RankedTensorType>(op.getType()).getElementType()));
}

}  // namespace fattn::cpu
