// SPDX-License-Identifier: Apache-2.0
#include "compiler/transforms/AffineTiles.h"

#include "compiler/dialect/Tile.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace fattn::transforms {

/// a + b * c, if neither the product nor the sum leaves the limit.
static std::optional<int64_t> multiplyAdd(int64_t a, int64_t b, int64_t c) {
  int64_t product = 0, sum = 0;
  if (llvm::MulOverflow(b, c, product) || llvm::AddOverflow(a, product, sum)) return std::nullopt;
  bool small = std::abs(product) <= AffineBounds::kLimit && std::abs(sum) <= AffineBounds::kLimit;
  return small ? std::optional(sum) : std::nullopt;
}

bool AffineBounds::add(const AffineBounds& other, int64_t factor) {
  for (auto [v, c] : other.terms) {
    auto it = llvm::find_if(terms, [&, v = v](auto& t) { return t.first == v; });
    if (it == terms.end()) it = terms.insert(terms.end(), {v, 0});
    auto sum = multiplyAdd(it->second, c, factor);
    if (!sum) return false;
    it->second = *sum;
  }
  llvm::erase_if(terms, [](auto& t) { return t.second == 0; });
  auto least = multiplyAdd(low, factor < 0 ? other.high : other.low, factor);
  auto most = multiplyAdd(high, factor < 0 ? other.low : other.high, factor);
  if (!least || !most) return false;
  low = *least;
  high = *most;
  return true;
}

bool AffineBounds::fits() const {
  std::optional<int64_t> sum = std::max(std::abs(low), std::abs(high));
  for (auto [v, c] : terms) {
    bool narrow = v.getType().isInteger() && v.getType().getIntOrFloatBitWidth() <= 32;
    sum = multiplyAdd(*sum, std::abs(c), narrow ? int64_t{1} << 31 : kMostScalar);
    if (!sum) return false;
  }
  return true;
}

int64_t AffineBounds::coefficientOf(Value v) const {
  for (auto [t, c] : terms)
    if (t == v) return c;
  return 0;
}

int64_t IntegerResult::mostScalar() const {
  int64_t factors = 0, rest = llvm::maxIntN(std::min(bits, 63U)) - std::max(std::abs(bounds.low), std::abs(bounds.high));
  for (auto [v, c] : bounds.terms) factors = std::min(factors + std::abs(c), AffineBounds::kLimit);
  if (rest < 0 || factors == 0) return rest < 0 ? -1 : AffineBounds::kMostScalar;
  return std::min(rest / factors, AffineBounds::kMostScalar);
}

static std::optional<AffineBounds> boundsOfSum(Operation* op, SmallVectorImpl<IntegerResult>& results) {
  auto a = boundsOf(op->getOperand(0), results), b = boundsOf(op->getOperand(1), results);
  if (!a || !b || !a->add(*b, isa<arith::AddIOp>(op) ? 1 : -1)) return std::nullopt;
  return a;
}

/// Of a product with a constant.
static std::optional<AffineBounds> boundsOfProduct(arith::MulIOp mul, SmallVectorImpl<IntegerResult>& results) {
  Value x = mul.getLhs(), y = mul.getRhs();
  APInt constant;
  if (!matchPattern(y, m_ConstantInt(&constant))) std::swap(x, y);
  if (!matchPattern(y, m_ConstantInt(&constant))) return std::nullopt;
  auto a = boundsOf(x, results);
  AffineBounds out;
  if (!a || constant.getSignificantBits() > 62 || !out.add(*a, constant.getSExtValue())) return std::nullopt;
  return out;
}

std::optional<AffineBounds> boundsOf(Value v, SmallVectorImpl<IntegerResult>& results) {
  constexpr size_t kMostResults = 64;  // a value may be reached by exponentially many ways
  if (results.size() > kMostResults) return std::nullopt;
  AffineBounds out;
  APInt constant;
  if (matchPattern(v, m_ConstantInt(&constant))) {
    out.low = out.high = constant.getSExtValue();
    return constant.getSignificantBits() < 63 ? std::optional(out) : std::nullopt;
  }
  Operation* op = v.getDefiningOp();
  if (op && (op->hasTrait<tile::MovesElements>() || isa<arith::ExtSIOp>(op))) return boundsOf(op->getOperand(0), results);
  if (auto arange = dyn_cast_or_null<tile::ArangeOp>(op)) {
    out.low = arange.getStart();
    out.high = out.low + arange.getResult().getType().getNumElements() - 1;
    return out;
  }
  std::optional<AffineBounds> computed;
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) computed = boundsOfSum(op, results);
  if (auto mul = dyn_cast_or_null<arith::MulIOp>(op)) computed = boundsOfProduct(mul, results);
  if (computed) {
    Type element = getElementTypeOrSelf(v.getType());
    results.push_back({*computed, element.isIndex() ? 64 : element.getIntOrFloatBitWidth()});
    return computed;
  }
  if (isa<RankedTensorType>(v.getType())) return std::nullopt;
  out.terms.push_back({v, 1});  // an opaque scalar
  return out;
}

}  // namespace fattn::transforms
