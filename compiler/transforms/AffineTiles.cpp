// SPDX-License-Identifier: Apache-2.0
#include "compiler/transforms/AffineTiles.h"

#include "compiler/dialect/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::transforms {

void AffineBounds::add(const AffineBounds& other, int64_t factor) {
  for (auto [v, c] : other.terms) {
    auto it = llvm::find_if(terms, [&, v = v](auto& t) { return t.first == v; });
    if (it == terms.end())
      terms.push_back({v, c * factor});
    else
      it->second += c * factor;
  }
  llvm::erase_if(terms, [](auto& t) { return t.second == 0; });
  low += std::min(other.low * factor, other.high * factor);
  high += std::max(other.low * factor, other.high * factor);
}

int64_t AffineBounds::coefficientOf(Value v) const {
  for (auto [t, c] : terms)
    if (t == v) return c;
  return 0;
}

std::optional<AffineBounds> boundsOf(Value v) {
  AffineBounds out;
  APInt constant;
  if (matchPattern(v, m_ConstantInt(&constant))) {
    out.low = out.high = constant.getSExtValue();
    return out;
  }
  Operation* op = v.getDefiningOp();
  if (op && isa<tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp, tile::TransOp, tile::ReshapeOp, arith::ExtSIOp>(op))
    return boundsOf(op->getOperand(0));
  if (auto arange = dyn_cast_or_null<tile::ArangeOp>(op)) {
    out.low = arange.getStart();
    out.high = out.low + arange.getResult().getType().getNumElements() - 1;
    return out;
  }
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    auto a = boundsOf(op->getOperand(0)), b = boundsOf(op->getOperand(1));
    if (!a || !b) return std::nullopt;
    a->add(*b, isa<arith::AddIOp>(op) ? 1 : -1);
    return a;
  }
  if (auto mul = dyn_cast_or_null<arith::MulIOp>(op)) {
    Value x = mul.getLhs(), y = mul.getRhs();
    if (!matchPattern(y, m_ConstantInt(&constant))) std::swap(x, y);
    if (matchPattern(y, m_ConstantInt(&constant)))
      if (auto a = boundsOf(x)) {
        out.add(*a, constant.getSExtValue());
        return out;
      }
  }
  if (isa<RankedTensorType>(v.getType())) return std::nullopt;
  out.terms.push_back({v, 1});  // an opaque scalar
  return out;
}

}  // namespace fattn::transforms
