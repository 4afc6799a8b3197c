// SPDX-License-Identifier: Apache-2.0
// Which tiles share a layout, and how the layout of one gives that of another: the edges along which -tilegpu-assign-layouts spreads
// layouts.
#include "compiler/gpu/passes/layouts/AssignLayouts.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::tilegpu {

int bitsOf(Value tile) { return elementBits(getElementTypeOrSelf(tile.getType())); }
ArrayRef<int64_t> shapeOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getShape(); }

double frequencyOf(Operation* op) {
  double frequency = 1;
  for (Operation* parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
    if (isa<LoopLikeOpInterface>(parent)) frequency *= 16;
    if (isa<tile::SelectLazyOp>(parent)) frequency /= 64;
  }
  return frequency;
}

tile::LoadOp loadBehind(Value v) {
  while (auto trans = v.getDefiningOp<tile::TransOp>()) v = trans.getInput();
  return v.getDefiningOp<tile::LoadOp>();
}

bool isElementwise(Operation* op) { return op->hasTrait<tile::KeepsIndices>() || OpTrait::hasElementwiseMappableTraits(op); }

bool isCheapOperation(Operation* op) {
  if (op->hasTrait<tile::CheapToRepeat>() || op->hasTrait<OpTrait::ConstantLike>()) return true;
  bool slow = isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp,
                  arith::CeilDivUIOp, arith::FloorDivSIOp>(op);
  return isa<arith::ArithDialect>(op->getDialect()) && !slow;
}

bool isCheapValue(Value v, llvm::DenseMap<Value, bool>& known) {
  Operation* op = v.getDefiningOp();
  if (!op || op->getNumResults() != 1 || !isCheapOperation(op)) return false;
  if (auto found = known.find(v); found != known.end()) return found->second;
  bool cheap = llvm::all_of(op->getOperands(), [&](Value operand) { return !isTileValue(operand) || isCheapValue(operand, known); });
  return known[v] = cheap;
}

void Assignment::addNode(Value v) {
  if (isTileValue(v) && !isCheap(v)) edges_[v];
}

void Assignment::connect(Value from, Value to, const Rule& there, const std::optional<Rule>& back) {
  if (!isTileValue(from) || !isTileValue(to) || isCheap(from) || isCheap(to)) return;
  edges_[from].push_back({to, there});
  if (back) edges_[to].push_back({from, *back});
}

static SmallVector<int64_t> inverted(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result(permutation.size());
  for (auto [i, d] : llvm::enumerate(permutation)) result[static_cast<size_t>(d)] = static_cast<int64_t>(i);
  return result;
}

static SmallVector<int64_t, 4> collapsedDims(tile::BroadcastOp op) {
  SmallVector<int64_t, 4> dims;
  for (auto [d, from, to] : llvm::enumerate(shapeOf(op.getInput()), shapeOf(op.getResult())))
    if (from != to) dims.push_back(static_cast<int64_t>(d));
  return dims;
}

Rule reshapeRule(Value to) {
  if (shapeOf(to).empty()) return {Rule::Scalar};
  return {Rule::Reshape, SmallVector<int64_t, 4>(shapeOf(to))};
}

void Assignment::connectShape(Operation* op) {
  llvm::TypeSwitch<Operation*>(op)
      .Case<tile::ReduceOp>([&](tile::ReduceOp reduce) {
        for (auto [input, result] : llvm::zip_equal(reduce.getInputs(), reduce.getResults())) {
          connectSame(reduce.getInputs()[0], input);
          connect(input, result, {Rule::Slice, {static_cast<int64_t>(reduce.getAxis())}}, std::nullopt);
          connectSame(reduce.getResults()[0], result);
        }
      })
      .Case<tile::ExpandDimsOp>([&](tile::ExpandDimsOp expand) {
        auto axis = static_cast<int64_t>(expand.getAxis());
        connect(expand.getInput(), expand, {Rule::Expand, {axis}}, Rule{Rule::Slice, {axis}});
      })
      .Case<tile::BroadcastOp>([&](tile::BroadcastOp broadcast) {
        connect(broadcast, broadcast.getInput(), {Rule::Collapse, collapsedDims(broadcast)}, std::nullopt);
      })
      .Case<tile::TransOp>([&](tile::TransOp trans) {
        SmallVector<int64_t, 4> there(trans.getPermutation());
        connect(trans.getInput(), trans, {Rule::Transpose, there}, Rule{Rule::Transpose, inverted(there)});
      })
      .Case<tile::ReshapeOp>([&](tile::ReshapeOp reshape) {
        connect(reshape.getInput(), reshape, reshapeRule(reshape.getResult()), reshapeRule(reshape.getInput()));
      })
      .Case<tile::JoinOp>([&](tile::JoinOp join) {
        connectSame(join.getLhs(), join.getRhs());
        connect(join.getLhs(), join, {Rule::Join}, Rule{Rule::Split});
      })
      .Case<tile::SplitOp>([&](tile::SplitOp split) {
        connectSame(split.getLhs(), split.getRhs());
        connect(split.getInput(), split.getLhs(), {Rule::Split}, Rule{Rule::Join});
      });
}

void Assignment::connectControl(Operation* op) {
  auto connectAll = [&](ValueRange a, ValueRange b) {
    for (auto [x, y] : llvm::zip_equal(a, b)) connectSame(x, y);
  };
  llvm::TypeSwitch<Operation*>(op)
      .Case<scf::ForOp>([&](scf::ForOp loop) {
        connectAll(loop.getRegionIterArgs(), loop.getYieldedValues());
        connectAll(loop.getRegionIterArgs(), loop.getResults());
        connectAll(loop.getRegionIterArgs(), loop.getInitArgs());
      })
      .Case<scf::WhileOp>([&](scf::WhileOp loop) {
        connectAll(loop.getBeforeArguments(), loop.getYieldOp().getOperands());
        connectAll(loop.getBeforeArguments(), loop.getInits());
        connectAll(loop.getAfterArguments(), loop.getConditionOp().getArgs());
        connectAll(loop.getAfterArguments(), loop.getResults());
      })
      .Case<scf::IfOp>([&](scf::IfOp branch) {
        if (branch.getNumResults() == 0) return;
        connectAll(branch.getResults(), branch.thenYield().getOperands());
        connectAll(branch.getResults(), branch.elseYield().getOperands());
      })
      .Case<tile::SelectLazyOp>([&](tile::SelectLazyOp lazy) {
        connectAll(lazy.getResults(), lazy.getUsual());
        connectAll(lazy.getResults(), lazy.getExact().front().getTerminator()->getOperands());
        for (Value result : lazy.getResults()) {
          if (!isTileValue(result) || !isTileValue(lazy.getCondition())) continue;
          auto others = llvm::to_vector<4>(llvm::seq<int64_t>(1, static_cast<int64_t>(shapeOf(result).size())));
          connect(result, lazy.getCondition(), {Rule::Slice, others}, std::nullopt);
        }
      });
}

void Assignment::connectOperation(Operation* op) {
  for (Value result : op->getResults()) addNode(result);
  for (Region& region : op->getRegions())
    for (Block& block : region)
      for (BlockArgument arg : block.getArguments()) addNode(arg);
  if (auto dot = dyn_cast<tile::DotOp>(op)) return connectSame(dot.getResult(), dot.getAcc());
  if (!isElementwise(op)) {
    connectShape(op);
    return connectControl(op);
  }
  SmallVector<Value> tiles = llvm::filter_to_vector(op->getOperands(), [&](Value v) { return isTileValue(v) && !isCheap(v); });
  llvm::append_range(tiles, llvm::make_filter_range(op->getResults(), isTileValue));
  for (size_t i = 1; i < tiles.size(); ++i) connectSame(tiles[0], tiles[i]);
}

bool isPlacedByResult(Operation* op) { return op->hasTrait<tile::MovesElements>() && op->hasTrait<tile::CheapToRepeat>(); }

Placement placeCheap(Operation* op, LayoutId result, LayoutPool& pool) {
  Rule rule;
  if (auto expand = dyn_cast<tile::ExpandDimsOp>(op)) rule = {Rule::Slice, {static_cast<int64_t>(expand.getAxis())}};
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) rule = {Rule::Collapse, collapsedDims(broadcast)};
  if (auto trans = dyn_cast<tile::TransOp>(op)) rule = {Rule::Transpose, SmallVector<int64_t, 4>(inverted(trans.getPermutation()))};
  if (isa<tile::SplatOp>(op)) rule = {Rule::Scalar};
  Placement placement{{}, {result}};
  for (Value operand : op->getOperands()) placement.operands.push_back(isTileValue(operand) ? pool.derive(result, rule) : kNoLayout);
  return placement;
}

Value cloneInLayout(OpBuilder& b, Operation* op, ValueRange operands, const layout::LinearLayout& layout) {
  RankedTensorType type = withLayout(cast<RankedTensorType>(op->getResult(0).getType()), layout);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
      return arith::ConstantOp::create(b, op->getLoc(), dense.isSplat() ? dense.resizeSplat(type) : dense.reshape(type));
  Operation* copy = b.clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(type);
  return copy->getResult(0);
}

}  // namespace fattn::tilegpu
