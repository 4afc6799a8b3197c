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

constexpr size_t kFewCombinations = 256;  // each is a look at the whole function

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
  func.walk([&](tile::DotOp dot) {
    dots.push_back(dot);
    choices[dot] = {Form::Lane1, Form::Lane0};
    if (mayRunAlongK(dot, lanes)) choices[dot].push_back(Form::AlongK);
  });
  search();
}

int LaneAssignment::lane(Value tile) const {
  auto it = valueLanes.find(tile);
  return it == valueLanes.end() ? -1 : it->second;
}

int LaneAssignment::dotLane(Operation* dot) const { return forms.lookup(dot) == Form::Lane0 ? 0 : 1; }

bool LaneAssignment::isAlongK(Operation* dot) const { return forms.lookup(dot) == Form::AlongK; }

void LaneAssignment::setLane(Value value, int lane) {
  auto type = tileType(value);
  if (!type || lane < 0 || lane >= type.getRank() || type.getDimSize(lane) == 1) return;
  valueLanes.try_emplace(value, lane);
}

/// Repeated elements may run along any lane: they decide only where nobody else does. What a loop carries may be known later.
int LaneAssignment::laneFromOperands(Operation* op, Round round) const {
  int best = -1, repeated = -1;
  bool isOpen = false;
  for (Value operand : op->getOperands()) {
    int l = lane(operand);
    if (operand.getDefiningOp<tile::BroadcastOp>())
      repeated = repeated < 0 ? l : repeated;
    else if (l >= 0 && (best < 0 || operand.getDefiningOp<tile::DotOp>()))
      best = l;
    isOpen |= l < 0 && isTile(operand) && isa<BlockArgument>(operand);
  }
  if (best >= 0) return best;
  return isOpen && round == Round::First ? -1 : repeated;
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

void LaneAssignment::propagateOp(Operation* op, Round round) {
  auto any = [&](Operation* other) {
    if (other->getNumRegions()) return propagateTied(other);
    int in = laneFromOperands(other, round);
    for (Value r : other->getResults()) setLane(r, in);
  };
  TypeSwitch<Operation*>(op)
      .Case<tile::DotOp>([&](auto dot) { setLane(dot.getResult(), dotLane(dot)); })
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
  for (Round round : {Round::First, Round::Last}) {
    func.walk<WalkOrder::PreOrder>([&](Operation* op) { propagateOp(op, round); });
    func.walk<WalkOrder::PostOrder>([&](Operation* op) { propagateOp(op, round); });
  }
}

double LaneAssignment::costNow() {
  propagate();
  return laneCost(func, *this, lanes);
}

void LaneAssignment::consider(Choice& best) {
  if (double cost = costNow(); cost < best.cost) best = {cost, forms};
}

void LaneAssignment::tryAll(Choice& best) {
  for (size_t number = 0, count = combinations(); number < count; ++number) {
    size_t rest = number;
    for (tile::DotOp dot : dots) {
      forms[dot] = choices[dot][rest % choices[dot].size()];
      rest /= choices[dot].size();
    }
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
    for (Form form : llvm::drop_begin(choices[dot])) {
      forms = best.forms;
      forms[dot] = form;
      consider(best);
    }
  }
}

size_t LaneAssignment::combinations() const {
  size_t count = 1;
  for (tile::DotOp dot : dots) count = std::min(count, kFewCombinations) * choices.at(dot).size();
  return count;
}

void LaneAssignment::search() {
  for (tile::DotOp dot : dots) forms[dot] = Form::Lane1;
  Choice best{costNow(), forms};
  if (combinations() <= kFewCombinations)
    tryAll(best);
  else
    tryCostliest(best);
  forms = best.forms;
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
