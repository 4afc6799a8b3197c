// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/dialect/WarpDecisions.h"

#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/layout/F2.h"

using namespace mlir;

namespace fattn::tilegpu {

using layout::kLane, layout::kRegister, layout::kWarp, layout::LinearLayout;

namespace {

/// Which rows one warp holds: a set of row numbers, the same for each warp apart from where it starts.
struct Rows {
  layout::f2::Span own;             ///< reached by registers and lanes
  layout::f2::Columns byWarp;       ///< by the bits of the warp
  std::vector<layout::Repeat> odd;  ///< repeats over warps, and of rows
  int bits;                         ///< of the rows that repeat
};
Rows rowsOf(const LinearLayout& layout) {
  std::vector<std::string> inputs = {std::string(kRegister), std::string(kLane), std::string(kWarp)};
  LinearLayout rows = layout.linearPart().sublayout(inputs, {layout::dim(0)});
  layout::f2::Columns own = rows.columns(kRegister);
  llvm::append_range(own, rows.columns(kLane));
  Rows result{layout::f2::Span(own), rows.columns(kWarp), {}, layout.outputs().front().bits};
  for (const layout::Repeat& repeat : layout.repeats())
    if (repeat.in == kWarp || repeat.out == layout::dim(0)) result.odd.push_back(repeat);
  return result;
}

/// Whether warps that share a row of `results` hold the same conditions, and each the conditions of all its rows.
bool warpDecides(const LinearLayout& conditions, const LinearLayout& results) {
  Rows of = rowsOf(conditions), in = rowsOf(results);
  // Where both repeat alike, a warp that is further on is so by the same rows.
  bool alike = of.odd == in.odd && (of.odd.empty() || of.bits == in.bits);
  if (!alike || of.byWarp.size() != in.byWarp.size()) return false;
  LinearLayout rows = results.linearPart();
  for (std::string_view input : {kRegister, kLane})
    for (layout::f2::Vector column : rows.sublayout({std::string(input)}, {layout::dim(0)}).columns(input))
      if (!of.own.contains(column)) return false;
  for (auto [a, b] : llvm::zip(of.byWarp, in.byWarp))
    if (!of.own.contains(a ^ b)) return false;
  return true;
}

/// Whether a region needs no other warps of the block.
bool staysWithinWarp(Region& region) {
  auto visit = [](Operation* op) {
    if (op->hasTrait<NeedsAllWarps>()) return WalkResult::interrupt();
    auto lazy = dyn_cast<tile::SelectLazyOp>(op);
    if (!lazy || !isa<RankedTensorType>(lazy.getCondition().getType())) return WalkResult::advance();
    return decidesWithinWarp(lazy) ? WalkResult::skip() : WalkResult::interrupt();
  };
  return !region.walk<WalkOrder::PreOrder>(visit).wasInterrupted();
}

}  // namespace

bool decidesWithinWarp(tile::SelectLazyOp op) {
  const LinearLayout& conditions = *layoutOf(op.getCondition());
  return staysWithinWarp(op.getExact()) && llvm::all_of(op.getResultTypes(), [&](Type type) {
           const LinearLayout* layout = layoutOf(type);
           return layout && warpDecides(conditions, *layout);
         });
}

}  // namespace fattn::tilegpu
