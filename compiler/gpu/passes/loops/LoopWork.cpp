// SPDX-License-Identifier: Apache-2.0
// What one operation on tiles costs, in lane operations of all threads of a block.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/DotShapes.h"
#include "compiler/gpu/passes/loops/LoopGraph.h"
#include "compiler/layout/Conversion.h"
#include "compiler/layout/Queries.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

using gpu::ArithmeticWork;
using layout::LinearLayout;

/// From the issue of a load to its data, about: what the simulator assumes of copies.
constexpr double kLoadLatency = 600;

double threadsOf(const LinearLayout& layout) {
  return static_cast<double>(layout.inputSize(layout::kLane) * layout.inputSize(layout::kWarp));
}
/// Elements that all threads together hold, copies included.
double held(const LinearLayout& layout) { return static_cast<double>(layout.inputSize(layout::kRegister)) * threadsOf(layout); }

void addReduce(tile::ReduceOp op, ArithmeticWork& work) {
  for (Value input : op.getInputs()) {
    const LinearLayout& layout = *layoutOf(input);
    layout::ReductionPlan plan = layout::planReduction(layout, static_cast<int>(op.getAxis()));
    double threads = threadsOf(layout), shuffles = plan.shuffleCount() * threads;
    work.add += held(layout) + shuffles;
    work.shuffle += shuffles;
    if (!plan.warps.empty()) work.sharedBytes += 8 * held(plan.result);
  }
}

void addConversion(ConvertLayoutOp op, ArithmeticWork& work) {
  const LinearLayout &from = *layoutOf(op.getInput()), &to = *layoutOf(op.getResult());
  int bits = elementBits(op.getResult().getType().getElementType());
  layout::ConversionCost cost = layout::planConversion(from, to, bits, banksOf(op)).cost;
  double threads = threadsOf(from);
  work.shuffle += cost.shuffles * threads;
  work.add += cost.selects * threads;
  if (cost.stores) work.sharedBytes += (held(from) + held(to)) * bits / 8;
}

void addElementwise(Operation* op, ArithmeticWork& work) {
  Type type = op->getResult(0).getType();
  const LinearLayout* layout = layoutOf(type);
  if (!layout) return;
  double count = held(*layout);
  // Two 16-bit elements or two conversions to them are one instruction.
  bool narrow = elementBits(cast<RankedTensorType>(type).getElementType()) <= 16;
  if (isa<math::Exp2Op, math::ExpOp, math::LogOp, math::Log2Op, math::SqrtOp, math::RsqrtOp, math::TanhOp>(op))
    work.exp2 += count;
  else if (isa<arith::TruncFOp, arith::ExtFOp, arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp>(op))
    work.convert += narrow ? count / 2 : count;
  else if (isa<math::FmaOp, arith::MulFOp>(op))
    work.fma += count;
  else if (isa<arith::DivFOp>(op))
    work.fma += 8 * count;  // a reciprocal and its refinement
  else if (op->hasTrait<OpTrait::Elementwise>() && !isa<arith::NegFOp>(op))
    work.add += count;  // negation is a modifier of the instruction that uses it
}

void add(Operation* op, ArithmeticWork& work) {
  if (auto lazy = dyn_cast<tile::SelectLazyOp>(op)) {
    if (const LinearLayout* layout = layoutOf(lazy.getCondition())) work.add += held(*layout), work.shuffle += threadsOf(*layout);
  } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    addReduce(reduce, work);
  } else if (auto conversion = dyn_cast<ConvertLayoutOp>(op)) {
    addConversion(conversion, work);
  } else if (auto store = dyn_cast<StoreBufferOp>(op)) {
    work.sharedBytes += held(*layoutOf(store.getValue())) * elementBits(store.getValue().getType().getElementType()) / 8;
  } else if (auto cumsum = dyn_cast<tile::CumsumOp>(op)) {
    work.add += held(*layoutOf(cumsum.getInput()));
  } else if (isa<tile::LoadOp, tile::GatherOp, tile::AtomicAddOp>(op)) {
    work.latency = std::max(work.latency, kLoadLatency);
  } else if (op->getNumRegions() != 0) {
    for (Region& region : op->getRegions())
      for (Operation& inner : region.getOps()) add(&inner, work);
  } else if (op->getNumResults() == 1 && op->getNumOperands() != 0) {
    addElementwise(op, work);
  }
}

/// Warps along the columns of a product.
int columnPartsOf(tile::DotOp dot) {
  const LinearLayout& layout = *layoutOf(dot.getResult());
  const LinearLayout once = layout.linearPart();
  int64_t parts = 1;
  for (int bit = 0; bit < once.inputBits(layout::kWarp); ++bit)
    if (once.at({{layout::kWarp, int64_t{1} << bit}})[1] != 0) parts *= 2;
  for (const layout::Repeat& repeat : layout.repeats())
    if (repeat.in == layout::kWarp && repeat.out == layout.outputs()[1].name) parts *= repeat.count;
  return static_cast<int>(parts);
}

}  // namespace

gpu::DotWork workOf(tile::DotOp dot) {
  auto a = dot.getA().getType(), b = dot.getB().getType();
  std::optional<DotInstruction> instruction = instructionOf(dot);
  const UsedPart used = usedPartOf(dot);
  return {.type = tile::dtypeOf(a.getElementType()),
          .m = static_cast<int>(a.getDimSize(0)),
          .n = static_cast<int>(std::min(b.getDimSize(1), used.columns)),
          .k = static_cast<int>(std::min(a.getDimSize(1), used.depth)) * (splitsOperands(dot) ? 3 : 1),
          .aInShared = instruction && instruction->sharedA,
          .columnParts = instruction && instruction->row->asynchronous ? columnPartsOf(dot) : 1,
          .instruction = instruction ? instruction->row->name : std::string_view()};
}

ArithmeticWork workOf(Operation* op) {
  ArithmeticWork work;
  add(op, work);
  return work;
}

}  // namespace fattn::tilegpu
