// SPDX-License-Identifier: Apache-2.0
// tile.reduce within a warp.
//
// A reduction combines what a thread holds of each line, then halves of the warp with each other, as planReduction() says:
//
//   %m = tile.reduce %x axis 1 {max}  =>   m0 = max(max(x0, x2), max(x1, x3))            each line's registers, in two chains
//                                          m0 = max(m0, shfl.bfly m0, 1), ... 2          then lanes, one shuffle a word
//
// Two chains, because one would wait for every result and a tree would hold many. Elements of less than 32 bits share shuffles.
#include <map>

#include "compiler/gpu/lower/Lowering.h"
#include "compiler/layout/Queries.h"

using namespace mlir;

namespace fattn::gpu {
namespace {

using layout::Coords, layout::kRegister, layout::LinearLayout, layout::ReductionPlan;

/// A line's value of each of the operands.
using Values = SmallVector<Value, 2>;

class Reduction {
 public:
  Reduction(Lowering& to, tile::ReduceOp op)
      : to_(to),
        op_(op),
        axis_(static_cast<int>(op.getAxis())),
        layout_(*tilegpu::layoutOf(op.getInputs().front())),
        plan_(layout::planReduction(layout_, axis_)) {}

  LogicalResult run() {
    // Where any element will do, each thread takes one of its own.
    bool alone = tilegpu::picksAny(op_);
    if (!alone && (!plan_.warps.empty() || !plan_.warpCopies.empty()))
      return op_.emitOpError()
             << "combines elements of several warps; -tilegpu-decompose-conversions rewrites such a reduction before this pass";
    numberLines();
    SmallVector<Values> lines;
    for (int64_t base : bases_) {
      FailureOr<Values> line = withinThread(base);
      if (failed(line)) return failure();
      lines.push_back(std::move(*line));
    }
    for (const layout::ReductionStep& step : plan_.shuffles)
      if (!alone && failed(exchange(step, lines))) return failure();
    return give(lines);
  }

 private:
  Coords lineOf(int64_t r) const {
    Coords coords = Lowering::registerPart(layout_, r);
    coords.erase(coords.begin() + axis_);
    return coords;
  }

  /// A line for each register of the plan's result, and the first register of the input that holds elements of it.
  void numberLines() {
    std::map<Coords, int64_t> first;
    for (int64_t r = 0; r < layout_.inputSize(kRegister); ++r) first.emplace(lineOf(r), r);
    result_ = plan_.result.asTile(static_cast<int>(layout_.outputs().size()) - 1);
    for (int64_t q = 0; q < result_.inputSize(kRegister); ++q) {
      Coords line = Lowering::registerPart(result_, q);
      bases_.push_back(first.at(line));
      lineNumber_[line] = static_cast<size_t>(q);
    }
  }

  /// The registers of one line, each element once.
  SmallVector<int64_t> registersFrom(int64_t base) const {
    SmallVector<int64_t> registers = {base};
    for (const layout::ReductionStep& step : plan_.registers)
      for (size_t i = 0, n = registers.size(); i < n; ++i) registers.push_back(registers[i] ^ step.reg);
    for (const layout::ReductionCopies& copies : plan_.registerCopies)
      for (size_t i = 0, n = registers.size(); i < n; ++i)
        for (int64_t copy = 1; copy < copies.count; ++copy) registers.push_back(registers[i] + copy * copies.stride);
    llvm::sort(registers);
    return registers;
  }

  FailureOr<Values> withinThread(int64_t base) {
    SmallVector<Values, 2> chains;
    for (int64_t r : registersFrom(base)) {
      Values element;
      for (Value input : op_.getInputs()) element.push_back(to_.registers(input)[static_cast<size_t>(r)]);
      if (chains.size() < 2) {
        chains.push_back(std::move(element));
        continue;
      }
      FailureOr<Values> sum = combine(chains.front(), element);
      if (failed(sum)) return failure();
      chains.front() = std::move(*sum);
      std::swap(chains[0], chains[1]);
    }
    return chains.size() == 1 ? FailureOr<Values>(chains[0]) : combine(chains[0], chains[1]);
  }

  /// Combines each line with what the lane across has of the register that step names.
  LogicalResult exchange(const layout::ReductionStep& step, SmallVector<Values>& lines) {
    SmallVector<Values> received(lines.size());
    for (size_t operand = 0; operand < op_.getInputs().size(); ++operand) {
      Registers sent;
      for (int64_t base : bases_) sent.push_back(lines[lineNumber_.at(lineOf(base ^ step.reg))][operand]);
      for (auto [line, value] : llvm::zip(received, shuffleXor(to_, sent, static_cast<int>(step.lane)))) line.push_back(value);
    }
    for (auto [line, other] : llvm::zip(lines, received)) {
      FailureOr<Values> sum = combine(line, other);
      if (failed(sum)) return failure();
      line = std::move(*sum);
    }
    return success();
  }

  /// The author's region on two values of each operand.
  FailureOr<Values> combine(const Values& left, const Values& right) {
    Block& body = op_.getCombine().front();
    for (auto [argument, value] : llvm::zip(body.getArguments(), llvm::concat<const Value>(left, right))) to_.setScalar(argument, value);
    if (failed(to_.lowerBlock(body))) return failure();
    to_.b.setLoc(op_.getLoc());
    Values result;
    for (Value value : body.getTerminator()->getOperands()) result.push_back(to_.scalar(value));
    return result;
  }

  LogicalResult give(ArrayRef<Values> lines) {
    for (auto [operand, result] : llvm::enumerate(op_.getResults())) {
      Registers registers;
      for (const Values& line : lines) registers.push_back(line[operand]);
      auto type = cast<RankedTensorType>(result.getType());
      FailureOr<Registers> placed = convertRegisters(to_, registers, result_, *tilegpu::layoutOf(type), type.getElementType());
      if (failed(placed)) return op_.emitOpError() << "has a result that other warps need; legal is the layout " << result_.str();
      to_.set(result, std::move(*placed));
    }
    return success();
  }

  Lowering& to_;
  tile::ReduceOp op_;
  int axis_;
  const LinearLayout& layout_;
  ReductionPlan plan_;
  LinearLayout result_;         ///< of one register a line
  SmallVector<int64_t> bases_;  ///< by line
  std::map<Coords, size_t> lineNumber_;
};

}  // namespace

Registers shuffleXor(Lowering& to, ArrayRef<Value> values, int mask) {
  Type type = values.front().getType();
  size_t group = type.isIntOrFloat() ? std::max<size_t>(1, 32 / type.getIntOrFloatBitWidth()) : 1, first = 0;
  Registers result;
  while (first < values.size()) {
    size_t count = std::min(group, values.size() - first);
    Registers words = shuffleWords(to, values.slice(first, count));
    for (Value& word : words) word = to.machine.shuffleXor(to.b, word, mask);
    llvm::append_range(result, fromShuffleWords(to, words, type, static_cast<int>(count)));
    first += count;
  }
  return result;
}

bool isVote(tile::ReduceOp op) {
  if (!isa_and_nonnull<arith::OrIOp>(tilegpu::combinationOf(op))) return false;
  ReductionPlan plan = layout::planReduction(*tilegpu::layoutOf(op.getInputs().front()), static_cast<int>(op.getAxis()));
  auto asks = [](OpOperand& use) { return isa<tile::SelectLazyOp>(use.getOwner()) && use.getOperandNumber() == 0; };
  return plan.warps.empty() && plan.warpCopies.empty() && llvm::all_of(op->getUses(), asks);
}

LogicalResult lowerReduce(Lowering& to, tile::ReduceOp op) {
  if (isVote(op)) return success();  // lowered where it is asked
  return Reduction(to, op).run();
}

}  // namespace fattn::gpu
