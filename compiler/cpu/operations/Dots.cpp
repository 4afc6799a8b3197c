// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/operations/Dots.h"

#include "compiler/cpu/lanes/LaneAssignment.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// Cycles of one trip of a register block: two loads and two multiply-adds a cycle, four cycles of latency.
double blockCycles(int64_t rows, int64_t vectors) {
  return rows && vectors ? std::max({(rows + vectors) / 2.0, rows * vectors / 2.0, 4.0}) + 0.5 : 0.0;
}

double productCycles(Tiling whole, Tiling t) {
  int64_t lastRows = whole.rows % t.rows, lastVectors = whole.vectors % t.vectors;
  int64_t fullRows = whole.rows / t.rows, fullVectors = whole.vectors / t.vectors;
  double cycles = fullVectors * (fullRows * blockCycles(t.rows, t.vectors) + blockCycles(lastRows, t.vectors)) +
                  (fullRows * blockCycles(t.rows, lastVectors) + blockCycles(lastRows, lastVectors));
  // A remainder is a second copy of the code: it has to pay for that.
  return cycles * (1 + 0.05 * (lastRows > 0) + 0.05 * (lastVectors > 0));
}

}  // namespace

DotKind dotKind(const HostTarget& host, tile::DotOp op) {
  auto left = cast<RankedTensorType>(op.getA().getType()), right = cast<RankedTensorType>(op.getB().getType());
  if (isa<IntegerType>(left.getElementType())) return DotKind::I32;
  bool pairs = left.getElementType().isBF16() && right.getElementType().isBF16() && left.getDimSize(1) % 2 == 0;
  return pairs && host.bf16Dot ? DotKind::Bf16Pairs : DotKind::F32;
}

Type computeType(MLIRContext* context, DotKind kind) {
  return kind == DotKind::F32 ? Type(Float32Type::get(context)) : Type(IntegerType::get(context, 32));
}

std::pair<Value, int> operandOf(tile::DotOp op, int number) {
  return number == 0 ? std::pair<Value, int>(op.getA(), 1) : std::pair<Value, int>(op.getB(), 0);
}

Role roleOf(tile::DotOp op, int number, const LaneAssignment& lanes) {
  if (lanes.isAlongK(op)) return Role::Along;
  // Lane 1: rows of b are the vectors; lane 0: columns of a are.
  return number == lanes.dotLane(op) ? Role::Vectors : Role::Broadcast;
}

SumBlock chooseSumBlock(const HostTarget& host, int64_t rows) {
  SumBlock best{1, host.lanes};
  for (int64_t r = 2; r <= host.lanes && r / 2 < rows; r *= 2)
    if (SumBlock block{r, host.lanes / r}; block.rows + block.columns <= best.rows + best.columns) best = block;
  best.rows = std::min(best.rows, rows);
  return best;
}

Tiling chooseTiling(const HostTarget& host, int64_t rows, int64_t laneVectors) {
  Tiling best{1, 1};
  double bestCycles = 1e30;
  for (int64_t v = 1; v <= std::min<int64_t>(4, laneVectors); ++v) {
    for (int64_t r = 1; r <= rows && (r + 1) * v + 1 <= host.registers; ++r) {
      double cycles = productCycles({rows, laneVectors}, {r, v});
      if (cycles < bestCycles - 1e-9) {
        bestCycles = cycles;
        best = {r, v};
      }
    }
  }
  return best;
}

Tiling productSize(const HostTarget& host, tile::DotOp op, const LaneAssignment& lanes) {
  auto type = cast<RankedTensorType>(op.getType());
  int lane = lanes.dotLane(op);
  return {type.getDimSize(1 - lane), static_cast<int64_t>(llvm::divideCeil(type.getDimSize(lane), host.lanes))};
}

int64_t readsOf(const HostTarget& host, tile::DotOp op, int number, const LaneAssignment& lanes) {
  if (lanes.isAlongK(op)) {
    auto shape = cast<RankedTensorType>(op.getType()).getShape();
    SumBlock block = chooseSumBlock(host, shape[0]);
    return number == 0 ? llvm::divideCeil(shape[1], block.columns) : llvm::divideCeil(shape[0], block.rows);
  }
  Tiling whole = productSize(host, op, lanes), t = chooseTiling(host, whole.rows, whole.vectors);
  return roleOf(op, number, lanes) == Role::Vectors ? llvm::divideCeil(whole.rows, t.rows) : llvm::divideCeil(whole.vectors, t.vectors);
}

}  // namespace fattn::cpu
