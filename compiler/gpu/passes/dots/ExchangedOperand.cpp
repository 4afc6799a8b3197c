// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/dots/ExchangedOperand.h"

#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/DotShapes.h"

using namespace mlir;

namespace fattn::tilegpu {

std::optional<ExchangedOperand> exchangedOperand(tile::DotOp dot) {
  std::optional<DotInstruction> instruction = instructionOf(dot);
  if (!instruction || !instruction->sharedB || instruction->sharedA) return std::nullopt;
  ExchangedOperand result{.source = dot.getA(), .home = {}};
  bool exchanged = false;
  for (Operation* op = result.source.getDefiningOp(); op && op->getBlock() == dot->getBlock() && op->hasOneUse();
       op = result.source.getDefiningOp()) {
    if (auto conversion = dyn_cast<ConvertLayoutOp>(op))
      exchanged |= crossesWarps(conversion);
    else if (isa<tile::TransOp>(op))
      result.transposed = !result.transposed;
    else
      break;
    result.chain.insert(result.chain.begin(), op);
    result.source = op->getOperand(0);
  }
  if (!exchanged) return std::nullopt;
  auto type = cast<RankedTensorType>(result.source.getType());
  auto layouts = matrixUnitLayouts(type.getShape(), elementBits(type.getElementType()), unitReadsOf(dot, 0, result.transposed));
  if (layouts.empty()) return std::nullopt;
  result.home = layouts.front().elements();
  return result;
}

void readFromBuffer(tile::DotOp dot, RankedTensorType type, Value buffer, Value slot, bool transposed) {
  OpBuilder b(dot);
  Location loc = dot.getLoc();
  Value read = LoadBufferOp::create(b, loc, type, buffer, slot);
  if (transposed) {
    const layout::LinearLayout turned = layoutOf(type)->transpose(std::vector<int>{1, 0});
    auto result = withLayout(RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType()), turned);
    read = tile::TransOp::create(b, loc, result, read, ArrayRef<int64_t>{1, 0});
  }
  dot.getAMutable().assign(read);
  auto text = dot->getAttrOfType<InstructionAttr>(kInstructionAttr);
  dot->setAttr(kInstructionAttr,
               InstructionAttr::get(b.getContext(), text.getName(), text.getDepth(), /*sharedA=*/true, text.getSharedB()));
}

}  // namespace fattn::tilegpu
