// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/LaneAssignment.h"

#include <map>

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

constexpr double kTripsAssumed = 32;  // how often a loop of unknown length is taken to run

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

RankedTensorType tileType(Value v) { return dyn_cast<RankedTensorType>(v.getType()); }

double elements(Value v) { return tileType(v).getNumElements(); }

/// The loop-carried or yielded counterparts of a loop's values: (init, iter arg, yielded, result).
void forEachCarried(Operation* op, function_ref<void(Value, Value, Value, Value)> fn) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    auto yielded = loop.getBody()->getTerminator()->getOperands();
    for (auto [init, arg, y, res] : llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), yielded, loop.getResults()))
      fn(init, arg, y, res);
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    for (auto [init, arg, y] : llvm::zip_equal(loop.getInits(), loop.getBeforeArguments(), loop.getYieldOp().getOperands()))
      fn(init, arg, y, arg);
    for (auto [c, arg, res] : llvm::zip_equal(loop.getConditionOp().getArgs(), loop.getAfterArguments(), loop.getResults()))
      fn(c, arg, c, res);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    if (branch.getNumResults())
      for (auto [t, e, res] : llvm::zip_equal(branch.thenYield().getOperands(), branch.elseYield().getOperands(), branch.getResults()))
        fn(t, e, t, res);
  } else if (auto lazy = dyn_cast<tile::SelectLazyOp>(op)) {
    auto exact = lazy.getExact().front().getTerminator()->getOperands();
    for (auto [usual, e, res] : llvm::zip_equal(lazy.getUsual(), exact, lazy.getResults())) fn(usual, e, usual, res);
  }
}

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

void LaneAssignment::propagateOp(Operation* op) {
  if (auto dot = dyn_cast<tile::DotOp>(op)) return setLane(dot.getResult(), dotLanes[op]);
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    int unit = unitStrideDim(load.getPtr());
    return setLane(load.getResult(), unit >= 0 ? unit : load.getResult().getType().getRank() - 1);
  }
  if (auto trans = dyn_cast<tile::TransOp>(op)) {
    int in = lane(trans.getInput());
    for (auto [i, p] : llvm::enumerate(trans.getPermutation()))
      if (p == in) setLane(trans.getResult(), i);
    return;
  }
  if (auto expand = dyn_cast<tile::ExpandDimsOp>(op)) {
    int in = lane(expand.getInput());
    return setLane(expand.getResult(), in < 0 ? -1 : in + (in >= static_cast<int>(expand.getAxis())));
  }
  if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    int in = lane(reduce.getInputs()[0]), axis = reduce.getAxis();
    for (Value r : reduce.getResults()) setLane(r, in == axis ? tileType(r).getRank() - 1 : in - (in > axis));
    return;
  }
  if (isa<tile::ReshapeOp, tile::JoinOp, tile::SplitOp>(op)) {
    for (Value r : op->getResults()) setLane(r, tileType(r).getRank() - 1);
    return;
  }
  if (op->getNumRegions()) {
    forEachCarried(op, [&](Value a, Value b, Value c, Value d) {
      int l = lane(a);
      for (Value v : {c, b, d})
        if (l < 0) l = lane(v);
      for (Value v : {b, d}) setLane(v, l);
    });
    return;
  }
  int in = laneFromOperands(op);
  for (Value r : op->getResults())
    if (tileType(r)) setLane(r, in);
}

void LaneAssignment::propagate() {
  valueLanes.clear();
  // Loops are visited before and after their bodies: a carried value that starts as a constant takes the lane of what the body yields.
  for (int round = 0; round < 2; ++round) {
    func.walk<WalkOrder::PreOrder>([&](Operation* op) { propagateOp(op); });
    func.walk<WalkOrder::PostOrder>([&](Operation* op) { propagateOp(op); });
  }
}

double LaneAssignment::dotCost(tile::DotOp dot) const {
  int l = dotLanes.lookup(dot);
  auto shape = cast<RankedTensorType>(dot.getType()).getShape();
  int64_t k = cast<RankedTensorType>(dot.getA().getType()).getDimSize(1);
  double padded = static_cast<double>(llvm::divideCeil(shape[l], lanes)) * lanes;
  double total = weight(dot) * padded * shape[1 - l] * k / lanes;  // multiply-add instructions
  Value vectors = l == 0 ? dot.getA() : dot.getB();
  if (lane(vectors) >= 0 && lane(vectors) != l) total += weightOfDefinition(vectors) * elements(vectors);
  if (lane(dot.getAcc()) >= 0 && lane(dot.getAcc()) != l) total += weight(dot) * elements(dot.getAcc());
  return total;
}

double LaneAssignment::cost() {
  double total = 0;
  func.walk([&](Operation* op) {
    if (auto dot = dyn_cast<tile::DotOp>(op)) {
      total += dotCost(dot);
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      int unit = unitStrideDim(store.getPtr()), l = lane(store.getValue());
      if (l >= 0 && unit >= 0 && l != unit) total += weight(op) * elements(store.getValue());
    } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      Value in = reduce.getInputs()[0];
      if (lane(in) == static_cast<int>(reduce.getAxis()))
        total += weight(op) * 8 * elements(in) / tileType(in).getDimSize(reduce.getAxis());
    } else if (op->getNumResults() == 1 && op->getNumRegions() == 0 && tileType(op->getResult(0))) {
      int l = lane(op->getResult(0));
      if (!op->hasTrait<tile::MovesElements>() && !isa<tile::JoinOp, tile::SplitOp>(op))
        for (Value v : op->getOperands())
          if (lane(v) >= 0 && lane(v) != l) total += weight(op) * elements(v);
    }
    forEachCarried(op, [&](Value a, Value, Value y, Value res) {
      for (Value v : {a, y})
        if (lane(v) >= 0 && lane(v) != lane(res)) total += weight(op) * elements(v);
    });
  });
  return total;
}

void LaneAssignment::search() {
  // Every dot has two choices. Up to eight dots all combinations are tried, beyond that one dot after the other, the costliest ones.
  size_t n = dots.size();
  for (tile::DotOp dot : dots) dotLanes[dot] = 1;
  auto evaluate = [&] {
    propagate();
    return cost();
  };
  double best = evaluate();
  auto bestLanes = dotLanes;
  auto consider = [&] {
    if (double c = evaluate(); c < best) {
      best = c;
      bestLanes = dotLanes;
    }
  };
  if (n <= 8) {
    for (unsigned mask = 0; mask < (1u << n); ++mask) {
      for (size_t i = 0; i < n; ++i) dotLanes[dots[i]] = (mask >> i & 1) ? 0 : 1;
      consider();
    }
  } else {
    constexpr size_t kMostTried = 64;  // each try looks at the whole function
    std::multimap<double, tile::DotOp, std::greater<>> costly;
    for (tile::DotOp dot : dots) costly.emplace(dotCost(dot), dot);
    size_t tried = 0;
    for (auto& [cost, dot] : costly) {
      if (++tried > kMostTried) break;
      dotLanes = bestLanes;
      dotLanes[dot] = 0;
      consider();
    }
  }
  dotLanes = bestLanes;
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
