// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/lanes/LaneAssignment.h"

#include <map>

#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/lanes/LaneCost.h"
#include "compiler/cpu/lanes/TiedValues.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// The dimension of the transposed tile that was dimension `in`.
int laneBehind(tile::TransOp trans, int in) {
  for (auto [i, from] : llvm::enumerate(trans.getPermutation()))
    if (from == in) return static_cast<int>(i);
  return -1;
}

int laneBehind(tile::ExpandDimsOp expand, int in) { return in < 0 ? -1 : in + (in >= static_cast<int>(expand.getAxis())); }

int laneBehind(tile::LoadOp load) {
  int unit = unitStrideDim(load.getPtr());
  return unit >= 0 ? unit : static_cast<int>(load.getResult().getType().getRank()) - 1;
}

int lastDim(Value tile) { return static_cast<int>(tileType(tile).getRank()) - 1; }

}  // namespace

int unitStrideDim(Value blockPtr) {
  for (;;) {
    if (auto advance = blockPtr.getDefiningOp<tile::AdvanceOp>()) {
      blockPtr = advance.getPtr();
    } else if (auto make = blockPtr.getDefiningOp<tile::MakeBlockPtrOp>()) {
      for (int i = make.getStrides().size() - 1; i >= 0; --i)
        if (matchPattern(make.getStrides()[i], m_One())) return i;
      return -1;
    } else if (auto arg = dyn_cast<BlockArgument>(blockPtr)) {
      auto loop = dyn_cast<scf::ForOp>(arg.getOwner()->getParentOp());
      if (!loop || arg.getArgNumber() == 0) return -1;
      blockPtr = loop.getTiedLoopInit(arg)->get();
    } else {
      return -1;
    }
  }
}

LaneAssignment::LaneAssignment(func::FuncOp func, int64_t lanes) : func(func), lanes(lanes) {
  func.walk([&](tile::DotOp dot) { dots.push_back(dot); });
  search();
}

int LaneAssignment::lane(Value tile) const {
  auto it = valueLanes.find(tile);
  return it == valueLanes.end() ? -1 : it->second;
}

int LaneAssignment::dotLane(Operation* dot) const { return dotLanes.lookup(dot); }

void LaneAssignment::setLane(Value value, int lane) {
  auto type = tileType(value);
  if (!type || lane < 0 || lane >= type.getRank() || type.getDimSize(lane) == 1) return;
  valueLanes.try_emplace(value, lane);
}

int LaneAssignment::laneFromOperands(Operation* op) const {
  int best = -1;
  for (Value operand : op->getOperands())
    if (int l = lane(operand); l >= 0 && (best < 0 || operand.getDefiningOp<tile::DotOp>())) best = l;
  return best;
}

void LaneAssignment::propagateReduce(tile::ReduceOp reduce) {
  int in = lane(reduce.getInputs()[0]), axis = reduce.getAxis();
  for (Value r : reduce.getResults()) setLane(r, in == axis ? lastDim(r) : in - (in > axis));
}

void LaneAssignment::propagateTied(Operation* op) {
  forEachTied(op, [&](Value in, Value arg, Value yielded, Value result) {
    int known = lane(in);
    for (Value v : {yielded, arg, result})
      if (known < 0) known = lane(v);
    for (Value v : {arg, result}) setLane(v, known);
  });
}

void LaneAssignment::propagateOp(Operation* op) {
  auto any = [&](Operation* other) {
    if (other->getNumRegions()) return propagateTied(other);
    int in = laneFromOperands(other);
    for (Value r : other->getResults()) setLane(r, in);
  };
  TypeSwitch<Operation*>(op)
      .Case<tile::DotOp>([&](auto dot) { setLane(dot.getResult(), dotLanes[dot]); })
      .Case<tile::LoadOp>([&](auto load) { setLane(load.getResult(), laneBehind(load)); })
      .Case<tile::TransOp, tile::ExpandDimsOp>([&](auto view) { setLane(view.getResult(), laneBehind(view, lane(view.getInput()))); })
      .Case<tile::ReduceOp>([&](auto reduce) { propagateReduce(reduce); })
      .Case<tile::ReshapeOp, tile::JoinOp, tile::SplitOp>([&](auto shuffle) {
        for (Value r : shuffle->getResults()) setLane(r, lastDim(r));
      })
      .Default(any);
}

void LaneAssignment::propagate() {
  valueLanes.clear();
  // Loops are visited before and after their bodies: a carried value that starts as a constant takes the lane of what the body yields.
  for (int round = 0; round < 2; ++round) {
    func.walk<WalkOrder::PreOrder>([&](Operation* op) { propagateOp(op); });
    func.walk<WalkOrder::PostOrder>([&](Operation* op) { propagateOp(op); });
  }
}

double LaneAssignment::costNow() {
  propagate();
  return laneCost(func, *this, lanes);
}

void LaneAssignment::consider(Choice& best) {
  if (double cost = costNow(); cost < best.cost) best = {cost, dotLanes};
}

void LaneAssignment::tryAll(Choice& best) {
  for (unsigned mask = 0; mask < (1u << dots.size()); ++mask) {
    for (size_t i = 0; i < dots.size(); ++i) dotLanes[dots[i]] = (mask >> i & 1) ? 0 : 1;
    consider(best);
  }
}

void LaneAssignment::tryCostliest(Choice& best) {
  constexpr size_t kMostTried = 64;  // each try looks at the whole function
  std::multimap<double, tile::DotOp, std::greater<>> costly;
  for (tile::DotOp dot : dots) costly.emplace(dotCost(dot, *this, lanes), dot);
  size_t tried = 0;
  for (auto& [cost, dot] : costly) {
    if (++tried > kMostTried) break;
    dotLanes = best.dotLanes;
    dotLanes[dot] = 0;
    consider(best);
  }
}

void LaneAssignment::search() {
  constexpr size_t kFewDots = 8;
  for (tile::DotOp dot : dots) dotLanes[dot] = 1;
  Choice best{costNow(), dotLanes};
  if (dots.size() <= kFewDots)
    tryAll(best);
  else
    tryCostliest(best);
  dotLanes = best.dotLanes;
  propagate();
  defaultLanes();
}

/// Values made of indices and scalars alone cost the same along any dimension: they follow their consumers, and where they are stored
/// themselves, the last dimension.
void LaneAssignment::defaultLanes() {
  auto assign = [&](Value v) {
    auto type = tileType(v);
    if (!type || valueLanes.contains(v)) return;
    for (int d = type.getRank() - 1; d >= 0; --d)
      if (type.getDimSize(d) > 1) return setLane(v, d);
  };
  func.walk([&](Operation* op) {
    llvm::for_each(op->getResults(), assign);
    for (Region& region : op->getRegions())
      for (Block& block : region) llvm::for_each(block.getArguments(), assign);
  });
}

}  // namespace fattn::cpu
