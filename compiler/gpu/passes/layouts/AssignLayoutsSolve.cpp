// SPDX-License-Identifier: Apache-2.0
// Finds a home for every tile. Strong wishes come first: the accumulators of dots, in the order of their work; then what makes global
// memory coalesced, in the order of the bytes; each spreads along the graph until it meets another. How each dot is spread over the warps
// is searched: first all alike, then one dot at a time until nothing improves; which access of memory others follow is searched, too.
// Every choice is priced for the whole function: reading operands from shared memory, matrix instructions, conversions, reductions, global
// accesses, each as often as it runs.
#include <algorithm>
#include <deque>
#include <limits>

#include "compiler/gpu/passes/layouts/AssignLayouts.h"
#include "compiler/gpu/passes/lazy/ExactSides.h"
#include "compiler/transforms/Divisibility.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {

/// Of a load or store.
static Value pointerOf(Operation* op) { return op->getOperand(0); }

static int contiguousDimOf(Operation* op) { return transforms::contiguousDim(pointerOf(op)).value_or(-1); }
static int accessBytesOf(Operation* op) { return static_cast<int>(transforms::accessBytes(pointerOf(op), extentsOf(op))); }
static Value tileOf(Operation* op) { return isa<tile::LoadOp>(op) ? op->getResult(0) : op->getOperand(1); }

/// The analysis of a pointer follows all that it is computed from: once for each access, not for each choice that is priced.
const Assignment::Access& Assignment::accessOf(Operation* op) {
  auto [entry, isNew] = accesses_.try_emplace(op);
  Access& access = entry->second;
  if (!isNew) return access;
  Value tile = tileOf(op);
  access.contiguous = contiguousDimOf(op);
  access.bytes = accessBytesOf(op);
  if (isa<tile::AccumulateOp>(op)) access.bytes = std::min(access.bytes, std::max(pool_.target().addedBytes, bitsOf(tile) / 8));
  access.layout = pool_.blocked(shapeOf(tile), access.contiguous, bitsOf(tile), access.bytes);
  return access;
}

/// Asked of every access for each choice that is priced.
bool Assignment::isForSingleWarps(Operation* op) {
  auto [entry, isNew] = singleWarps_.try_emplace(op);
  if (isNew) entry->second = tilegpu::isForSingleWarps(op, pool_.target(), pool_.warps());
  return entry->second;
}

double Assignment::costOfMemory(Operation* op, LayoutId layout) {
  const Access& access = accessOf(op);
  return pool_.memoryCost(layout, access.contiguous, bitsOf(tileOf(op)), access.bytes, isa<tile::StoreOp>(op));
}

static double bytesOf(Value tile) {
  double elements = 1;
  for (int64_t size : shapeOf(tile)) elements *= static_cast<double>(size);
  return elements * bitsOf(tile) / 8;
}

/// The heaviest first, equal ones in their order.
template <typename T, typename Weight>
static void sortByWeight(std::vector<T>& values, Weight weight) {
  std::multimap<double, T, std::greater<>> sorted;
  for (const T& value : values) sorted.emplace(weight(value), value);
  values.clear();
  for (auto& [heavy, value] : sorted) values.push_back(value);
}

void Assignment::collectAnchors() {
  for (Operation* op : operations_) {
    if (isa<tile::LoadOp, tile::StoreOp, tile::AccumulateOp>(op)) {
      Value tile = tileOf(op);
      if (!isCheap(tile)) anchors_.push_back({tile, accessOf(op).layout, bytesOf(tile) * frequencyOf(op)});
    } else if (isa<tile::GatherOp, tile::ScatterOp, tile::AtomicAddOp>(op)) {
      // Neighbours in the tile are neighbours in memory, if any are.
      for (Value tile : llvm::concat<Value>(SmallVector<Value>(op->getResults()), SmallVector<Value>(op->getOperands())))
        if (isTileValue(tile) && edges_.contains(tile))
          anchors_.push_back({tile, pool_.blocked(shapeOf(tile), -1, bitsOf(tile), bitsOf(tile) / 8), bytesOf(tile) * frequencyOf(op)});
    }
  }
  sortByWeight(anchors_, [](const Anchor& anchor) { return anchor.weight; });
  sortByWeight(dots_, [](tile::DotOp dot) {
    return frequencyOf(dot) * static_cast<double>(dot.getType().getNumElements()) * static_cast<double>(dot.getA().getType().getDimSize(1));
  });
}

/// Gives the value this layout and follows the edges to all that has none yet.
void Assignment::spread(Value from, LayoutId layout) {
  if (layout == kNoLayout || !homes_.try_emplace(from, layout).second) return;
  std::deque<Value> open = {from};
  while (!open.empty()) {
    Value v = open.front();
    open.pop_front();
    LayoutId home = homes_.lookup(v);
    for (const Edge& edge : edges_.find(v)->second) {
      LayoutId derived = pool_.derive(home, edge.rule);
      if (derived != kNoLayout && homes_.try_emplace(edge.to, derived).second) open.push_back(edge.to);
    }
  }
}

void Assignment::assignHomes() {
  homes_.clear();
  // In code of single warps B first, of which a warp has all: what is reduced over its rows, such as the first one with a property, has a
  // few numbers in a lane, and one for each sum in the sums' layout.
  for (auto [dot, options, choice] : llvm::zip_equal(dots_, options_, chosen_))
    if (isForSingleWarps(dot) && edges_.contains(dot.getB())) spread(dot.getB(), options[choice].b);
  for (auto [dot, options, choice] : llvm::zip_equal(dots_, options_, chosen_)) spread(dot.getResult(), options[choice].c);
  for (auto [dot, options, choice] : llvm::zip_equal(dots_, options_, chosen_)) {
    if (!isForSingleWarps(dot)) continue;
    for (auto [operand, layout] : {std::pair(dot.getA(), options[choice].a), std::pair(dot.getB(), options[choice].b)})
      if (edges_.contains(operand)) spread(operand, layout);
  }
  for (const Anchor& anchor : anchors_) spread(anchor.value, anchor.layout);
  // Operands that nothing else places are made where the dot takes them, such as a broadcast of a smaller tile.
  for (auto [dot, options, choice] : llvm::zip_equal(dots_, options_, chosen_)) {
    if (edges_.contains(dot.getA())) spread(dot.getA(), options[choice].a);
    if (edges_.contains(dot.getB())) spread(dot.getB(), options[choice].b);
  }
  for (auto& [value, edges] : edges_) spread(value, pool_.blocked(shapeOf(value), -1, bitsOf(value), 16));
}

/// The dimension of a loaded tile of rank 2, or of its transpose, that is contiguous in memory; -1: none.
int Assignment::contiguousDimIn(Value operand) {
  int dim = accessOf(loadBehind(operand)).contiguous;
  for (auto trans = operand.getDefiningOp<tile::TransOp>(); trans && dim >= 0; trans = trans.getInput().getDefiningOp<tile::TransOp>())
    dim = 1 - dim;
  return dim;
}

double Assignment::costOfDot(tile::DotOp dot) {
  const DotOption& option = optionOf(dot);
  double total = option.cycles * frequencyOf(dot);
  auto addRead = [&](Value operand, LayoutId layout, bool byMatrixUnit, int depthDim) {
    if (!loadBehind(operand) || byMatrixUnit) return;
    // Where memory is contiguous across the depth, copies turn the tile, so that it can be read in pieces of any width.
    const bool keepsOrder = contiguousDimIn(operand) == depthDim;
    total += pool_.sharedReadCost(layout, bitsOf(operand), keepsOrder ? depthDim : -1) * frequencyOf(dot);
  };
  addRead(dot.getA(), option.a, option.sharedA, 1);
  addRead(dot.getB(), option.b, option.sharedB, 0);
  return total;
}

static double frequencyOfDefinition(Value v) {
  Operation* op = v.getDefiningOp();
  if (op) return frequencyOf(op);
  Operation* parent = v.getParentBlock()->getParentOp();
  return frequencyOf(parent) * (isa<LoopLikeOpInterface>(parent) ? 16 : 1);
}

/// A conversion at an operation, before it is multiplied by how often that runs. Where blocks take several programs, code of single warps
/// gets no shared memory.
double Assignment::costOfMove(Operation* op, LayoutId from, LayoutId to, int bits) {
  const double cycles = pool_.conversionCost(from, to, bits);
  const bool apart = function_->hasAttr(kSeveralAttr) && isForSingleWarps(op);
  return apart && pool_.convertsInShared(from, to, bits) ? cycles + kImpossible / frequencyOf(op) : cycles;
}

double Assignment::costOf(Operation* op) {
  Placement placement = place(op);
  double frequency = frequencyOf(op), total = 0;
  auto dot = dyn_cast<tile::DotOp>(op);
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    bool fromMemory = dot && i < 2 && loadBehind(operand);
    if (!isTileValue(operand) || isCheap(operand) || fromMemory) continue;
    // What does not change in a loop is converted before it.
    total += costOfMove(op, home(operand), placement.operands[i], bitsOf(operand)) * std::min(frequency, frequencyOfDefinition(operand));
  }
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (isTileValue(result)) total += costOfMove(op, placement.results[i], home(result), bitsOf(result)) * frequency;
  if (dot) total += costOfDot(dot);
  if (auto reduce = dyn_cast<tile::ReduceOp>(op); reduce && !picksAny(reduce))
    for (Value input : reduce.getInputs())
      total += pool_.reductionCost(placement.operands[0], static_cast<int>(reduce.getAxis()), bitsOf(input)) * frequency;
  if (isa<tile::LoadOp>(op)) total += costOfMemory(op, placement.results[0]) * frequency;
  if (isa<tile::StoreOp, tile::AccumulateOp>(op)) total += costOfMemory(op, placement.operands[1]) * frequency;
  return total;
}

/// Of the whole function, or of a part of it that costs as much as `limit`.
double Assignment::cost(double limit) {
  assignHomes();
  double total = 0;
  for (Operation* op : byFrequency_) {
    total += costOf(op);
    if (total >= limit) break;
  }
  return total;
}

/// What the choice costs.
double Assignment::chooseDots() {
  // Where to begin: all dots alike, in the best such way. Chained dots that share their rows cost nothing then. Ways that differ from
  // another one in the depth's order only, the last ones, have no part in it.
  auto isInOrder = [](const DotOption& option) { return !option.row->inRuns; };
  SmallVector<size_t> inOrder;
  for (const auto& options : options_) inOrder.push_back(static_cast<size_t>(llvm::count_if(options, isInOrder)));
  size_t most = 1;
  for (size_t count : inOrder) most = std::max(most, count);
  std::vector<size_t> begin;
  double best = std::numeric_limits<double>::infinity();
  for (size_t choice = 0; choice < most; ++choice) {
    chosen_.clear();
    for (size_t count : inOrder) chosen_.push_back(std::min(choice, count - 1));
    double now = cost(best);
    if (now < best) best = now, begin = chosen_;
  }
  chosen_ = begin;
  // Then one dot at a time in turns, until all have been tried since the last change: a better place for one can make another one's better.
  // Each try prices the whole function, so that only the dots with the most work are tried and the time stays proportional to the function.
  constexpr size_t kMostDots = 16, kMostRounds = 16;
  const size_t dots = std::min(dots_.size(), kMostDots);
  for (size_t turn = 0, settled = 0; settled < dots && turn < kMostRounds * dots; ++turn) {
    const size_t i = turn % dots;
    ++settled;
    size_t kept = chosen_[i];
    for (size_t choice = 0; choice < options_[i].size(); ++choice) {
      if (choice == kept) continue;
      chosen_[i] = choice;
      double now = cost(best);
      if (now >= best) continue;
      best = now;
      kept = choice;
      settled = 1;
    }
    chosen_[i] = kept;
  }
  return best;
}

/// The access that the others follow is the one with the most bytes, or another one where that costs less than `best`: what a narrow type
/// stores in whole vectors can be loaded in several, where a vector of a wide type would be stored in pieces.
void Assignment::chooseAnchors(double best) {
  constexpr size_t kMostAnchors = 8;
  const size_t tried = std::min(anchors_.size(), kMostAnchors);
  for (size_t i = 1; i < tried; ++i) {
    const std::vector<Anchor> kept = anchors_;
    std::rotate(anchors_.begin(), anchors_.begin() + static_cast<ptrdiff_t>(i), anchors_.begin() + static_cast<ptrdiff_t>(i) + 1);
    const double now = cost(best);
    if (now < best)
      best = now;
    else
      anchors_ = kept;
  }
}

LogicalResult Assignment::solve() {
  for (BlockArgument arg : function_.getFunctionBody().front().getArguments()) addNode(arg);
  auto isTouched = [](Operation* op) {
    auto isTile = [](Type type) { return isa<RankedTensorType>(type); };
    return llvm::any_of(op->getOperandTypes(), isTile) || llvm::any_of(op->getResultTypes(), isTile) || op->getNumRegions();
  };
  function_.getFunctionBody().walk<WalkOrder::PreOrder>([&](Operation* op) {
    if (!isTouched(op) || (op->getNumResults() == 1 && isTileValue(op->getResult(0)) && isCheap(op->getResult(0)))) return;
    operations_.push_back(op);
    connectOperation(op);
    if (auto dot = dyn_cast<tile::DotOp>(op)) dots_.push_back(dot);
  });
  byFrequency_ = operations_;
  sortByWeight(byFrequency_, frequencyOf);
  collectAnchors();
  for (auto [i, dot] : llvm::enumerate(dots_)) {
    dotNumbers_[dot] = i;
    FailureOr<std::vector<DotOption>> options = dotOptions(dot, pool_);
    if (failed(options)) return failure();
    options_.push_back(std::move(*options));
  }
  chooseAnchors(chooseDots());
  assignHomes();
  return success();
}

}  // namespace fattn::tilegpu
