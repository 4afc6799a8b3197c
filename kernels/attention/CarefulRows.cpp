// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/CarefulRows.h"

#include <limits>

namespace fattn {

using namespace dsl;

namespace {

/// Keys of a step: as few as matrix instructions take at once, so that the code is short.
std::int64_t keysOf(DType type) { return 32 / sizeInBytes(type); }
/// Below half of any score, and finite, so that differences to it are no NaN.
constexpr float kLowest = std::numeric_limits<float>::lowest() / 2;
constexpr std::int32_t kNoKey = std::numeric_limits<std::int32_t>::max();

/// The weight of a score relative to another one. Both are halved and not scaled yet: equal ones cancel, and the difference of the largest
/// ones is no infinity, which a scale of 0 would make NaN.
Tile weight(const Tile& score, const Tile& reference, const Scalar& scale) {
  Tile half = (score - reference) * scale;
  return exp2(half + half);
}

/// Whether sums of values overflow f32 although the values do not.
bool sumsOverflow(DType type) { return type != DType::F16; }

/// For each column the first key whose value is not finite, out of those of a step.
Tile firstInfinite(const Tile& finite, const Tile& keys) { return reduce_min(where(finite, kNoKey, expand(keys, 1)), 0); }

}  // namespace

Tile HeadRows::at(const Scalar& row, std::int64_t count) const {
  return load(make_block_ptr(base, {length, elements}, {stride, 1}, {row, 0}, {count, elements}), {0});
}

Tile BlockOfRows::lastKeys(std::int64_t rows) const {
  return causal ? min(arange(0, rows) + (row0 + shift), seqK - 1) : full({rows}, seqK - 1, DType::I32);
}

/// A loop by while_, which compilers leave as it is: one that runs ahead would take twice the code. In a causal block the values that are
/// not finite are left out of the sums, where 0 times them would reach rows that do not see them, and enter at the end.
///
/// Of values as large as f32's the sums are kept as means, which are no larger than the values. Weights of f16 are too coarse for shares.
RowSums carefulRows(const BlockOfRows& block, std::int64_t rows) {
  const std::int64_t Dv = block.v.elements;
  const DType type = block.v.base.dtype();
  const std::int64_t count = keysOf(type);
  Scalar half = where(block.scale < 0.0f, -0.5f, 0.5f), scale = abs(block.scale);
  Tile q = block.q.at(block.row0, rows), last = expand(block.lastKeys(rows), 1);
  Scalar end = block.causal ? min(block.seqK, block.row0 + block.shift + rows) : block.seqK;
  auto step = [&](Scalar n, Tile o, Tile l, Tile top, Tile infinite) {
    Tile score = dot(q, trans(block.k.at(n, count))) * half;
    Tile keys = arange(0, count) + n;
    Tile seen = expand(keys, 0) <= last;
    Tile highest = max(top, reduce_max(where(seen, score, kLowest), 1));
    Tile p = where(seen, weight(score, expand(highest, 1), scale), 0.0f), shrink = weight(top, highest, scale);
    Tile v = block.v.at(n, count);
    if (block.causal) {
      Tile finite = abs(cast(v, DType::F32)) < infinity;
      infinite = min(infinite, firstInfinite(finite, keys));
      v = where(finite, v, 0.0f);
    }
    Tile before = l * shrink, sum = before + reduce_sum(p, 1), kept = shrink;
    if (sumsOverflow(type)) {
      Tile share = rcp(max(sum, 1.0f));  // below 1 is a row only that has seen no key
      p = p * expand(share, 1);
      kept = before * share;
    }
    return carry(n + count, dot(cast(p, type), v, o * expand(kept, 1)), sum, highest, infinite);
  };
  auto [n, o, l, top, infinite] = while_(
      carry(0, zeros({rows, Dv}), zeros({rows}), full({rows}, kLowest, DType::F32), full({Dv}, kNoKey, DType::I32)),
      [&](Scalar n, Tile, Tile, Tile, Tile) { return n < end; }, step);
  if (block.causal) {
    o = where(expand(infinite, 0) <= last, std::numeric_limits<float>::quiet_NaN(), where(last >= 0, o, 0.0f));
    l = where(block.lastKeys(rows) >= 0, l, 0.0f);
  }
  Tile highest = top * scale, m = highest + highest;
  if (!sumsOverflow(type)) return {o, l, m};
  return {o, min(l, 1.0f), m + log2(max(l, 1.0f))};
}

}  // namespace fattn
