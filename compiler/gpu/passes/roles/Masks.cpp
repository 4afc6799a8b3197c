// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/roles/Masks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

std::optional<MaskComparison> comparisonOf(arith::CmpIOp op) {
  const bool strict = op.getPredicate() == arith::CmpIPredicate::slt;
  if (!strict && op.getPredicate() != arith::CmpIPredicate::sle) return std::nullopt;
  auto sum = unspread(op.getLhs()).getDefiningOp<arith::AddIOp>();
  if (!sum || !getElementTypeOrSelf(sum.getType()).isInteger(32)) return std::nullopt;
  for (auto [numbers, other] : {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())}) {
    auto range = unspread(numbers).getDefiningOp<tile::ArangeOp>();
    Value n = scalarOf(other);
    if (!range || !n) continue;
    const auto first = static_cast<int64_t>(range.getStart());
    if (first < 0) return std::nullopt;
    const int64_t last = first + cast<RankedTensorType>(range.getType()).getDimSize(0) - 1;
    MaskComparison result{.n = n, .least = first, .greatest = last, .strict = strict, .number = scalarOf(op.getRhs()), .tile = {}};
    if (!result.number) result.tile = unspread(op.getRhs());
    return result;
  }
  return std::nullopt;
}

bool collect(Value mask, SmallVector<MaskComparison>& into) {
  mask = unspread(mask);
  if (auto both = mask.getDefiningOp<arith::AndIOp>()) return collect(both.getLhs(), into) && collect(both.getRhs(), into);
  auto op = mask.getDefiningOp<arith::CmpIOp>();
  std::optional<MaskComparison> comparison = op ? comparisonOf(op) : std::nullopt;
  if (comparison) into.push_back(*comparison);
  return comparison.has_value();
}

}  // namespace

Value unspread(Value tile) {
  while (Operation* op = tile.getDefiningOp()) {
    if (!isa<tile::BroadcastOp, tile::ExpandDimsOp>(op)) break;
    tile = op->getOperand(0);
  }
  return tile;
}

Value scalarOf(Value tile) {
  auto splat = unspread(tile).getDefiningOp<tile::SplatOp>();
  return splat ? splat.getInput() : Value();
}

std::optional<SmallVector<MaskComparison>> comparisonsOf(Value mask) {
  SmallVector<MaskComparison> result;
  if (!collect(mask, result)) return std::nullopt;
  return result;
}

}  // namespace fattn::tilegpu
