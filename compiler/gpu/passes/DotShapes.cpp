// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/DotShapes.h"

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

std::vector<layout::SharedLayout> matrixUnitLayouts(ArrayRef<int64_t> shape, int elementBits, int64_t rowsTogether) {
  std::vector<layout::SharedLayout> layouts;
  if (shape.size() != 2 || shape[0] % 8 != 0) return layouts;
  int64_t block = shape[0] & -shape[0];  // rows that lie evenly, unless the columns are an odd number (layout::swizzled)
  for (int bytes : {128, 64, 32})
    if (shape[1] * elementBits / 8 % bytes == 0 && (block % rowsTogether == 0 || shape[1] * elementBits / 8 / bytes % 2 == 1))
      layouts.push_back(layout::swizzled(layout::Coords(shape.begin(), shape.end()), elementBits, bytes, 16));
  return layouts;
}

int64_t rowsTogether(tile::DotOp dot, unsigned operand, bool transposed) {
  // Rows of the tile run along the dot's depth where A is transposed or B is not: one instruction takes its depth of them.
  if (transposed == (operand == 0)) return 16;
  return operand == 0 ? 64 : dot.getType().getDimSize(1);
}

}  // namespace fattn::tilegpu
