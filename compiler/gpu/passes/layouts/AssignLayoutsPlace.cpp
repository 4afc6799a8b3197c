// SPDX-License-Identifier: Apache-2.0
// The layouts in which each operation takes its operands and gives its results, once every tile has a home.
#include "compiler/gpu/passes/layouts/AssignLayouts.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {

/// The home of a value, or for a cheap one whatever suits its shape.
LayoutId Assignment::placeOf(Value v) {
  if (!isTileValue(v)) return kNoLayout;
  LayoutId id = home(v);
  return id != kNoLayout ? id : pool_.blocked(shapeOf(v), -1, bitsOf(v), 16);
}

void Assignment::placeElementwise(Operation* op, Placement& placement) {
  LayoutId id = kNoLayout;
  for (Value result : op->getResults())
    if (isTileValue(result)) id = placeOf(result);
  // Without a result (a scatter), where the pointers or the values are.
  for (Value operand : op->getOperands())
    if (id == kNoLayout && isTileValue(operand)) id = home(operand);
  for (Value operand : op->getOperands())
    if (id == kNoLayout && isTileValue(operand)) id = placeOf(operand);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (isTileValue(operand)) placement.operands[i] = id;
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (isTileValue(result)) placement.results[i] = id;
}

bool Assignment::placeShape(Operation* op, Placement& placement) {
  if (isPlacedByResult(op)) {
    placement = placeCheap(op, placeOf(op->getResult(0)), pool_);
    return true;
  }
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tile::ReduceOp>([&](tile::ReduceOp reduce) {
        LayoutId from = kNoLayout;
        for (Value input : reduce.getInputs())
          if (from == kNoLayout) from = home(input);
        if (from == kNoLayout) from = placeOf(reduce.getInputs()[0]);
        LayoutId to = pool_.derive(from, {Rule::Slice, {static_cast<int64_t>(reduce.getAxis())}});
        placement = {SmallVector<LayoutId>(reduce.getNumOperands(), from), SmallVector<LayoutId>(reduce.getNumResults(), to)};
        return true;
      })
      .Case<tile::ReshapeOp>([&](tile::ReshapeOp reshape) {
        LayoutId to = placeOf(reshape.getResult()), from = pool_.derive(to, reshapeRule(reshape.getInput()));
        if (from == kNoLayout || pool_.derive(from, reshapeRule(reshape.getResult())) != to) {
          from = placeOf(reshape.getInput());
          to = pool_.derive(from, reshapeRule(reshape.getResult()));
        }
        placement = {{from}, {to}};
        return true;
      })
      // Through shared memory: from any layout to any.
      .Case<ReshapeOp>([&](ReshapeOp reshape) {
        placement = {{placeOf(reshape.getInput())}, {placeOf(reshape.getResult())}};
        return true;
      })
      .Case<tile::JoinOp>([&](tile::JoinOp join) {
        LayoutId half = pool_.derive(placeOf(join.getResult()), {Rule::Split});
        if (half == kNoLayout || pool_.derive(half, {Rule::Join}) != placeOf(join.getResult())) half = placeOf(join.getLhs());
        placement = {{half, half}, {pool_.derive(half, {Rule::Join})}};
        return true;
      })
      .Case<tile::SplitOp>([&](tile::SplitOp split) {
        LayoutId whole = placeOf(split.getInput()), half = pool_.derive(whole, {Rule::Split});
        if (half == kNoLayout) {
          half = placeOf(split.getLhs());
          whole = pool_.derive(half, {Rule::Join});
        }
        placement = {{whole}, {half, half}};
        return true;
      })
      .Default([](Operation*) { return false; });
}

LayoutId Assignment::conditionLayout(tile::SelectLazyOp op) {
  if (!isTileValue(op.getCondition())) return kNoLayout;
  // The rows that a warp has of the results are those it decides about.
  for (Value result : op.getResults()) {
    auto others = llvm::to_vector<4>(llvm::seq<int64_t>(1, static_cast<int64_t>(shapeOf(result).size())));
    LayoutId id = pool_.derive(placeOf(result), {Rule::Slice, others});
    if (id != kNoLayout) return id;
  }
  return placeOf(op.getCondition());
}

bool Assignment::placeControl(Operation* op, Placement& placement) {
  auto places = [&](ValueRange values) { return llvm::map_to_vector(values, [&](Value v) { return placeOf(v); }); };
  auto carry = [&](ValueRange operands, unsigned skipped, ValueRange results = {}) {
    placement.operands.assign(skipped, kNoLayout);
    llvm::append_range(placement.operands, places(operands));
    placement.results = places(results);
    return true;
  };
  return llvm::TypeSwitch<Operation*, bool>(op)
      // The results of a loop have the layouts of what it carries, also where their homes are others: one terminator gives both.
      .Case<scf::ForOp>(
          [&](scf::ForOp loop) { return carry(loop.getRegionIterArgs(), loop.getNumControlOperands(), loop.getRegionIterArgs()); })
      .Case<scf::WhileOp>([&](scf::WhileOp loop) { return carry(loop.getBeforeArguments(), 0, loop.getAfterArguments()); })
      .Case<scf::ConditionOp>(
          [&](scf::ConditionOp condition) { return carry(cast<scf::WhileOp>(condition->getParentOp()).getAfterArguments(), 1); })
      .Case<scf::IfOp>([&](scf::IfOp branch) { return carry({}, 1, branch.getResults()); })
      .Case<tile::SelectLazyOp>([&](tile::SelectLazyOp lazy) {
        carry(lazy.getResults(), 1, lazy.getResults());
        placement.operands[0] = conditionLayout(lazy);
        return true;
      })
      .Case<scf::YieldOp>([&](scf::YieldOp yield) {
        Operation* parent = yield->getParentOp();
        if (auto loop = dyn_cast<scf::ForOp>(parent)) return carry(loop.getRegionIterArgs(), 0);
        if (auto loop = dyn_cast<scf::WhileOp>(parent)) return carry(loop.getBeforeArguments(), 0);
        return carry(parent->getResults(), 0);
      })
      .Case<tile::YieldOp>([&](tile::YieldOp yield) {
        if (isa<tile::SelectLazyOp>(yield->getParentOp())) return carry(yield->getParentOp()->getResults(), 0);
        return true;
      })
      .Case<func::ReturnOp, tile::DevicePrintOp>([&](Operation* last) { return carry(last->getOperands(), 0); })
      .Case<tile::UnsplatOp>([&](tile::UnsplatOp unsplat) {
        placement.operands[0] = placeOf(unsplat.getInput());  // every thread has the element, whatever the layout
        return true;
      })
      .Default([](Operation*) { return false; });
}

/// Cycles that a warp waits for the others of its block where groups of warps take turns at the matrix unit, and so run apart.
constexpr double kBlockWait = 100;
/// And for the operands of its block's next program, which arrive when the bytes of this one's are free: about what memory takes.
constexpr double kNextProgramWait = 600;

/// Loads and stores are done where the tile lives, in vectors of the same warps, or coalesced: whatever costs least with its conversion.
/// Additions to memory are not exchanged between warps: nobody waits for them, but warps would for each other.
void Assignment::placeMemory(Operation* op, Placement& placement) {
  bool isLoad = isa<tile::LoadOp>(op);
  Value tile = isLoad ? op->getResult(0) : op->getOperand(1);
  const Access& access = accessOf(op);
  const int bits = bitsOf(tile);
  LayoutId here = home(tile);
  if (here == kNoLayout) here = access.layout;
  const bool alone = isForSingleWarps(op);
  LayoutId best = here;
  std::optional<double> least;
  for (LayoutId there : {here, pool_.inVectors(here, access.contiguous, bits, access.bytes), access.layout}) {
    const LayoutId from = isLoad ? there : here, to = isLoad ? here : there;
    const bool inShared = pool_.convertsInShared(from, to, bits);
    if ((alone || isa<tile::AccumulateOp>(op)) && inShared) continue;
    double wait = inShared && pool_.target().warpGroup ? kBlockWait : 0;
    if (inShared && !isLoad && function_->hasAttr(kSeveralAttr) && !op->getParentOfType<LoopLikeOpInterface>()) wait += kNextProgramWait;
    const double price = costOfMemory(op, there) + pool_.conversionCost(from, to, bits) + wait * static_cast<double>(pool_.warps());
    if (!least || price < *least) best = there, least = price;
  }
  (isLoad ? placement.results[0] : placement.operands[1]) = best;
}

Placement Assignment::place(Operation* op) {
  Placement placement{SmallVector<LayoutId>(op->getNumOperands(), kNoLayout), SmallVector<LayoutId>(op->getNumResults(), kNoLayout)};
  if (auto dot = dyn_cast<tile::DotOp>(op)) {
    const DotOption& option = optionOf(dot);
    return {{option.a, option.b, option.c}, {option.c}};
  }
  if (isa<tile::LoadOp, tile::StoreOp, tile::AccumulateOp>(op)) {
    placeMemory(op, placement);
  } else if (isElementwise(op)) {
    placeElementwise(op, placement);
  } else if (!placeShape(op, placement)) {
    placeControl(op, placement);
  }
  return placement;
}

}  // namespace fattn::tilegpu
