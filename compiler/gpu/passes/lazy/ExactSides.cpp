// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/lazy/ExactSides.h"

#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/gpu/passes/DotShapes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

/// Registers of a thread where the block's threads share the tile.
int64_t shareOf(Value tile, int64_t threads) {
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  if (!type || isa<tile::PtrType>(type.getElementType())) return 0;
  return (type.getNumElements() * elementBits(type.getElementType()) / 32 + threads - 1) / threads;
}

/// Of what a loop carries, and of operands that all its trips read.
int64_t heldIn(tile::SelectLazyOp lazy, int64_t threads) {
  int64_t carried = 0, operands = 0;
  lazy.getExact().walk([&](Operation* op) {
    if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
      int64_t sum = 0;
      for (Value value : loop.getRegionIterArgs()) sum += shareOf(value, threads);
      carried = std::max(carried, sum);
    }
    auto dot = dyn_cast<tile::DotOp>(op);
    if (!dot || !dot->getParentOfType<LoopLikeOpInterface>()) return;
    for (Value operand : {Value(dot.getA()), Value(dot.getB())}) {
      while (auto trans = operand.getDefiningOp<tile::TransOp>()) operand = trans.getInput();
      Operation* source = operand.getDefiningOp();
      const bool isFixed = source && source->getParentOp() == lazy.getOperation();
      if (isFixed) operands += shareOf(operand, threads) * (elementBits(getElementTypeOrSelf(operand.getType())) == 32 ? 2 : 1);
    }
  });
  return carried + operands;
}

}  // namespace

bool isForSingleWarps(Operation* op, const gpu::Target& target, int64_t warps) {
  auto lazy = op->getParentOfType<tile::SelectLazyOp>();
  if (!lazy) return false;
  const int64_t threads = warps * target.warpSize;
  const int64_t registers = gpu::registerLimit(target, 1, static_cast<int>(threads), /*copierRegisters=*/0);
  // The rest is for addresses, scores, and operands of the step. Where blocks take several programs a fifth is left for these: the
  // assembler may keep some numbers in memory, in code that hardly ever runs, but all programs would pay for bytes of shared memory.
  const bool several = op->getParentOfType<FunctionOpInterface>()->hasAttr(kSeveralAttr);
  return heldIn(lazy, threads) <= (several ? registers * 4 / 5 : registers / 2);
}

}  // namespace fattn::tilegpu
