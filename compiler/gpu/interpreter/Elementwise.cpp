// SPDX-License-Identifier: Apache-2.0
// arith and math on numbers and on the registers of a warp, and the regions of reductions.
#include "compiler/gpu/interpreter/Code.h"
#include "compiler/interpreter/Arithmetic.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;

namespace fattn::adversary {

namespace {

Action constantAction(Flattener& to, arith::ConstantOp op) {
  std::vector<Element> numbers = interpreter::literal(op);
  int result = to.slot(op);
  if (!tile::isTile(op.getType())) return [=, number = numbers.front()](Block&, Warp& warp) { warp.values[result].scalar = number; };
  auto layout = to.distribution(op);
  std::vector<std::shared_ptr<const Elements>> tiles;
  bool splat = cast<DenseElementsAttr>(op.getValue()).isSplat();
  for (int64_t warp = 0; warp < layout->warps(); ++warp) {
    if (splat && warp > 0) {
      tiles.push_back(tiles.front());
      continue;
    }
    auto tile = std::make_shared<Elements>();
    for (int32_t element : layout->elements(warp)) tile->push_back(numbers[splat ? 0 : static_cast<size_t>(element)]);
    tiles.push_back(std::move(tile));
  }
  return [=](Block&, Warp& warp) { warp.values[result].tile = tiles[static_cast<std::size_t>(warp.number) % tiles.size()]; };
}

/// NaN, so that a use of what has no value shows.
Action poisonAction(Flattener& to, ub::PoisonOp op) {
  Type element = getElementTypeOrSelf(op.getType());
  if (isa<tile::BlockPtrType>(element)) return {};
  Element value = isa<FloatType>(element) ? Element::number(std::nan("")) : Element::integer(0);
  int result = to.slot(op);
  if (!tile::isTile(op.getType())) return [=](Block&, Warp& warp) { warp.values[result].scalar = value; };
  auto tile = std::make_shared<const Elements>(to.distribution(op.getType())->size(), value);
  return [=](Block&, Warp& warp) { warp.values[result].tile = tile; };
}

}  // namespace

Action elementwiseAction(Flattener& to, Operation* op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) return constantAction(to, constant);
  if (auto poison = dyn_cast<ub::PoisonOp>(op)) return poisonAction(to, poison);
  interpreter::ElementFunction compute = interpreter::elementFunction(op);
  if (!compute) return {};
  std::vector<int> operands = to.slots(op->getOperands());
  int result = to.slot(op->getResult(0));
  if (isa<arith::SelectOp>(op) && !tile::isTile(op->getOperand(0).getType()))
    return [=](Block&, Warp& warp) { warp.values[result] = warp.values[operands[warp.values[operands[0]].scalar.i ? 1 : 2]]; };
  std::size_t count = operands.size();
  if (!tile::isTile(op->getResult(0).getType()))
    return [=](Block&, Warp& warp) {
      Element x[3];
      for (std::size_t k = 0; k < count; ++k) x[k] = warp.values[operands[k]].scalar;
      warp.values[result].scalar = compute(x);
    };
  std::size_t size = to.distribution(op->getResult(0))->size();
  for (Value operand : op->getOperands())
    if (tilegpu::layoutOf(operand) == nullptr || *tilegpu::layoutOf(operand) != *tilegpu::layoutOf(op->getResult(0)))
      interpreter::fail(op, "has operands and a result of different layouts");
  return [=](Block&, Warp& warp) {
    const Element* from[3] = {};
    for (std::size_t k = 0; k < count; ++k) from[k] = warp.values[operands[k]].tile->data();
    auto tile = std::make_shared<Elements>(size);
    for (std::size_t i = 0; i < size; ++i) {
      Element x[3];
      for (std::size_t k = 0; k < count; ++k) x[k] = from[k][i];
      (*tile)[i] = compute(x);
    }
    warp.values[result].tile = std::move(tile);
  };
}

ScalarFunction scalarFunction(Flattener& to, mlir::Block& region) {
  struct Step {
    interpreter::ElementFunction compute;
    std::vector<std::size_t> operands;
  };
  // Values: the arguments, then constants, numbers from outside and results as they come.
  llvm::DenseMap<Value, std::size_t> numbers;
  std::vector<Element> initial(region.getNumArguments());
  std::vector<std::pair<int, std::size_t>> outside;  // slots of the warp
  for (BlockArgument argument : region.getArguments()) numbers[argument] = argument.getArgNumber();
  auto numberOf = [&](Value value) {
    auto known = numbers.find(value);
    if (known != numbers.end()) return known->second;
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    if (!constant) outside.emplace_back(to.slot(value), initial.size());
    initial.push_back(constant ? interpreter::literal(constant).front() : Element());
    return numbers[value] = initial.size() - 1;
  };
  std::vector<std::pair<std::size_t, Step>> steps;
  for (Operation& op : region.without_terminator()) {
    if (isa<arith::ConstantOp>(op)) continue;
    Step step{.compute = interpreter::elementFunction(&op), .operands = {}};
    if (!step.compute) interpreter::fail(&op, "is not known in a reduction to the interpreter of tilegpu", ErrorCode::Unsupported);
    for (Value operand : op.getOperands()) step.operands.push_back(numberOf(operand));
    numbers[op.getResult(0)] = initial.size();
    steps.emplace_back(initial.size(), std::move(step));
    initial.emplace_back();
  }
  std::vector<std::size_t> results;
  for (Value value : region.getTerminator()->getOperands()) results.push_back(numberOf(value));
  std::size_t arguments = region.getNumArguments();
  return [=, values = initial](const Warp& warp, const Element* operands, Element* out) mutable {
    std::copy(operands, operands + arguments, values.begin());
    for (auto [slot, into] : outside) values[into] = warp.values[slot].scalar;
    for (const auto& [into, step] : steps) {
      Element x[3];
      for (std::size_t k = 0; k < step.operands.size(); ++k) x[k] = values[step.operands[k]];
      values[into] = step.compute(x);
    }
    for (std::size_t i = 0; i < results.size(); ++i) out[i] = values[results[i]];
  };
}

}  // namespace fattn::adversary
