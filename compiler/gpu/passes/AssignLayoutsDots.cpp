// SPDX-License-Identifier: Apache-2.0
// The ways to spread a dot over the warps of a block: one for each factorization of the warps into rows times columns. Instructions of warp
// groups, which read shared memory themselves, are one more way: all warps along the rows.
#include "compiler/gpu/passes/AssignLayouts.h"
#include "compiler/gpu/passes/DotShapes.h"
#include "compiler/layout/Nvidia.h"
#include "compiler/layout/Tiling.h"
#include "compiler/transforms/Divisibility.h"
#include "fattn/Error.h"

using namespace mlir;

namespace fattn::tilegpu {

using layout::kRegister, layout::kWarp, layout::LinearLayout, layout::Operand;

/// The depth of the fragments: that of the instruction, or half of it where the tile is no multiple and there is such an instruction.
static FailureOr<int> depthFor(tile::DotOp dot, const gpu::MatrixInstruction& row) {
  ArrayRef<int64_t> shape = dot.getType().getShape();
  int64_t depth = dot.getA().getType().getDimSize(1);
  DotShape granule = granuleOf(dot, row);
  if (shape[0] % granule.m == 0 && shape[1] % granule.n == 0 && depth % granule.k == 0)
    return depth % row.k == 0 ? row.k : static_cast<int>(granule.k);
  return dot.emitOpError() << "is " << shape[0] << " x " << shape[1] << " with a depth of " << depth << "; matrix instructions for "
                           << dot.getA().getType().getElementType() << " need rows in multiples of " << granule.m << ", columns of "
                           << granule.n << " and a depth of " << granule.k;
}

/// One of the ways: warps along rows times warps along columns, and that many times as many that hold copies.
struct Spread {
  int64_t rows = 1, columns = 1, copies = 1;
};

static DotOption optionFor(tile::DotOp dot, const gpu::MatrixInstruction& row, int k, const Spread& warps, LayoutPool& pool) {
  int64_t m = dot.getType().getDimSize(0), n = dot.getType().getDimSize(1), depth = dot.getA().getType().getDimSize(1);
  int bits = elementBits(dot.getA().getType().getElementType());
  LinearLayout idle = LinearLayout::broadcast(kWarp, warps.copies);
  LinearLayout c = layout::tileFragment(layout::nvidia::mma(Operand::C, k, bits), {m, n}, {warps.rows, warps.columns}) * idle;
  // Warps that have the same rows hold copies of A, those with the same columns copies of B.
  LinearLayout a = layout::tileFragment(layout::nvidia::mma(Operand::A, k, bits), {m, depth}, {warps.rows, 1}) *
                   LinearLayout::broadcast(kWarp, warps.columns) * idle;
  LinearLayout b = LinearLayout::broadcast(kWarp, warps.rows) *
                   layout::tileFragment(layout::nvidia::mma(Operand::B, k, bits), {depth, n}, {1, warps.columns}) * idle;
  DotOption option{.a = pool.number(a.asTile(2)), .b = pool.number(b.asTile(2)), .c = pool.number(c.asTile(2))};
  // Registers of all warps in fragments: where warps outnumber them, several do the same.
  double fragments = static_cast<double>(c.inputSize(kRegister)) / 4 * static_cast<double>(pool.warps());
  option.cycles = fragments * static_cast<double>(depth) / k * row.cyclesOf(row.stepN, false).value_or(2);
  option.row = &row;
  option.depth = k;
  return option;
}

/// Whether a load brings the operand, in rows that the matrix unit can read.
static bool canLieInShared(tile::DotOp dot, unsigned operand) {
  tile::LoadOp load = loadBehind(dot->getOperand(operand));
  if (!load || transforms::contiguousDim(load.getPtr()).value_or(1) != 1) return false;
  bool transposed = load.getType().getShape() != cast<ShapedType>(dot->getOperand(operand).getType()).getShape();
  // A square tile may be either: what serves both does.
  int64_t rows = rowsTogether(dot, operand, transposed);
  if (load.getType().getDimSize(0) == load.getType().getDimSize(1)) rows = std::max(rows, rowsTogether(dot, operand, !transposed));
  return !matrixUnitLayouts(load.getType().getShape(), bitsOf(load.getResult()), rows).empty();
}

/// The dot as instructions of warp groups, on the fragments of `spread` (all warps along the rows); nothing where the row does not serve.
/// Rows of 16-bit types only: with others an operand may not be transposed, and sums of f8 are kept in fewer bits than f32 has.
static std::optional<DotOption> groupOption(tile::DotOp dot, const gpu::MatrixInstruction& row, const DotOption& spread, LayoutPool& pool) {
  Type element = dot.getA().getType().getElementType();
  int64_t m = dot.getType().getDimSize(0), n = dot.getType().getDimSize(1), depth = dot.getA().getType().getDimSize(1);
  bool types = row.takes(tile::dtypeOf(element)) && element == dot.getB().getType().getElementType() && bitsOf(dot.getA()) == 16 &&
               dot.getType().getElementType().isF32();
  if (!types || pool.warps() % row.warps || m % (row.m * (pool.warps() / row.warps))) return std::nullopt;
  if (n < row.minN || n > row.maxN || n % row.stepN || depth % row.k || !canLieInShared(dot, 1)) return std::nullopt;
  DotOption option = spread;
  option.row = &row;
  option.depth = row.k;
  option.sharedA = canLieInShared(dot, 0);
  option.sharedB = true;
  double instructions = static_cast<double>(m) / row.m * static_cast<double>(depth) / row.k;
  option.cycles = instructions * row.cyclesOf(static_cast<int>(n), option.sharedA).value_or(static_cast<double>(n) / 2);
  return option;
}

FailureOr<std::vector<DotOption>> dotOptions(tile::DotOp dot, LayoutPool& pool) {
  FailureOr<const gpu::MatrixInstruction*> row = instructionFor(dot, pool.target());
  if (failed(row)) return failure();
  FailureOr<int> k = depthFor(dot, **row);
  if (failed(k)) return failure();
  std::vector<DotOption> options;
  for (const gpu::MatrixInstruction& group : pool.target().matrix) {
    if (!group.asynchronous || !group.a.has(gpu::Home::Registers) || pool.warps() % group.warps) continue;
    if (dot.getType().getDimSize(0) % ((*row)->m * pool.warps())) continue;
    if (auto option = groupOption(dot, group, optionFor(dot, **row, *k, {pool.warps(), 1, 1}, pool), pool)) options.push_back(*option);
  }
  auto add = [&](int64_t spread, int64_t copies) {
    for (int64_t rows = spread; rows >= 1; --rows) {
      if (spread % rows) continue;
      try {
        options.push_back(optionFor(dot, **row, *k, {rows, spread / rows, copies}, pool));
      } catch (const Error&) {
        continue;  // an odd number of warps cannot share the fragments evenly in this way
      }
    }
  };
  add(pool.warps(), 1);
  // The power of two in their number always can; the others do the same again.
  int64_t even = pool.warps() & -pool.warps();
  if (options.empty()) add(even, pool.warps() / even);
  return options;
}

}  // namespace fattn::tilegpu
