// SPDX-License-Identifier: Apache-2.0
// Lets the last step of a product that a loop adds up run in the next trip, behind that trip's first reads of shared memory:
//
//   %r = scf.for iter_args(%c = %c0) {              %z:3 = scf.for iter_args(%c = %c0, %a = 0, %b = 0) {
//     copy_wait, barrier, copy_async                  copy_wait, barrier, copy_async
//     %a0, %b0 = load_buffer                          %a0, %b0 = load_buffer
//                                                     %d = tile.dot %a, %b, %c
//     %a1, %b1 = load_buffer                  =>      %a1, %b1 = load_buffer
//     %d0 = tile.dot %a0, %b0, %c                     %d0 = tile.dot %a0, %b0, %d
//     %d1 = tile.dot %a1, %b1, %d0                    scf.yield %d0, %a1, %b1
//     scf.yield %d1                                 }
//   }                                               %r = tile.dot %z#1, %z#2, %z#0
//
// So a trip's first fragments arrive while the matrix instructions of the trip before run, where without that all warps wait for them
// behind the barrier. The first trip adds a product of zeros. What is read, waited for and copied stays where it is.
//
// Assumption: A1 dots are cut into steps (-tilegpu-slice-dots). Products whose operands are computed in the loop, or stored into
// their buffers by threads, stay as they are. Test: tests/lit/gpu/carry-last-step.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_CARRYLASTSTEPPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// The steps of a product: the first one adds to what the loop carries, the last one is yielded.
struct Steps {
  unsigned number = 0;  ///< of the carried value
  SmallVector<tile::DotOp> dots;
};

/// Threads that store into a buffer do so when a barrier says that all have read it: reads of it stay in front of the barrier, with what
/// waits for them.
bool isFilledByCopies(Value buffer) { return llvm::none_of(buffer.getUsers(), llvm::IsaPred<StoreBufferOp>); }

/// What an operand is read by: a load of shared memory, and perhaps the transposition behind it. Empty where it is anything else.
SmallVector<Operation*> readOf(Value operand, scf::ForOp loop) {
  SmallVector<Operation*> ops;
  if (auto trans = operand.getDefiningOp<tile::TransOp>()) ops.push_back(trans), operand = trans.getInput();
  auto load = operand.getDefiningOp<LoadBufferOp>();
  if (!load || load->getBlock() != loop.getBody() || !isFilledByCopies(load.getBuffer())) return {};
  ops.push_back(load);
  return ops;
}

std::optional<Steps> stepsOf(scf::ForOp loop, unsigned number) {
  Steps steps{.number = number, .dots = {}};
  BlockArgument carried = loop.getRegionIterArg(number);
  auto dot = loop.getYieldedValues()[number].getDefiningOp<tile::DotOp>();
  while (dot && dot->getBlock() == loop.getBody() && dot->hasOneUse()) {
    steps.dots.insert(steps.dots.begin(), dot);
    if (dot.getAcc() == carried) break;
    dot = dot.getAcc().getDefiningOp<tile::DotOp>();
  }
  if (steps.dots.size() < 2 || steps.dots.front().getAcc() != carried || !carried.hasOneUse()) return std::nullopt;
  for (tile::DotOp step : steps.dots)
    for (Value operand : {step.getA(), step.getB()})
      if (readOf(operand, loop).empty()) return std::nullopt;
  return steps;
}

/// In front of the reads of the second step, which follow those of the first one.
Operation* placeFor(const Steps& steps, scf::ForOp loop) {
  tile::DotOp first = steps.dots[0], second = steps.dots[1];
  Operation* place = second;
  for (Value operand : {second.getA(), second.getB()})
    for (Operation* read : readOf(operand, loop))
      if (read->isBeforeInBlock(place)) place = read;
  for (Value operand : {first.getA(), first.getB()})
    for (Operation* read : readOf(operand, loop))
      if (!read->isBeforeInBlock(place)) return first;
  return place;
}

Value zeroOf(OpBuilder& b, Location loc, Value like) { return arith::ConstantOp::create(b, loc, b.getZeroAttr(like.getType())); }

scf::ForOp carry(scf::ForOp loop, const Steps& steps) {
  tile::DotOp last = steps.dots.back();
  Location loc = last.getLoc();
  OpBuilder outside(loop);
  SmallVector<Value> zeros = {zeroOf(outside, loc, last.getA()), zeroOf(outside, loc, last.getB())};
  DictionaryAttr attributes = loop->getDiscardableAttrDictionary();
  IRRewriter rewriter(loop.getContext());
  auto yields = [&](OpBuilder&, Location, ArrayRef<BlockArgument>) { return SmallVector<Value>{last.getA(), last.getB()}; };
  auto wider = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(rewriter, zeros, /*replaceInitOperandUsesInLoop=*/false, yields));
  wider->setDiscardableAttrs(attributes);
  size_t fragments = wider.getNumResults() - zeros.size();
  auto step = [&](OpBuilder& b, ValueRange operands, Value acc) {
    auto dot = tile::DotOp::create(b, loc, last.getType(), operands[0], operands[1], acc, last.getPrecision());
    dot->setDiscardableAttrs(last->getDiscardableAttrDictionary());
    return dot;
  };
  OpBuilder inside(placeFor(steps, wider));
  tile::DotOp first = steps.dots.front();
  first.getAccMutable().assign(
      step(inside, ValueRange(wider.getRegionIterArgs()).drop_front(fragments), wider.getRegionIterArg(steps.number)).getResult());
  OpBuilder behind = OpBuilder::atBlockEnd(wider->getBlock());
  behind.setInsertionPointAfter(wider);
  Value part = wider.getResult(steps.number);
  auto rest = step(behind, wider.getResults().drop_front(fragments), part);
  part.replaceAllUsesExcept(rest.getResult(), rest);
  last.replaceAllUsesWith(last.getAcc());
  last.erase();
  return wider;
}

class CarryLastStepPass : public impl::CarryLastStepPassBase<CarryLastStepPass> {
 public:
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      for (unsigned number = 0, count = loop.getNumRegionIterArgs(); number < count; ++number)
        if (std::optional<Steps> steps = stepsOf(loop, number)) loop = carry(loop, *steps);
  }
};

}  // namespace

}  // namespace fattn::tilegpu
