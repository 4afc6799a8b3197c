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

/// An elementwise operation: its operands have to lie along the lanes of its result.
double elementwiseCost(Operation* op, const LaneAssignment& chosen) {
  bool oneTile = op->getNumResults() == 1 && op->getNumRegions() == 0 && isTile(op->getResult(0));
  if (!oneTile || op->hasTrait<tile::MovesElements>() || isa<tile::JoinOp, tile::SplitOp>(op)) return 0;
  double total = 0;
  for (Value v : op->getOperands()) total += turnCost(op, v, chosen.lane(op->getResult(0)), chosen);
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

}  // namespace

double dotCost(tile::DotOp dot, const LaneAssignment& chosen, int64_t width) {
  int lane = chosen.dotLane(dot);
  auto shape = cast<RankedTensorType>(dot.getType()).getShape();
  int64_t k = cast<RankedTensorType>(dot.getA().getType()).getDimSize(1);
  double padded = static_cast<double>(llvm::divideCeil(shape[lane], width)) * width;
  double total = weight(dot) * padded * shape[1 - lane] * k / width;  // multiply-add instructions
  Value vectors = lane == 0 ? dot.getA() : dot.getB();
  if (mustTurn(vectors, lane, chosen)) total += weightOfDefinition(vectors) * elements(vectors);
  return total + turnCost(dot, dot.getAcc(), lane, chosen);
}

double laneCost(func::FuncOp func, const LaneAssignment& chosen, int64_t width) {
  double total = 0;
  func.walk([&](Operation* op) { total += ownCost(op, chosen, width) + tiedCost(op, chosen); });
  return total;
}

}  // namespace fattn::cpu
