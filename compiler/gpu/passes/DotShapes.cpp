// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/DotShapes.h"

using namespace mlir;

namespace fattn::tilegpu {

/// The layouts of AssignLayouts are the fragments of one family of instructions.
static bool isUsable(const gpu::MatrixInstruction& row) { return row.layout == "mma.m16n8"; }

static std::string usableTypes(const gpu::Target& target) {
  std::string text;
  for (const gpu::MatrixInstruction& row : target.matrix)
    for (DType type : row.types)
      if (isUsable(row)) text += (text.empty() ? "" : ", ") + std::string(name(type));
  return text.empty() ? "no types" : text;
}

const gpu::MatrixInstruction* instructionFor(Type a, Type b, const gpu::Target& target) {
  for (const gpu::MatrixInstruction& row : target.matrix)
    if (isUsable(row) && row.takes(tile::dtypeOf(a)) && row.takes(tile::dtypeOf(b))) return &row;
  return nullptr;
}

FailureOr<const gpu::MatrixInstruction*> instructionFor(tile::DotOp dot, const gpu::Target& target) {
  Type a = dot.getA().getType().getElementType(), b = dot.getB().getType().getElementType();
  if (const gpu::MatrixInstruction* row = instructionFor(a, b, target)) return row;
  return dot.emitOpError() << "has operands of " << a << " and " << b << "; " << target.name
                           << " has matrix instructions of the form m16n8 for " << usableTypes(target);
}

DotShape granuleOf(tile::DotOp dot, const gpu::MatrixInstruction& row) {
  Type element = dot.getA().getType().getElementType();
  bool isWhole = element.isF32() || isa<Float8E4M3FNType, Float8E5M2Type>(element);
  return {row.m, row.stepN, isWhole ? row.k : row.k / 2};
}

std::optional<DotInstruction> instructionOf(tile::DotOp dot) {
  const gpu::Target& target = targetOf(dot);
  Type a = dot.getA().getType().getElementType(), b = dot.getB().getType().getElementType();
  if (auto recorded = dot->getAttrOfType<InstructionAttr>(kInstructionAttr)) {
    for (const gpu::MatrixInstruction& row : target.matrix)
      if (StringRef(row.name) == recorded.getName().getValue() && row.takes(tile::dtypeOf(a)))
        return DotInstruction{&row, recorded.getDepth(), recorded.getSharedA(), recorded.getSharedB()};
    return std::nullopt;
  }
  const gpu::MatrixInstruction* row = instructionFor(a, b, target);
  int64_t depth = dot.getA().getType().getDimSize(1);
  if (!row) return std::nullopt;
  for (int64_t k : {static_cast<int64_t>(row->k), granuleOf(dot, *row).k})
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
