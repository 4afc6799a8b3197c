// SPDX-License-Identifier: Apache-2.0
// The ways to spread a dot over the warps of a block: one for each instruction that fits, each factorization of the warps into rows times
// columns, and, where the instruction's fragments allow it, for the product or its transpose:
//
//   %c = tile.dot %a, %b        as it is              lanes have columns of %c, registers rows
//                               as (%b^T %a^T)^T      lanes have rows of %c, registers columns: what is reduced along a row stays in a
//                               lane,
//                                                     and %c may be the first operand of a further product as it is
//
// Rows of the machine table that differ in the depth's order (MatrixInstruction::inRuns) are ways like others: operands that come from
// memory are read in wider pieces, while a result of another dot may have the order of the other row.
//
// Instructions of warp groups, which read shared memory themselves, are one more way: all groups along the rows, or as many as the rows
// suffice for, and the others along the columns (sharedColumns). Of 192 columns two groups have parts of 32 in turns: layouts have an odd
// factor outside of all else, and one instruction reads columns of shared memory that are equally far apart. Where a dot is to have one
// group as its owner, or is one of a pair of which each group computes one, one group's instructions are the only way.
#include "compiler/gpu/Fragments.h"
#include "compiler/gpu/passes/DotShapes.h"
#include "compiler/gpu/passes/layouts/AssignLayouts.h"
#include "compiler/gpu/passes/lazy/ExactSides.h"
#include "compiler/layout/Tiling.h"
#include "compiler/transforms/Divisibility.h"
#include "fattn/Error.h"

using namespace mlir;

namespace fattn::tilegpu {

using layout::kRegister, layout::kWarp, layout::LinearLayout, layout::Operand;

/// The depth of the fragments: that of the instruction, or of its shallowest form where the tile is no multiple; 0 where it does not fit.
static int depthFor(tile::DotOp dot, const gpu::MatrixInstruction& row) {
  DotShape size = sizeOf(dot), granule = granuleOf(row);
  if (size.m % granule.m || size.n % granule.n || size.k % granule.k) return 0;
  return size.k % row.k == 0 ? row.k : static_cast<int>(granule.k);
}

static LogicalResult wrongSize(tile::DotOp dot, const gpu::MatrixInstruction& row) {
  DotShape size = sizeOf(dot), granule = granuleOf(row);
  return dot.emitOpError() << "is " << size.m << " x " << size.n << " with a depth of " << size.k << "; matrix instructions for "
                           << dot.getA().getType().getElementType() << " need rows in multiples of " << granule.m << ", columns of "
                           << granule.n << " and a depth of " << granule.k;
}

/// One of the ways: warps along rows times warps along columns, and that many times as many that hold copies; of the transpose or not.
struct Spread {
  int64_t rows = 1, columns = 1, copies = 1;
  bool transposed = false;
};

static DotOption optionFor(tile::DotOp dot, const gpu::MatrixInstruction& row, int k, const Spread& warps, LayoutPool& pool) {
  auto [m, n, depth] = sizeOf(dot);
  int bits = elementBits(dot.getA().getType().getElementType());
  LinearLayout idle = LinearLayout::broadcast(kWarp, warps.copies), fragment = gpu::fragmentOf(row, Operand::C, k, bits);
  auto each = static_cast<double>(fragment.inputSize(kRegister));
  const int swap[] = {1, 0};
  if (warps.transposed) fragment = fragment.transpose(swap);
  LinearLayout c = layout::tileFragment(fragment, {m, n}, {warps.rows, warps.columns}) * idle;
  // Warps that have the same rows hold copies of A, those with the same columns copies of B.
  LinearLayout a = layout::tileFragment(gpu::fragmentOf(row, Operand::A, k, bits), {m, depth}, {warps.rows, 1}) *
                   LinearLayout::broadcast(kWarp, warps.columns) * idle;
  LinearLayout b = LinearLayout::broadcast(kWarp, warps.rows) *
                   layout::tileFragment(gpu::fragmentOf(row, Operand::B, k, bits), {depth, n}, {1, warps.columns}) * idle;
  DotOption option{.a = pool.number(a.asTile(2)), .b = pool.number(b.asTile(2)), .c = pool.number(c.asTile(2))};
  // Registers of all warps in fragments: where warps outnumber them, several do the same.
  double fragments = static_cast<double>(c.inputSize(kRegister)) / each * static_cast<double>(pool.warps());
  const double steps = fragments * static_cast<double>(depth) / k;
  option.cycles = steps * (row.cyclesOf(row.stepN, false).value_or(2) + row.pieces / pool.target().rates.issue);
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
  UnitReads reads = unitReadsOf(dot, operand, transposed);
  if (load.getType().getDimSize(0) == load.getType().getDimSize(1)) reads = reads.with(unitReadsOf(dot, operand, !transposed));
  return !matrixUnitLayouts(load.getType().getShape(), bitsOf(load.getResult()), reads).empty();
}

/// Whether instructions of warp groups take the dot's types: of 16 bits. With others an operand may not be transposed, and sums of f8 are
/// kept in fewer bits than f32 has.
static bool suitsGroups(tile::DotOp dot, const gpu::MatrixInstruction& row) {
  Type element = dot.getA().getType().getElementType();
  return row.takes(tile::dtypeOf(element)) && element == dot.getB().getType().getElementType() && bitsOf(dot.getA()) == 16 &&
         dot.getType().getElementType().isF32() && sizeOf(dot).k % row.k == 0 && canLieInShared(dot, 1);
}

/// How groups share the columns: the fewest, as each group along them reads all of A's rows again. Nothing where the row does not serve.
static std::optional<SharedColumns> groupsAlongColumns(tile::DotOp dot, const gpu::MatrixInstruction& row, int64_t warps) {
  if (!suitsGroups(dot, row)) return std::nullopt;
  auto type = cast<ShapedType>(dot.getB().getType());
  ArrayRef<int64_t> memory = loadBehind(dot.getB()).getType().getShape();
  const bool alongRows = memory[0] == type.getDimSize(1) && memory[0] != memory[1];
  return sharedColumns(sizeOf(dot), row, warps, bitsOf(dot.getB()), alongRows);
}

/// The dot as instructions of warp groups, on the fragments that `first`, an instruction in registers, has for a group's columns; nothing
/// where the row does not serve.
static std::optional<DotOption> groupOption(tile::DotOp dot, const gpu::MatrixInstruction& row, const gpu::MatrixInstruction& first, int k,
                                            LayoutPool& pool) {
  const std::optional<SharedColumns> shared = groupsAlongColumns(dot, row, pool.warps());
  if (!shared) return std::nullopt;
  const int64_t columns = shared->groups, part = shared->part, rows = pool.warps() / row.warps / columns;
  auto [m, n, depth] = sizeOf(dot);
  const int bits = elementBits(dot.getA().getType().getElementType());
  const int64_t warps = rows * row.warps;
  // Parts that are no power of two together lie outside of the groups.
  const LinearLayout along = LinearLayout::identity(kWarp, columns, layout::dim(1)),
                     parts = LinearLayout::identity(kRegister, n / columns / part, layout::dim(1));
  LinearLayout c = layout::tileFragment(gpu::fragmentOf(first, Operand::C, k, bits), {m, part}, {warps, 1}) * along * parts;
  LinearLayout a =
      layout::tileFragment(gpu::fragmentOf(first, Operand::A, k, bits), {m, depth}, {warps, 1}) * LinearLayout::broadcast(kWarp, columns);
  LinearLayout b = LinearLayout::broadcast(kWarp, warps) *
                   layout::tileFragment(gpu::fragmentOf(first, Operand::B, k, bits), {depth, part}, {1, 1}) * along * parts;
  if (!gpu::groupGridOf(c.asTile(2), row.m, row.warps)) return std::nullopt;
  DotOption option{.a = pool.number(a.asTile(2)), .b = pool.number(b.asTile(2)), .c = pool.number(c.asTile(2))};
  option.row = &row;
  option.depth = row.k;
  option.sharedA = canLieInShared(dot, 0);
  option.sharedB = true;
  const int64_t each = n / columns;
  double instructions = static_cast<double>(m) / row.m * static_cast<double>(depth) / row.k * static_cast<double>(columns);
  option.cycles = instructions * row.cyclesOf(static_cast<int>(each), option.sharedA).value_or(static_cast<double>(each) / 2);
  return option;
}

/// The dot as instructions of one warp group, its owner or one of a pair, for which the others hold copies; nothing where the row does not
/// serve.
static std::optional<DotOption> ownerOption(tile::DotOp dot, const gpu::MatrixInstruction& row, const gpu::MatrixInstruction& first, int k,
                                            LayoutPool& pool) {
  auto [m, n, depth] = sizeOf(dot);
  if (!suitsGroups(dot, row) || !sharedColumns(sizeOf(dot), row, row.warps, bitsOf(dot.getB()), false)) return std::nullopt;
  const int bits = elementBits(dot.getA().getType().getElementType());
  const LinearLayout others = LinearLayout::broadcast(kWarp, pool.warps() / row.warps);
  LinearLayout c = layout::tileFragment(gpu::fragmentOf(first, Operand::C, k, bits), {m, n}, {row.warps, 1}) * others;
  LinearLayout a = layout::tileFragment(gpu::fragmentOf(first, Operand::A, k, bits), {m, depth}, {row.warps, 1}) * others;
  LinearLayout b = LinearLayout::broadcast(kWarp, row.warps) *
                   layout::tileFragment(gpu::fragmentOf(first, Operand::B, k, bits), {depth, n}, {1, 1}) * others;
  DotOption option{.a = pool.number(a.asTile(2)), .b = pool.number(b.asTile(2)), .c = pool.number(c.asTile(2))};
  option.row = &row;
  option.depth = row.k;
  option.sharedA = dot->hasAttr(kPairedAttr);
  option.sharedB = true;
  double instructions = static_cast<double>(m) / row.m * static_cast<double>(depth) / row.k;
  option.cycles = instructions * row.cyclesOf(static_cast<int>(n), /*aInShared=*/true).value_or(static_cast<double>(n) / 2);
  return option;
}

/// Adds the ways of one instruction in registers.
static void addOptions(tile::DotOp dot, const gpu::MatrixInstruction& row, int k, LayoutPool& pool, std::vector<DotOption>& options) {
  const size_t before = options.size();
  bool mirrored = gpu::isMirrored(row, k, elementBits(dot.getA().getType().getElementType()));
  auto add = [&](int64_t spread, int64_t copies) {
    for (int64_t rows = spread; rows >= 1; --rows) {
      if (spread % rows) continue;
      try {
        options.push_back(optionFor(dot, row, k, {rows, spread / rows, copies}, pool));
        if (mirrored) options.push_back(optionFor(dot, row, k, {rows, spread / rows, copies, /*transposed=*/true}, pool));
      } catch (const Error&) {
        continue;  // an odd number of warps cannot share the fragments evenly in this way
      }
    }
  };
  add(pool.warps(), 1);
  // The power of two in their number always can; the others do the same again.
  int64_t even = pool.warps() & -pool.warps();
  if (options.size() == before) add(even, pool.warps() / even);
}

FailureOr<std::vector<DotOption>> dotOptions(tile::DotOp dot, LayoutPool& pool) {
  auto rows = instructionsFor(dot.getA().getType().getElementType(), dot.getB().getType().getElementType(), pool.target());
  if (rows.empty()) return noInstruction(dot, pool.target());
  const gpu::MatrixInstruction& first = *instructionFor(dot, pool.target());
  int depth = depthFor(dot, first);
  if (depth == 0) return wrongSize(dot, first);
  std::vector<DotOption> options;
  for (const gpu::MatrixInstruction& group : pool.target().matrix) {
    if (isForSingleWarps(dot, pool.target(), pool.warps())) break;
    if (!group.asynchronous || !group.a.has(gpu::Home::Registers) || pool.warps() % group.warps) continue;
    if (dot->hasAttr(kOwnedAttr) || dot->hasAttr(kPairedAttr))
      if (auto option = ownerOption(dot, group, first, depth, pool)) return std::vector{*option};
    if (auto option = groupOption(dot, group, first, depth, pool)) options.push_back(*option);
  }
  for (const gpu::MatrixInstruction* row : rows)
    if (int k = depthFor(dot, *row)) addOptions(dot, *row, k, pool, options);
  return options;
}

}  // namespace fattn::tilegpu
