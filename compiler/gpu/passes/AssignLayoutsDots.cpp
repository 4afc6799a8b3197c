// SPDX-License-Identifier: Apache-2.0
// The ways to spread a dot over the warps of a block: one for each factorization of the warps into rows times columns.
#include "compiler/gpu/passes/AssignLayouts.h"
#include "compiler/layout/Nvidia.h"
#include "compiler/layout/Tiling.h"
#include "fattn/Error.h"

using namespace mlir;

namespace fattn::tilegpu {

using layout::kRegister, layout::kWarp, layout::LinearLayout, layout::Operand;

/// The layouts below are those of one family of instructions, whose operands are all in registers.
static bool isUsable(const gpu::MatrixInstruction& row) { return row.layout == "mma.m16n8"; }

static std::string usableTypes(const gpu::Target& target) {
  std::string text;
  for (const gpu::MatrixInstruction& row : target.matrix)
    for (DType type : row.types)
      if (isUsable(row)) text += (text.empty() ? "" : ", ") + std::string(name(type));
  return text.empty() ? "no types" : text;
}

static FailureOr<const gpu::MatrixInstruction*> instructionFor(tile::DotOp dot, const gpu::Target& target) {
  Type a = dot.getA().getType().getElementType(), b = dot.getB().getType().getElementType();
  for (const gpu::MatrixInstruction& row : target.matrix)
    if (isUsable(row) && row.takes(tile::dtypeOf(a)) && row.takes(tile::dtypeOf(b))) return &row;
  return dot.emitOpError() << "has operands of " << a << " and " << b << "; " << target.name
                           << " has matrix instructions of the form m16n8 for " << usableTypes(target);
}

/// The depth of the fragments: that of the instruction, or half of it where the tile is no multiple and there is such an instruction.
static FailureOr<int> depthFor(tile::DotOp dot, const gpu::MatrixInstruction& row) {
  Type element = dot.getA().getType().getElementType();
  ArrayRef<int64_t> shape = dot.getType().getShape();
  int64_t depth = dot.getA().getType().getDimSize(1);
  bool isWhole = element.isF32() || isa<Float8E4M3FNType, Float8E5M2Type>(element);
  int least = isWhole ? row.k : row.k / 2;
  if (shape[0] % row.m == 0 && shape[1] % row.stepN == 0 && depth % least == 0) return depth % row.k == 0 ? row.k : least;
  return dot.emitOpError() << "is " << shape[0] << " x " << shape[1] << " with a depth of " << depth << "; matrix instructions for "
                           << element << " need rows in multiples of " << row.m << ", columns of " << row.stepN << " and a depth of "
                           << least;
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
