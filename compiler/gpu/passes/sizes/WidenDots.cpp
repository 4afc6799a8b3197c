// SPDX-License-Identifier: Apache-2.0
// Gives dots that are smaller than a matrix instruction its size, and operands that no instruction takes a type that one does:
//
//   %d = tile.dot %a, %b, %c : 4x64, 64x8 -> 4x8           %w = broadcast %a to 4 copies of its rows : 16x64, %v = the same of %c
//                                                    =>    %p = tile.dot %w, %b, %v : 16x64, 64x8 -> 16x8
//                                                          %d = one of the copies of the rows of %p
//
// Copies of rows and columns cost nothing: the lanes that hold them compute the same, and which copy is taken does not matter. So that is
// written as a tile.reduce whose region gives its left side, which no lane needs another one for. A depth is filled with copies, too, which
// are zeroed in both operands, as the other side may be infinite.
//
// f8 operands of a machine without instructions for them become f16, which holds all their numbers.
//
// Assumption: A1 sizes are multiples of what the instruction needs, or smaller powers of two (-tilegpu-pad-tiles); other dots are left for
// -tilegpu-assign-layouts to complain about. Test: tests/lit/gpu/widen-dots.mlir.
#include "compiler/gpu/passes/DotShapes.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/TargetPass.h"
#include "compiler/gpu/passes/sizes/PadTiles.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_WIDENDOTSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// The loop around the place where the builder inserts, if that is in the loop's own body; null if none is.
LoopLikeOpInterface enclosingLoop(OpBuilder& b) { return dyn_cast<LoopLikeOpInterface>(b.getInsertionBlock()->getParentOp()); }

/// `count` copies of the tile, one after the other along a dimension.
Value repeated(OpBuilder& b, Value tile, int64_t dim, int64_t count) {
  if (count == 1) return tile;
  auto type = cast<RankedTensorType>(tile.getType());
  SmallVector<int64_t> copies(type.getShape()), result(type.getShape());
  copies.insert(copies.begin() + dim, count);
  result[static_cast<size_t>(dim)] *= count;
  Location loc = tile.getLoc();
  // What does not change in a loop is copied before it.
  OpBuilder::InsertionGuard guard(b);
  for (auto loop = enclosingLoop(b); loop && loop.isDefinedOutsideOfLoop(tile); loop = enclosingLoop(b)) b.setInsertionPoint(loop);
  Value expanded = tile::ExpandDimsOp::create(b, loc, tile, dim);
  Value broadcast = tile::BroadcastOp::create(b, loc, RankedTensorType::get(copies, type.getElementType()), expanded);
  return tile::ReshapeOp::create(b, loc, RankedTensorType::get(result, type.getElementType()), broadcast);
}

/// One of the copies.
Value single(OpBuilder& b, Value tile, int64_t dim, int64_t count) {
  if (count == 1) return tile;
  auto type = cast<RankedTensorType>(tile.getType());
  SmallVector<int64_t> copies(type.getShape());
  copies[static_cast<size_t>(dim)] /= count;
  copies.insert(copies.begin() + dim, count);
  Value apart = tile::ReshapeOp::create(b, tile.getLoc(), RankedTensorType::get(copies, type.getElementType()), tile);
  auto left = [](OpBuilder& inner, Location at, ValueRange l, ValueRange) { tile::YieldOp::create(inner, at, l); };
  return tile::ReduceOp::create(b, tile.getLoc(), apart, dim, left).getResult(0);
}

/// How many copies make a size one that the instruction takes; 0 where none do.
int64_t copiesFor(int64_t size, int64_t granule) {
  if (size % granule == 0) return 1;
  return granule % size == 0 ? granule / size : 0;
}

void widen(tile::DotOp dot, const gpu::MatrixInstruction& row) {
  DotShape granule = granuleOf(row);
  int64_t depth = dot.getA().getType().getDimSize(1);
  int64_t rows = copiesFor(dot.getType().getDimSize(0), granule.m), columns = copiesFor(dot.getType().getDimSize(1), granule.n);
  int64_t deep = copiesFor(depth, granule.k);
  if (!rows || !columns || !deep || (rows == 1 && columns == 1 && deep == 1)) return;
  OpBuilder b(dot);
  Value a = repeated(b, repeated(b, dot.getA(), 1, deep), 0, rows), right = repeated(b, repeated(b, dot.getB(), 0, deep), 1, columns);
  if (deep > 1) a = zeroedBeyond(b, a, 1, depth), right = zeroedBeyond(b, right, 0, depth);
  Value acc = repeated(b, repeated(b, dot.getAcc(), 0, rows), 1, columns);
  Value wide = tile::DotOp::create(b, dot.getLoc(), acc.getType(), a, right, acc, dot.getPrecision());
  dot.replaceAllUsesWith(single(b, single(b, wide, 0, rows), 1, columns));
  dot.erase();
}

bool isFloat8(Value tile) { return isa<Float8E4M3FNType, Float8E5M2Type>(cast<RankedTensorType>(tile.getType()).getElementType()); }

void useHalves(tile::DotOp dot) {
  OpBuilder b(dot);
  for (unsigned i : {0u, 1u}) {
    Value operand = dot->getOperand(i);
    Type type = cast<RankedTensorType>(operand.getType()).clone(b.getF16Type());
    dot->setOperand(i, arith::ExtFOp::create(b, dot.getLoc(), type, operand).getResult());
  }
}

class WidenDotsPass : public TargetPass<impl::WidenDotsPassBase<WidenDotsPass>> {
 public:
  using TargetPass::TargetPass;
  void run(ModuleOp module, const gpu::Target& machine) override {
    SmallVector<tile::DotOp> dots;
    module.walk([&](tile::DotOp dot) { dots.push_back(dot); });
    for (tile::DotOp dot : dots) {
      if (!instructionFor(dot, machine) && isFloat8(dot.getA()) && isFloat8(dot.getB())) useHalves(dot);
      if (const gpu::MatrixInstruction* row = instructionFor(dot, machine)) widen(dot, *row);
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
