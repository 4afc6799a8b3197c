// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/layouts/LanePartials.h"

#include <numeric>

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace fattn::tilegpu {

using layout::kRegister, layout::kWarp, layout::LinearLayout;

namespace {

/// A part of a dimension that threads alone or registers alone choose.
struct Run {
  int64_t size;
  bool byThreads;
};

void extend(SmallVectorImpl<Run>& runs, int64_t size, bool byThreads) {
  if (runs.empty() || runs.back().byThreads != byThreads) runs.push_back({.size = 1, .byThreads = byThreads});
  runs.back().size *= size;
}

/// The bits of the dimension that threads choose; 0 where they choose none, or registers choose some of the same.
uint64_t bitsOfThreads(const LinearLayout& layout, int axis) {
  uint64_t byThreads = 0, byRegisters = 0;
  for (const layout::Axis& in : layout.inputs())
    for (int bit = 0; bit < in.bits; ++bit) {
      auto image = static_cast<uint64_t>(layout.linearPart().at({{in.name, int64_t{1} << bit}})[static_cast<size_t>(axis)]);
      (in.name == kRegister ? byRegisters : byThreads) |= image;
    }
  return (byThreads & byRegisters) == 0 ? byThreads : 0;
}

/// The dimension as runs, lowest first; none where it has no such parts.
SmallVector<Run> runsOf(const LinearLayout& layout, int axis) {
  const uint64_t byThreads = bitsOfThreads(layout, axis);
  if (byThreads == 0) return {};
  const layout::Axis& out = layout.outputs()[static_cast<size_t>(axis)];
  SmallVector<Run> runs;
  for (int bit = 0; bit < out.bits; ++bit) extend(runs, 2, (byThreads >> bit & 1) != 0);
  for (const layout::Repeat& repeat : layout.repeats()) {
    if (repeat.out != out.name) continue;
    if (repeat.in != kRegister) return {};
    extend(runs, repeat.count, false);
  }
  return runs;
}

/// Appends the runs of threads, or those of registers, to the order of dimensions, the highest first. Returns how many elements they have.
/// `first`: the dimension that the highest run of all became.
int64_t appendRuns(SmallVectorImpl<int64_t>& order, ArrayRef<Run> runs, int64_t first, bool byThreads) {
  int64_t size = 1;
  for (auto [i, run] : llvm::enumerate(llvm::reverse(runs))) {
    if (run.byThreads != byThreads) continue;
    order.push_back(first + static_cast<int64_t>(i));
    size *= run.size;
  }
  return size;
}

}  // namespace

/// Cuts the dimension into its runs, and puts behind all others those of threads, then those of registers.
bool LanePartials::split(const LinearLayout& layout, int axis) {
  const SmallVector<Run> runs = runsOf(layout, axis);
  if (runs.empty()) return false;
  int64_t first = 0;
  for (auto [d, extent] : llvm::enumerate(layout.outputShape())) {
    auto at = static_cast<int64_t>(split_.size());
    if (static_cast<int>(d) == axis) {
      first = at;
      for (const Run& run : llvm::reverse(runs)) split_.push_back(run.size);
      continue;
    }
    order_.push_back(at);
    joined_.push_back(extent);
    split_.push_back(extent);
  }
  joined_.push_back(appendRuns(order_, runs, first, /*byThreads=*/true));
  joined_.push_back(appendRuns(order_, runs, first, /*byThreads=*/false));
  return true;
}

std::optional<LanePartials> LanePartials::of(tile::ReduceOp reduce, LayoutPool& pool) {
  LanePartials result;
  auto type = cast<RankedTensorType>(reduce.getInputs().front().getType());
  const LinearLayout& layout = *layoutOf(type);
  if (!result.split(layout, static_cast<int>(reduce.getAxis()))) return std::nullopt;
  result.pool_ = &pool;
  auto numbers = [](ArrayRef<int64_t> list) { return SmallVector<int64_t, 4>(list); };
  result.splitLayout_ = pool.derive(pool.number(layout), {Rule::Reshape, numbers(result.split_)});
  result.orderedLayout_ = pool.derive(result.splitLayout_, {Rule::Transpose, numbers(result.order_)});
  result.joinedLayout_ = pool.derive(result.orderedLayout_, {Rule::Reshape, numbers(result.joined_)});
  auto last = static_cast<int64_t>(result.joined_.size()) - 1;
  LayoutId parts = pool.derive(result.joinedLayout_, {Rule::Slice, {last}});
  result.lines_ = pool.derive(parts, {Rule::Slice, {last - 1}});
  if (result.lines_ == kNoLayout) return std::nullopt;
  ArrayRef<int64_t> shape = ArrayRef(result.joined_).drop_back();
  result.type_ = withLayout(RankedTensorType::get(shape, type.getElementType()), pool[parts]);
  return result;
}

bool LanePartials::inOneWarp() const {
  const LinearLayout& layout = *layoutOf(type_);
  for (int bit = 0; bit < layout.inputBits(kWarp); ++bit)
    if (layout.linearPart().at({{kWarp, int64_t{1} << bit}}).back() != 0) return false;
  return true;
}

/// The author's combination on another tile, along its last dimension.
static Value reduceLast(OpBuilder& b, Value input, tile::ReduceOp like, RankedTensorType result) {
  int64_t last = cast<RankedTensorType>(input.getType()).getRank() - 1;
  auto op = tile::ReduceOp::create(b, like.getLoc(), TypeRange(result), ValueRange(input), last);
  IRMapping mapping;
  like.getCombine().cloneInto(&op.getCombine(), mapping);
  return op.getResult(0);
}

Value LanePartials::emit(OpBuilder& b, tile::ReduceOp reduce) const {
  Location loc = reduce.getLoc();
  Value value = reduce.getInputs().front();
  Type element = type_.getElementType();
  auto typed = [&](ArrayRef<int64_t> shape, LayoutId id) { return withLayout(RankedTensorType::get(shape, element), (*pool_)[id]); };
  value = tile::ReshapeOp::create(b, loc, typed(split_, splitLayout_), value);
  SmallVector<int64_t> ordered = llvm::map_to_vector(order_, [&](int64_t d) { return split_[static_cast<size_t>(d)]; });
  value = tile::TransOp::create(b, loc, typed(ordered, orderedLayout_), value, order_);
  value = tile::ReshapeOp::create(b, loc, typed(joined_, joinedLayout_), value);
  return reduceLast(b, value, reduce, type_);
}

Value repeatForParts(OpBuilder& b, Value value, RankedTensorType type, LayoutPool& pool) {
  auto from = cast<RankedTensorType>(value.getType());
  Location loc = value.getLoc();
  int64_t last = type.getRank() - 1;
  SmallVector<int64_t> narrow(from.getShape());
  narrow.push_back(1);
  auto typed = [&](ArrayRef<int64_t> shape, LayoutId id) {
    return withLayout(RankedTensorType::get(shape, from.getElementType()), pool[id]);
  };
  LayoutId parts = pool.number(*layoutOf(type));
  RankedTensorType expanded = typed(narrow, pool.derive(parts, {Rule::Collapse, {last}}));
  Value column = tile::ExpandDimsOp::create(b, loc, expanded, value, last);
  return tile::BroadcastOp::create(b, loc, typed(type.getShape(), parts), column);
}

Value combineParts(OpBuilder& b, Value parts, tile::ReduceOp like, RankedTensorType result) { return reduceLast(b, parts, like, result); }

}  // namespace fattn::tilegpu
