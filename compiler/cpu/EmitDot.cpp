// SPDX-License-Identifier: Apache-2.0
// Register-blocked matrix products. One operand is read as vectors along the lane dimension of the result, elements of the other are
// broadcast; a block of rows x vectors accumulators stays in registers over the whole contraction:
//
//   for lane step, row step:  acc[r][v] = load         for k:  b[v] = vectors[k][lane + v*L]
//                                                             acc[r][v] += splat(broadcast[row + r][k]) * b[v]
//                             store acc[r][v]
#include "compiler/cpu/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::cpu {

Emitter::DotKind Emitter::dotKind(tile::DotOp op) const {
  auto a = cast<RankedTensorType>(op.getA().getType()), bt = cast<RankedTensorType>(op.getB().getType());
  if (isa<IntegerType>(a.getElementType())) return DotKind::I32;
  bool pairs = a.getElementType().isBF16() && bt.getElementType().isBF16() && a.getDimSize(1) % 2 == 0;
  return pairs && target.bf16Dot ? DotKind::Bf16Pairs : DotKind::F32;
}

Type Emitter::computeType(DotKind kind) { return kind == DotKind::F32 ? Type(b.getF32Type()) : Type(b.getI32Type()); }

/// The register block with the fewest cycles for the whole product: two loads and two multiply-adds a cycle, four cycles of latency.
Emitter::Tiling Emitter::chooseTiling(int64_t rows, int64_t laneVectors) const {
  Tiling best{1, 1};
  double bestCost = 1e30;
  for (int64_t v = 1; v <= std::min<int64_t>(4, laneVectors); ++v) {
    for (int64_t r = 1; r <= rows && (r + 1) * v + 1 <= target.registers; ++r) {
      auto block = [](int64_t r, int64_t v) { return r && v ? std::max({(r + v) / 2.0, r * v / 2.0, 4.0}) + 0.5 : 0.0; };
      int64_t lastRows = rows % r, lastVectors = laneVectors % v, fullRows = rows / r, fullVectors = laneVectors / v;
      double cost =
          fullVectors * (fullRows * block(r, v) + block(lastRows, v)) + (fullRows * block(r, lastVectors) + block(lastRows, lastVectors));
      // A remainder is a second copy of the code: it has to pay for that.
      cost *= 1 + 0.05 * (lastRows > 0) + 0.05 * (lastVectors > 0);
      if (cost < bestCost - 1e-9) {
        bestCost = cost;
        best = {r, v};
      }
    }
  }
  return best;
}

View Emitter::accumulator(tile::DotOp op, int lane, bool& isZero) {
  Value acc = op.getAcc();
  auto type = cast<RankedTensorType>(op.getType());
  isZero = matchPattern(acc, m_AnyZeroFloat()) || matchPattern(acc, m_Zero());
  if (auto it = views.find(acc); it != views.end() && it->second.slot >= 0 && !it->second.shared && it->second.lane == lane &&
                                 acc.getParentBlock() == op->getBlock() && type.getElementType().getIntOrFloatBitWidth() == 32 &&
                                 deadAfter(acc, [&](Operation* user) { return user == op; })) {
    View view = it->second;
    it->second.slot = -1;
    return view;
  }
  View view = allocate(type.getShape(), type.getElementType().isInteger() ? Type(b.getI32Type()) : Type(b.getF32Type()), lane);
  if (!isZero) materialize(acc, view);
  return view;
}

Value Emitter::call(StringRef intrinsic, Type result, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, loc, result, b.getStringAttr(intrinsic), operands).getResult(0);
}

Value Emitter::multiplyAdd(DotKind kind, Value broadcast, Value vector, Value acc) {
  if (kind == DotKind::F32) {
    if (target.fma) return math::FmaOp::create(b, loc, broadcast, vector, acc);
    return arith::AddFOp::create(b, loc, arith::MulFOp::create(b, loc, broadcast, vector), acc);
  }
  if (kind == DotKind::I32) return arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, broadcast, vector), acc);
  auto pairs = VectorType::get({2 * target.lanes}, b.getBF16Type());
  Value x = LLVM::BitcastOp::create(b, loc, pairs, vector), y = LLVM::BitcastOp::create(b, loc, pairs, broadcast);
  const char* name = target.lanes == 16 ? "llvm.x86.avx512bf16.dpbf16ps.512" : "llvm.x86.avx512bf16.dpbf16ps.256";
  return call(name, acc.getType(), {acc, x, y});
}

void Emitter::registerBlock(const Panel& panel, Tiling t, Value lane, Value row) {
  int64_t n = target.lanes;
  int laneDim = panel.acc.lane, rowDim = 1 - laneDim;
  auto type = VectorType::get({n}, panel.acc.element);
  auto accAt = [&](int64_t r, int64_t v) {
    SmallVector<Value> index(2);
    index[rowDim] = toValue(addOf(row, b.getI64IntegerAttr(r)));
    index[laneDim] = toValue(addOf(lane, b.getI64IntegerAttr(v * n)));
    return address(panel.acc, index);
  };
  SmallVector<Value> init, result;
  for (int64_t r = 0; r < t.rows; ++r)
    for (int64_t v = 0; v < t.vectors; ++v) {
      if (panel.zero)
        init.push_back(arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type)));
      else
        init.push_back(LLVM::LoadOp::create(b, loc, type, accAt(r, v), 4));
    }
  auto operandType = VectorType::get({n}, computeType(panel.kind));
  loop(i64(0), i64(panel.depth), 1, init, &result, [&](Value k, ValueRange accs) {
    SmallVector<Value> vectors, next;
    for (int64_t v = 0; v < t.vectors; ++v) {
      SmallVector<Value> index(2);
      index[panel.kVector] = k;
      index[1 - panel.kVector] = toValue(addOf(lane, b.getI64IntegerAttr(v * n)));
      vectors.push_back(LLVM::LoadOp::create(b, loc, operandType, address(panel.vectors, index), 4));
    }
    for (int64_t r = 0; r < t.rows; ++r) {
      SmallVector<Value> index(2);
      index[panel.kBroadcast] = k;
      index[1 - panel.kBroadcast] = toValue(addOf(row, b.getI64IntegerAttr(r)));
      unsigned align = panel.broadcast.element.getIntOrFloatBitWidth() / 8;
      Value x = LLVM::LoadOp::create(b, loc, operandType.getElementType(), address(panel.broadcast, index), align);
      Value wide = vector::BroadcastOp::create(b, loc, operandType, x);
      for (int64_t v = 0; v < t.vectors; ++v) next.push_back(multiplyAdd(panel.kind, wide, vectors[v], accs[r * t.vectors + v]));
    }
    return next;
  });
  for (int64_t r = 0; r < t.rows; ++r)
    for (int64_t v = 0; v < t.vectors; ++v) LLVM::StoreOp::create(b, loc, result[r * t.vectors + v], accAt(r, v), 4);
}

LogicalResult Emitter::emitDot(tile::DotOp op) {
  int lane = lanes.dotLane(op), rowDim = 1 - lane;
  auto type = cast<RankedTensorType>(op.getType());
  DotKind kind = dotKind(op);
  // Lane 1: rows of b are the vectors; lane 0: columns of a are.
  Value vectors = lane ? op.getB() : op.getA(), broadcast = lane ? op.getA() : op.getB();
  int kVector = lane ? 0 : 1, kBroadcast = lane ? 1 : 0;
  Panel panel{.kind = kind,
              .vectors = dotOperand(vectors, kVector, kind, Role::Vectors, readsOf(op, Role::Vectors)),
              .broadcast = dotOperand(broadcast, kBroadcast, kind, Role::Broadcast, readsOf(op, Role::Broadcast)),
              .acc = {},
              .kVector = kVector,
              .kBroadcast = kBroadcast,
              .depth = cast<RankedTensorType>(op.getA().getType()).getDimSize(1) / (kind == DotKind::Bf16Pairs ? 2 : 1),
              .zero = false};
  panel.acc = accumulator(op, lane, panel.zero);
  int64_t rows = type.getDimSize(rowDim), laneVectors = llvm::divideCeil(type.getDimSize(lane), target.lanes);
  Tiling t = chooseTiling(rows, laneVectors);
  auto rowBlocks = [&](int64_t vectorsNow, Value laneAt) {
    int64_t full = rows / t.rows * t.rows;
    if (full == t.rows)
      registerBlock(panel, {t.rows, vectorsNow}, laneAt, i64(0));
    else
      loop(i64(0), i64(full), t.rows, {}, nullptr, [&](Value r, ValueRange) {
        registerBlock(panel, {t.rows, vectorsNow}, laneAt, r);
        return SmallVector<Value>{};
      });
    if (full < rows) registerBlock(panel, {rows - full, vectorsNow}, laneAt, i64(full));
  };
  int64_t fullVectors = laneVectors / t.vectors * t.vectors;
  if (fullVectors == t.vectors)
    rowBlocks(t.vectors, i64(0));
  else
    loop(i64(0), i64(fullVectors * target.lanes), t.vectors * target.lanes, {}, nullptr, [&](Value l, ValueRange) {
      rowBlocks(t.vectors, l);
      return SmallVector<Value>{};
    });
  if (fullVectors < laneVectors) rowBlocks(laneVectors - fullVectors, i64(fullVectors * target.lanes));
  for (View* operand : {&panel.vectors, &panel.broadcast}) release(*operand);
  views[op.getResult()] = panel.acc;
  owners.push_back(op.getResult());
  if (panel.acc.element != type.getElementType()) {  // an f16 accumulator: computed in f32, rounded once
    View rounded = allocate(type.getShape(), type.getElementType(), lane);
    nestOver(rounded.shape, lane, [&](const Point& p) { storeAt(rounded, p, convert(loadAt(panel.acc, p), rounded.element)); });
    release(panel.acc);
    views[op.getResult()] = rounded;
  }
  return success();
}

}  // namespace fattn::cpu
