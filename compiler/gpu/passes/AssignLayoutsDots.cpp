// SPDX-License-Identifier: Apache-2.0
// The ways to spread a dot over the warps of a block: one for each factorization of the warps into rows times columns.
#include "compiler/gpu/passes/AssignLayouts.h"
#include "compiler/layout/Nvidia.h"
#include "compiler/layout/Tiling.h"
#include "fattn/Error.h"

using namespace mlir;

namespace fattn::tilegpu {

using layout::kLane, layout::kRegister, layout::kWarp, layout::LinearLayout, layout::Operand;

static std::string typeNames(const gpu::Target& target) {
  std::string text;
  for (const gpu::MatrixInstruction& row : target.matrix) {
    if (!row.a.has(gpu::Home::Registers) || !row.b.has(gpu::Home::Registers)) continue;
    for (DType type : row.types) text += (text.empty() ? "" : ", ") + std::string(name(type));
  }
  return text;
}

/// The instruction with all operands in registers.
static FailureOr<const gpu::MatrixInstruction*> instructionFor(tile::DotOp dot, const gpu::Target& target) {
  Type a = dot.getA().getType().getElementType(), b = dot.getB().getType().getElementType();
  for (const gpu::MatrixInstruction& row : target.matrix) {
    bool inRegisters = row.a.has(gpu::Home::Registers) && row.b.has(gpu::Home::Registers) && row.accumulator.has(gpu::Home::Registers);
    bool floats = isa<FloatType>(a) && isa<FloatType>(b);
    if (inRegisters && floats && row.layout == "mma.m16n8" && row.takes(tile::dtypeOf(a)) && row.takes(tile::dtypeOf(b))) return &row;
  }
  return dot.emitOpError() << "has operands of " << a << " and " << b << ", for which " << target.name
                           << " has no matrix instruction on registers; it has them for " << typeNames(target);
}

/// The depth of the fragments: that of the instruction, or half of it where the tile is no multiple.
static FailureOr<int> depthFor(tile::DotOp dot, const gpu::MatrixInstruction& row) {
  ArrayRef<int64_t> shape = dot.getType().getShape();
  int64_t depth = dot.getA().getType().getDimSize(1);
  if (shape[0] % row.m == 0 && shape[1] % row.stepN == 0 && depth % (row.k / 2) == 0) return depth % row.k == 0 ? row.k : row.k / 2;
  return dot.emitOpError() << "is " << shape[0] << " x " << shape[1] << " with a depth of " << depth
                           << "; the matrix instructions of its types "
                           << "need multiples of " << row.m << " x " << row.stepN << " and of " << row.k / 2;
}

static DotOption optionFor(tile::DotOp dot, const gpu::MatrixInstruction& row, int k, int64_t rowWarps, LayoutPool& pool) {
  int64_t m = dot.getType().getDimSize(0), n = dot.getType().getDimSize(1), depth = dot.getA().getType().getDimSize(1);
  int64_t columnWarps = pool.warps() / rowWarps;
  int bits = elementBits(dot.getA().getType().getElementType());
  LinearLayout c = layout::tileFragment(layout::nvidia::mma(Operand::C, k, bits), {m, n}, {rowWarps, columnWarps});
  // Warps that have the same rows hold copies of A, those with the same columns copies of B.
  LinearLayout a = layout::tileFragment(layout::nvidia::mma(Operand::A, k, bits), {m, depth}, {rowWarps, 1}) *
                   LinearLayout::broadcast(kWarp, columnWarps);
  LinearLayout b = LinearLayout::broadcast(kWarp, rowWarps) *
                   layout::tileFragment(layout::nvidia::mma(Operand::B, k, bits), {depth, n}, {1, columnWarps});
  DotOption option{.a = pool.number(a.asTile(2)), .b = pool.number(b.asTile(2)), .c = pool.number(c.asTile(2))};
  // Registers of all warps in fragments: where warps outnumber them, several do the same.
  double fragments = static_cast<double>(c.inputSize(kRegister)) / 4 * static_cast<double>(pool.warps());
  option.cycles = fragments * static_cast<double>(depth) / k * row.cyclesOf(row.stepN, false).value_or(2);
  return option;
}

FailureOr<std::vector<DotOption>> dotOptions(tile::DotOp dot, LayoutPool& pool) {
  FailureOr<const gpu::MatrixInstruction*> row = instructionFor(dot, pool.target());
  if (failed(row)) return failure();
  FailureOr<int> k = depthFor(dot, **row);
  if (failed(k)) return failure();
  std::vector<DotOption> options;
  std::string reason;
  for (int64_t rowWarps = pool.warps(); rowWarps >= 1; --rowWarps) {
    if (pool.warps() % rowWarps) continue;
    try {
      options.push_back(optionFor(dot, **row, *k, rowWarps, pool));
    } catch (const Error& error) {
      reason = error.what();
    }
  }
  if (options.empty()) return dot.emitOpError() << "cannot be spread over " << pool.warps() << " warps: " << reason;
  return options;
}

}  // namespace fattn::tilegpu
