// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/DotShapes.h"

#include "compiler/gpu/Fragments.h"

using namespace mlir;

namespace fattn::tilegpu {

static std::string usableTypes(const gpu::Target& target) {
  std::string text;
  for (const gpu::MatrixInstruction& row : target.matrix)
    for (DType type : row.types) {
      std::string known(name(type));
      if (row.isInRegisters() && text.find(known) == std::string::npos) text += (text.empty() ? "" : ", ") + known;
    }
  return text.empty() ? "no types" : text;
}

SmallVector<const gpu::MatrixInstruction*> instructionsFor(Type a, Type b, const gpu::Target& target) {
  SmallVector<const gpu::MatrixInstruction*> rows;
  for (const gpu::MatrixInstruction& row : target.matrix)
    if (row.isInRegisters() && row.takes(tile::dtypeOf(a)) && row.takes(tile::dtypeOf(b))) rows.push_back(&row);
  return rows;
}

const gpu::MatrixInstruction* instructionFor(Type a, Type b, const DotShape& size, const gpu::Target& target) {
  const gpu::MatrixInstruction* best = nullptr;
  int64_t least = 0;
  for (const gpu::MatrixInstruction* row : instructionsFor(a, b, target)) {
    DotShape granule = granuleOf(*row);
    int64_t volume = llvm::alignTo(size.m, granule.m) * llvm::alignTo(size.n, granule.n) * llvm::alignTo(size.k, granule.k);
    if (!best || volume < least) best = row, least = volume;
  }
  return best;
}

DotShape sizeOf(tile::DotOp dot) { return {dot.getType().getDimSize(0), dot.getType().getDimSize(1), dot.getA().getType().getDimSize(1)}; }

const gpu::MatrixInstruction* instructionFor(tile::DotOp dot, const gpu::Target& target) {
  return instructionFor(dot.getA().getType().getElementType(), dot.getB().getType().getElementType(), sizeOf(dot), target);
}

LogicalResult noInstruction(tile::DotOp dot, const gpu::Target& target) {
  return dot.emitOpError() << "has operands of " << dot.getA().getType().getElementType() << " and "
                           << dot.getB().getType().getElementType() << "; " << target.name
                           << " has matrix instructions that take registers for " << usableTypes(target);
}

DotShape granuleOf(const gpu::MatrixInstruction& row) { return {row.m, row.stepN, row.shallowest()}; }

/// The row that a record means: that of the name with this depth, else the first of the name that has a shallower form.
static const gpu::MatrixInstruction* recordedRow(const gpu::Target& target, InstructionAttr recorded, Type a) {
  const gpu::MatrixInstruction* found = nullptr;
  for (const gpu::MatrixInstruction& row : target.matrix) {
    if (StringRef(row.name) != recorded.getName().getValue() || !row.takes(tile::dtypeOf(a))) continue;
    if (row.k == recorded.getDepth()) return &row;
    if (!found) found = &row;
  }
  return found;
}

std::optional<DotInstruction> instructionOf(tile::DotOp dot) {
  const gpu::Target& target = targetOf(dot);
  if (auto recorded = dot->getAttrOfType<InstructionAttr>(kInstructionAttr)) {
    const gpu::MatrixInstruction* row = recordedRow(target, recorded, dot.getA().getType().getElementType());
    return row ? std::optional(DotInstruction{row, recorded.getDepth(), recorded.getSharedA(), recorded.getSharedB()}) : std::nullopt;
  }
  const gpu::MatrixInstruction* row = instructionFor(dot, target);
  int64_t depth = dot.getA().getType().getDimSize(1);
  if (!row) return std::nullopt;
  for (int64_t k : {int64_t{row->k}, int64_t{row->shallowest()}})
    if (depth % k == 0) return DotInstruction{row, k};
  return std::nullopt;
}

bool isReadFromShared(tile::DotOp dot, unsigned operand) {
  auto recorded = dot->getAttrOfType<InstructionAttr>(kInstructionAttr);
  return recorded && (operand == 0 ? recorded.getSharedA() : operand == 1 && recorded.getSharedB());
}

UnitReads UnitReads::with(const UnitReads& other) const {
  return {.rowsTogether = std::max(rowsTogether, other.rowsTogether), .columnBytes = std::min(columnBytes, other.columnBytes)};
}

/// The widest columns of shared memory that groups of warps can share, with a part of the product's columns each.
static int64_t partBytes(tile::DotOp dot) {
  const std::optional<DotInstruction> instruction = instructionOf(dot);
  if (!layoutOf(dot.getType()) || !instruction || !instruction->row->asynchronous) return UnitReads::kLine;
  const auto grid = gpu::groupGridOf(*layoutOf(dot.getType()), instruction->row->m, instruction->row->warps);
  if (!grid || grid->columns == 1) return UnitReads::kLine;
  return std::min<int64_t>(UnitReads::kLine, grid->columnStep * elementBits(dot.getB().getType().getElementType()) / 8);
}

UnitReads unitReadsOf(tile::DotOp dot, unsigned operand, bool transposed) {
  // Rows of the tile run along the dot's depth where A is transposed or B is not: one instruction takes its depth of them.
  if (transposed == (operand == 0)) return {.rowsTogether = 16, .columnBytes = operand == 1 ? partBytes(dot) : UnitReads::kLine};
  return {.rowsTogether = operand == 0 ? 64 : dot.getType().getDimSize(1)};
}

std::vector<layout::SharedLayout> matrixUnitLayouts(ArrayRef<int64_t> shape, int elementBits, const UnitReads& reads) {
  std::vector<layout::SharedLayout> layouts;
  if (shape.size() != 2 || shape[0] % 8 != 0) return layouts;
  int64_t block = shape[0] & -shape[0];  // rows that lie evenly, unless the columns are an odd number (layout::swizzled)
  for (int bytes : {128, 64, 32})
    if (bytes <= reads.columnBytes && shape[1] * elementBits / 8 % bytes == 0 &&
        (block % reads.rowsTogether == 0 || shape[1] * elementBits / 8 / bytes % 2 == 1))
      layouts.push_back(layout::swizzled(layout::Coords(shape.begin(), shape.end()), elementBits, bytes, 16));
  return layouts;
}

/// Whether a group can begin its columns, in parts of so many, where a descriptor can: with a row of the buffer, or with one of its
/// swizzled columns. One instruction reads all parts, which then are a column each. Narrow ones it reads at a part of its speed.
static bool startsAtColumns(int64_t each, int64_t part, int bits, bool alongRows) {
  constexpr int64_t kLeast = 64;
  if (alongRows) return each == part && each % 8 == 0;
  const int64_t bytes = part * bits / 8;
  return bytes >= kLeast && (each == part || bytes <= UnitReads::kLine);
}

std::optional<SharedColumns> sharedColumns(const DotShape& size, const gpu::MatrixInstruction& row, int64_t warps, int bits,
                                           bool alongRows) {
  const int64_t groups = warps / row.warps;
  for (int64_t columns = 1; columns <= groups; ++columns) {
    if (groups % columns || size.n % columns || size.m % (row.m * (groups / columns))) continue;
    const int64_t each = size.n / columns, part = columns == 1 || alongRows ? each : each & -each;
    if (each < row.minN || each > row.maxN || each % row.stepN) continue;
    if (columns == 1 || startsAtColumns(each, part, bits, alongRows)) return SharedColumns{columns, part};
  }
  return std::nullopt;
}

}  // namespace fattn::tilegpu
