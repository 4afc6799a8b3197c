// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/roles/OwnedDots.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

/// Whether every element of the tile is the same number.
bool isOneNumber(Value tile) {
  DenseElementsAttr constant;
  return tile.getDefiningOp<tile::SplatOp>() || (matchPattern(tile, m_Constant(&constant)) && constant.isSplat());
}

bool isStep(Operation* op, Value from) {
  if (isa<DotWaitOp, ConvertLayoutOp, tile::TransOp, tile::ReshapeOp>(op)) return true;
  if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() != 1 || op->getNumRegions() != 0) return false;
  return llvm::all_of(op->getOperands(),
                      [&](Value operand) { return operand == from || !tile::isTile(operand.getType()) || isOneNumber(operand); });
}

}  // namespace

bool mayHaveOwner(tile::DotOp dot) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (!loop || !matchPattern(dot.getAcc(), m_AnyZeroFloat())) return false;
  const bool innermost = !loop.getBody()->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); }).wasInterrupted();
  Operation* computed = dot.getA().getDefiningOp();
  while (computed && isa<tile::TransOp, ConvertLayoutOp>(computed)) computed = computed->getOperand(0).getDefiningOp();
  return innermost && computed && computed->getBlock() == loop.getBody() && !isa<tile::LoadOp, tile::GatherOp>(computed) &&
         onlyAdded(dot.getResult()).has_value();
}

std::optional<AddedTile> onlyAdded(Value tile) {
  AddedTile result;
  Block* block = tile.getParentBlock();
  while (tile.hasOneUse()) {
    Operation* user = *tile.user_begin();
    if (user->getBlock() != block) return std::nullopt;
    if (auto add = dyn_cast<tile::AccumulateOp>(user)) {
      result.add = add;
      return result;
    }
    if (!isStep(user, tile)) return std::nullopt;
    result.chain.push_back(user);
    tile = user->getResult(0);
  }
  return std::nullopt;
}

}  // namespace fattn::tilegpu
