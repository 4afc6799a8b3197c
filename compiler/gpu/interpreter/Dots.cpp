// SPDX-License-Identifier: Apache-2.0
// Dots in flight. Each warp has its own part: its rows of the result, of all of b. What it reads of shared memory is taken when the dot
// completes; until then the result is anything.
#include <limits>

#include "compiler/gpu/interpreter/BufferPlaces.h"
#include "compiler/gpu/interpreter/Code.h"

using namespace mlir;

namespace fattn::adversary {

namespace {

/// An operand of m x k or k x n as one warp sees it: numbers that are read from a slot, or that the warp has in registers.
struct OperandPlaces {
  std::shared_ptr<const BufferPlaces> shared;  ///< null for registers
  std::vector<int32_t> holders;                ///< registers by element, of each warp
  int64_t rows = 0, columns = 0;               ///< of the operand, not transposed
  bool transposed = false;

  int64_t element(int64_t row, int64_t column) const { return transposed ? column * rows + row : row * columns + column; }
};

OperandPlaces sharedOperand(tilegpu::DotAsyncOp op, Value buffer, bool transposed) {
  auto shape = cast<tilegpu::BufferType>(buffer.getType()).getShape();
  return {.shared = std::make_shared<const BufferPlaces>(op, buffer),
          .holders = {},
          .rows = shape[transposed ? 1 : 0],
          .columns = shape[transposed ? 0 : 1],
          .transposed = transposed};
}

OperandPlaces registerOperand(const Distribution& tile, int64_t warps) {
  OperandPlaces result{.shared = nullptr, .holders = {}, .rows = tile.shape()[0], .columns = tile.shape()[1]};
  result.holders.assign(static_cast<std::size_t>(warps * tile.elementCount()), -1);
  for (int64_t warp = 0; warp < warps; ++warp)
    for (auto [i, element] : llvm::enumerate(tile.elements(warp)))
      result.holders[static_cast<std::size_t>(warp * tile.elementCount() + element)] = static_cast<int32_t>(i);
  return result;
}

/// Everything about a dot that is the same in all trips.
struct DotPlan {
  OperandPlaces a, b;
  int64_t firstRow = 0;  ///< of the result, that a's first row gives
  std::shared_ptr<const Distribution> c;
  Type element, operandElement;
  tilegpu::DotAsyncOp op;
};

/// Rows of the result that a warp has.
std::vector<int64_t> rowsOf(const DotPlan& plan, int64_t warp) {
  std::vector<bool> has(static_cast<std::size_t>(plan.c->shape()[0]));
  for (int32_t element : plan.c->elements(warp)) has[static_cast<std::size_t>(element / plan.c->shape()[1])] = true;
  std::vector<int64_t> rows;
  for (auto [row, there] : llvm::enumerate(has))
    if (there) rows.push_back(static_cast<int64_t>(row));
  return rows;
}

/// One warp's dot from its issue to its completion.
class RunningDot {
 public:
  RunningDot(std::shared_ptr<const DotPlan> plan, Block& block, Warp& warp, std::optional<int64_t> startOfA,
             std::optional<int64_t> startOfB, std::shared_ptr<const Elements> a, std::shared_ptr<const Elements> acc)
      : plan(std::move(plan)), a(std::move(a)), acc(std::move(acc)), number(warp.number), startOfA(startOfA), startOfB(startOfB) {
    rows = rowsOf(*this->plan, number);
    issued = block.access(warp, this->plan->op, number * this->plan->c->lanes());
    forBytes([&](int64_t at, int64_t bytes, const BufferPlaces& places) {
      block.run.shared.shadow.beginUnitRead(at, bytes, issued, block.run.log);
      places.checkWritten(block, issued, at);
    });
    Element poison = Element::number(std::numeric_limits<double>::quiet_NaN());
    result = std::make_shared<Elements>(this->plan->c->size(), poison);
  }

  void compute(Block& block) {
    const DotPlan& p = *plan;
    int64_t n = p.b.columns, depth = p.b.rows;
    if (startOfB && (startOfA || !p.a.shared)) {
      std::vector<double> right(static_cast<std::size_t>(depth * n));
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t j = 0; j < n; ++j) right[static_cast<std::size_t>(k * n + j)] = read(block, p.b, *startOfB, k, j);
      std::vector<std::vector<double>> sums(static_cast<std::size_t>(p.c->shape()[0]));
      for (int64_t row : rows) {
        std::vector<double>& sum = sums[static_cast<std::size_t>(row)];
        sum.assign(static_cast<std::size_t>(n), 0);
        for (int64_t k = 0; k < depth; ++k) {
          double left = p.a.shared ? read(block, p.a, *startOfA, row - p.firstRow, k) : held(row, k);
          for (int64_t j = 0; j < n; ++j) sum[static_cast<std::size_t>(j)] += left * right[static_cast<std::size_t>(k * n + j)];
        }
      }
      for (auto [i, element] : llvm::enumerate(p.c->elements(number)))
        (*result)[i].f = interpreter::roundTo(
            (*acc)[i].f + sums[static_cast<std::size_t>(element / n)][static_cast<std::size_t>(element % n)], p.element);
    }
  }

  void end(Block& block) {
    Access now = issued;
    now.phase = block.run.phase;
    forBytes([&](int64_t at, int64_t bytes, const BufferPlaces&) { block.run.shared.shadow.endFrom(at, bytes, now); });
  }

  std::shared_ptr<Elements> result;

 private:
  double read(Block& block, const OperandPlaces& operand, int64_t start, int64_t row, int64_t column) const {
    int64_t at = start + operand.shared->offset(operand.element(row, column));
    return interpreter::readBytes(block.run.shared.data + at, plan->operandElement).f;
  }
  double held(int64_t row, int64_t column) const {
    int64_t count = plan->a.rows * plan->a.columns;
    int32_t holder = plan->a.holders[static_cast<std::size_t>(number * count + plan->a.element(row, column))];
    if (holder < 0) interpreter::fail(plan->op, "needs data of other warps", ErrorCode::Unsupported);
    return (*a)[static_cast<std::size_t>(holder)].f;
  }

  void forBytes(llvm::function_ref<void(int64_t at, int64_t bytes, const BufferPlaces& places)> visit) const {
    const DotPlan& p = *plan;
    for (int64_t e = 0; startOfB && e < p.b.shared->elementCount(); ++e)
      visit(*startOfB + p.b.shared->offset(e), p.b.shared->elementBytes(), *p.b.shared);
    if (!p.a.shared || !startOfA) return;
    for (int64_t row : rows)
      for (int64_t k = 0; k < p.a.columns; ++k)
        visit(*startOfA + p.a.shared->offset(p.a.element(row - p.firstRow, k)), p.a.shared->elementBytes(), *p.a.shared);
  }

  std::shared_ptr<const DotPlan> plan;
  std::shared_ptr<const Elements> a, acc;
  std::vector<int64_t> rows;
  int64_t number;
  std::optional<int64_t> startOfA, startOfB;
  Access issued;
};

}  // namespace

namespace {

/// What the warps of one group do, or all of them where they have the same operands.
Action dotOfGroup(Flattener& to, tilegpu::DotAsyncOp op, int64_t group) {
  const tilegpu::DotAsyncOp::Factors factors = op.factors()[static_cast<std::size_t>(group)];
  auto plan = std::make_shared<DotPlan>();
  plan->op = op;
  plan->c = to.distribution(op.getAcc());
  plan->element = op.getAcc().getType().getElementType();
  plan->operandElement = op.getB().getType().getElementType();
  plan->b = sharedOperand(op, factors.b, op.getTransposedB());
  bool inRegisters = !factors.slotOfA;
  plan->a =
      inRegisters ? registerOperand(*to.distribution(factors.a), plan->c->warps()) : sharedOperand(op, factors.a, op.getTransposedA());
  plan->firstRow = group * plan->a.rows;
  int slotOfA = to.slot(inRegisters ? factors.a : factors.slotOfA);
  return [=, plan = std::shared_ptr<const DotPlan>(plan), slotOfB = to.slot(factors.slotOfB), acc = to.slot(op.getAcc()),
          into = to.slot(op.getResult())](Block& block, Warp& warp) {
    std::optional<int64_t> startOfA, startOfB = plan->b.shared->slotStart(block, warp.values[slotOfB].scalar.i);
    std::shared_ptr<const Elements> a;
    if (inRegisters)
      a = warp.values[slotOfA].tile;
    else
      startOfA = plan->a.shared->slotStart(block, warp.values[slotOfA].scalar.i);
    auto dot = std::make_shared<RunningDot>(plan, block, warp, startOfA, startOfB, a, warp.values[acc].tile);
    if (block.run.order.completion == Completion::AtOnce) dot->compute(block);
    warp.dots.push_back([dot](Block& at) {
      if (at.run.order.completion == Completion::Late) dot->compute(at);
      dot->end(at);
    });
    warp.values[into].tile = dot->result;
  };
}

}  // namespace

Action dotAsync(Flattener& to, tilegpu::DotAsyncOp op) {
  std::vector<Action> groups;
  for (std::size_t group = 0; group < op.factors().size(); ++group) groups.push_back(dotOfGroup(to, op, static_cast<int64_t>(group)));
  if (groups.size() == 1) return groups.front();
  return [=, warps = *tilegpu::targetOf(op).warpGroup](Block& block, Warp& warp) {
    groups[static_cast<std::size_t>(warp.number / warps)](block, warp);
  };
}

Action dotWait(Flattener& to, tilegpu::DotWaitOp op) {
  return [covered = op.getCovered(), pending = static_cast<std::size_t>(op.getPending().value_or(0)), from = to.slot(op.getValue()),
          into = to.slot(op.getResult())](Block& block, Warp& warp) {
    while (!covered && warp.dots.size() > pending) {
      warp.dots.front()(block);
      warp.dots.pop_front();
    }
    // What is still in flight does not become right later.
    warp.values[into].tile = std::make_shared<Elements>(*warp.values[from].tile);
  };
}

}  // namespace fattn::adversary
