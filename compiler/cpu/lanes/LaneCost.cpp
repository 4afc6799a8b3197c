// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/lanes/LaneCost.h"

#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/lanes/LaneAssignment.h"
#include "compiler/cpu/lanes/TiedValues.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

constexpr double kTripsAssumed = 32;   // how often a loop of unknown length is taken to run
constexpr double kCrossLaneSteps = 8;  // to combine the lanes of one vector
constexpr double kSumSteps = 3;        // the same for one of many vectors, whose sums fill another one

double weight(Operation* op) {
  double w = 1;
  for (Operation* p = op->getParentOp(); p; p = p->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(p)) w *= kTripsAssumed;
  return w;
}

double weightOfDefinition(Value v) {
  if (Operation* def = v.getDefiningOp()) return weight(def);
  Operation* parent = v.getParentBlock()->getParentOp();
  return weight(parent) * (isa<scf::ForOp, scf::WhileOp>(parent) ? kTripsAssumed : 1);
}

double elements(Value v) { return tileType(v).getNumElements(); }

/// Whether a tile has to be turned around for a use along dimension `wanted`.
bool mustTurn(Value v, int wanted, const LaneAssignment& chosen) { return chosen.lane(v) >= 0 && chosen.lane(v) != wanted; }

/// The price of turning `v` around at `user`, if it must be.
double turnCost(Operation* user, Value v, int wanted, const LaneAssignment& chosen) {
  return mustTurn(v, wanted, chosen) ? weight(user) * elements(v) : 0;
}

double storeCost(tile::StoreOp store, const LaneAssignment& chosen) {
  int unit = unitStrideDim(store.getPtr());
  return unit >= 0 ? turnCost(store, store.getValue(), unit, chosen) : 0;
}

double reduceCost(tile::ReduceOp reduce, const LaneAssignment& chosen) {
  Value in = reduce.getInputs()[0];
  if (chosen.lane(in) != static_cast<int>(reduce.getAxis())) return 0;
  return weight(reduce) * kCrossLaneSteps * elements(in) / tileType(in).getDimSize(reduce.getAxis());
}

/// Whether all elements along a dimension are one: it is read once for all lanes.
bool isRepeatedAlong(Value v, int dim) {
  auto broadcast = v.getDefiningOp<tile::BroadcastOp>();
  return broadcast && dim >= 0 && broadcast.getInput().getType().getDimSize(dim) == 1;
}

/// An elementwise operation: its operands have to lie along the lanes of its result.
double elementwiseCost(Operation* op, const LaneAssignment& chosen) {
  bool oneTile = op->getNumResults() == 1 && op->getNumRegions() == 0 && isTile(op->getResult(0));
  if (!oneTile || op->hasTrait<tile::MovesElements>() || isa<tile::JoinOp, tile::SplitOp>(op)) return 0;
  double total = 0;
  int lane = chosen.lane(op->getResult(0));
  for (Value v : op->getOperands()) total += isRepeatedAlong(v, lane) ? 0 : turnCost(op, v, lane, chosen);
  return total;
}

double ownCost(Operation* op, const LaneAssignment& chosen, int64_t width) {
  return TypeSwitch<Operation*, double>(op)
      .Case<tile::DotOp>([&](auto dot) { return dotCost(dot, chosen, width); })
      .Case<tile::StoreOp>([&](auto store) { return storeCost(store, chosen); })
      .Case<tile::ReduceOp>([&](auto reduce) { return reduceCost(reduce, chosen); })
      .Default([&](Operation* other) { return elementwiseCost(other, chosen); });
}

/// What a loop or a branch is handed along other lanes than it keeps.
double tiedCost(Operation* op, const LaneAssignment& chosen) {
  double total = 0;
  forEachTied(op, [&](Value in, Value, Value yielded, Value result) {
    for (Value v : {in, yielded}) total += turnCost(op, v, chosen.lane(result), chosen);
  });
  return total;
}

int64_t contracted(tile::DotOp dot) { return cast<RankedTensorType>(dot.getA().getType()).getDimSize(1); }

/// Instructions of a product whose result's dimension `lane` runs along the lanes: multiply-adds.
double laneSteps(tile::DotOp dot, int lane, int64_t width) {
  auto shape = cast<RankedTensorType>(dot.getType()).getShape();
  double padded = static_cast<double>(llvm::divideCeil(shape[lane], width)) * width;
  return padded * shape[1 - lane] * contracted(dot) / width;
}

/// The same along the contraction: multiply-adds, and sums of lanes.
double alongSteps(tile::DotOp dot, int64_t width) {
  return elements(dot.getResult()) * (static_cast<double>(contracted(dot)) / width + kSumSteps);
}

/// An operand that is turned around for a dot, which happens where it is defined.
double turnedOperand(Value operand, int wanted, const LaneAssignment& chosen) {
  return mustTurn(operand, wanted, chosen) ? weightOfDefinition(operand) * elements(operand) : 0;
}

}  // namespace

bool mayRunAlongK(tile::DotOp dot, int64_t width) {
  Type a = cast<RankedTensorType>(dot.getA().getType()).getElementType(), b = cast<RankedTensorType>(dot.getB().getType()).getElementType();
  int64_t whole = a.isBF16() && b.isBF16() ? 2 * width : width;  // pairs count as one
  if (!isa<FloatType>(a) || contracted(dot) % whole != 0) return false;
  double along = alongSteps(dot, width);
  return along < laneSteps(dot, 0, width) + elements(dot.getA()) && along < laneSteps(dot, 1, width) + elements(dot.getB());
}

double dotCost(tile::DotOp dot, const LaneAssignment& chosen, int64_t width) {
  int lane = chosen.dotLane(dot);
  double accumulator = turnCost(dot, dot.getAcc(), lane, chosen);
  if (chosen.isAlongK(dot))
    return weight(dot) * alongSteps(dot, width) + turnedOperand(dot.getA(), 1, chosen) + turnedOperand(dot.getB(), 0, chosen) + accumulator;
  return weight(dot) * laneSteps(dot, lane, width) + turnedOperand(lane == 0 ? dot.getA() : dot.getB(), lane, chosen) + accumulator;
}

double laneCost(func::FuncOp func, const LaneAssignment& chosen, int64_t width) {
  double total = 0;
  func.walk([&](Operation* op) { total += ownCost(op, chosen, width) + tiedCost(op, chosen); });
  return total;
}

}  // namespace fattn::cpu
