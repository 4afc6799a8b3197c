// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/roles/Masks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

std::optional<MaskComparison> comparisonOf(arith::CmpIOp op) {
  const bool strict = op.getPredicate() == arith::CmpIPredicate::slt;
  if (!strict && op.getPredicate() != arith::CmpIPredicate::sle) return std::nullopt;
  Value numbers = tile::unspread(op.getLhs()), n;
  if (auto sum = numbers.getDefiningOp<arith::AddIOp>()) {
    const bool left = scalarOf(sum.getRhs()) != nullptr;
    n = scalarOf(left ? sum.getRhs() : sum.getLhs());
    numbers = tile::unspread(left ? sum.getLhs() : sum.getRhs());
    if (!n) return std::nullopt;
  }
  auto range = numbers.getDefiningOp<tile::ArangeOp>();
  if (!range || !getElementTypeOrSelf(range.getType()).isInteger(32)) return std::nullopt;
  const auto first = static_cast<int64_t>(range.getStart());
  if (first < 0) return std::nullopt;
  const int64_t last = first + cast<RankedTensorType>(range.getType()).getDimSize(0) - 1;
  MaskComparison result{.n = n, .least = first, .greatest = last, .strict = strict, .number = scalarOf(op.getRhs()), .tile = {}};
  if (!result.number) result.tile = tile::unspread(op.getRhs());
  return result;
}

bool collect(Value mask, SmallVector<MaskComparison>& into) {
  mask = tile::unspread(mask);
  if (auto both = mask.getDefiningOp<arith::AndIOp>()) return collect(both.getLhs(), into) && collect(both.getRhs(), into);
  auto op = mask.getDefiningOp<arith::CmpIOp>();
  std::optional<MaskComparison> comparison = op ? comparisonOf(op) : std::nullopt;
  if (comparison) into.push_back(*comparison);
  return comparison.has_value();
}

}  // namespace

Value scalarOf(Value tile) {
  auto splat = tile::unspread(tile).getDefiningOp<tile::SplatOp>();
  return splat ? splat.getInput() : Value();
}

std::optional<SmallVector<MaskComparison>> comparisonsOf(Value mask) {
  SmallVector<MaskComparison> result;
  if (!collect(mask, result)) return std::nullopt;
  return result;
}

}  // namespace fattn::tilegpu
