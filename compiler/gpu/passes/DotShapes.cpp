// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/DotShapes.h"

using namespace mlir;

namespace fattn::tilegpu {

/// The layouts of AssignLayouts are those of one family of instructions, whose operands are all in registers.
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

}  // namespace fattn::tilegpu
