// SPDX-License-Identifier: Apache-2.0
// Attention forward with the lazy maximum. Softmax is exact for any reference m that the exponentials are taken against, as long as nothing
// overflows. So a block of keys keeps the reference of the blocks before it, and needs no maximum and no rescaling; only if a row's sum of
// exponentials leaves [0, limit), or is NaN, is the block redone with the true maximum (Milakov and Gimelshein, arXiv 1805.02867, for every
// block; here for almost none). It starts with m = -inf: the first block overflows and so finds its maximum in the same way.
//
// Three things are left to a second look, behind the loop: scores so large that m, which is rounded, is beside all of them; elements of v
// that are not finite, which 0 times them carries into rows that do not see their keys; and elements so large that their sum overflows.
// They show in what the loop leaves, and then the block is computed again (CarefulRows.h). So the loop has one FMA and one exponential for
// each score.
#include "kernels/attention/AttentionForward.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/attention/ProgramOrder.h"

namespace fattn {
namespace {

using namespace dsl;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// Below this a reference is rounded by at most a quarter. Minus this is the reference of rows that have seen no key yet, or lower scores
/// only: finite, so that -inf - m is -inf and not NaN.
constexpr float kLargest = 0x1p22f;
/// Of the magnitudes of a row: below this no element is infinite or NaN.
constexpr float kLargestSum = 0x1p126f;

/// Sums below this cannot overflow, neither as f32 nor, cast to the element type, as one probability.
float redoLimit(DType dtype) { return std::ldexp(1.0f, dtype == DType::F16 ? 15 : 40); }

/// What a block of rows stores: o / l in the element type, and the log-sum-exp.
struct Results {
  Tile out, lse;
};

/// In this order: what is traced first is computed first, and the log-sum-exp needs not wait for the last product.
Results resultsOf(const RowSums& sums, DType dtype) {
  Tile lse = where(sums.l == 0.0f, -kInfinity, (sums.m + log2(sums.l)) * std::numbers::ln2_v<float>);
  Tile inverse = rcp(where(sums.l == 0.0f, 1.0f, sums.l));
  return {cast(sums.o * expand(inverse, 1), dtype), lse};
}

/// The block's results, computed again where the loop may have got a row wrong. Rows that are NaN because their scores are stay as they
/// are. The first results stand before the look at the sums, so that both are computed at once.
Results corrected(const BlockOfRows& block, const RowSums& sums, const std::optional<Tile>& inside) {
  const auto& [o, l, m] = sums;
  const std::int64_t M = l.dim(0);
  const DType dtype = block.v.base.dtype();
  Results first = resultsOf(sums, dtype);
  Tile sees = block.lastKeys(M) >= 0;
  Tile suspect = (m <= -kLargest) & sees;
  // Without a mask every row sees an element that is not finite, and sums of f16 do not overflow.
  if (block.causal || block.beyond || dtype != DType::F16) suspect = suspect | !(reduce_sum(abs(o), 1) < kLargestSum);
  Tile wrong = (suspect & (l >= 0.0f)) | ((m >= kLargest) & (m < kInfinity));
  // A scale that is NaN makes what hides a key NaN.
  if (block.causal) wrong = wrong | ((!sees) & !(l == 0.0f));
  if (inside) wrong = wrong & *inside;
  auto [out, lse] = select_lazy(
      wrong,
      [&] {
        Results again = resultsOf(carefulRows(block, M), dtype);
        return carry(again.out, again.lse);
      },
      first.out, first.lse);
  return {out, lse};
}

template <typename Row>
BlockPtr windowOf(const HeadRows& rows, const Row& row, std::int64_t count) {
  return make_block_ptr(rows.base, {rows.length, rows.elements}, {rows.stride, 1}, {row, 0}, {count, rows.elements});
}

}  // namespace

ForwardArguments declareForward(Params& params, const kernels::ForwardKind& kind) {
  const DType dtype = kind.dtype;
  const std::int64_t alignment = kind.alignment;
  auto pointer = [&](const char* name, Aliasing aliasing) { return params.ptr(name, dtype, alignment, aliasing); };
  // o may be q: a program has read its rows of q before it writes them.
  Ptr q = pointer("q", Aliasing::Possible), k = pointer("k", Aliasing::None), v = pointer("v", Aliasing::None);
  Ptr o = pointer("o", Aliasing::InPlace), lse = params.ptr("lse", DType::F32, sizeInBytes(DType::F32), Aliasing::None);
  auto operand = [&](Ptr base, const std::string& name, std::int64_t divisor) {
    auto stride = [&](const char* of) { return params.scalar(name + of, DType::I64, divisor); };
    Scalar b = stride("_batch"), h = stride("_head");
    return ForwardOperand{base, b, h, stride("_row")};
  };
  std::int64_t divisor = alignment / sizeInBytes(dtype);
  ForwardOperand qs = operand(q, "q", divisor), ks = operand(k, "k", divisor), vs = operand(v, "v", divisor), os = operand(o, "o", divisor);
  ForwardOperand ls = operand(lse, "lse", 1);
  auto i32 = [&](const char* name) { return params.scalar(name, DType::I32); };
  Scalar heads = i32("heads"), group = i32("group"), seqQ = i32("seq_q"), seqK = i32("seq_k");
  Scalar scale = params.scalar("scale", DType::F32);
  return {qs, ks, vs, os, ls, heads, group, seqQ, seqK, scale, i32("write_lse")};
}

void forwardProgram(Params& params, const kernels::ForwardKind& kind, const TileConfig& tile) {
  const std::int64_t M = tile.block_m, D = kind.head_dim, Dv = kind.head_dim_v;
  ForwardArguments a = declareForward(params, kind);
  const auto [place, blocks, head, batch] = kernels::programPlace(kind.causal, a.heads);
  Scalar row0 = (kind.causal ? blocks - 1 - place : place) * M;  // causal: the last rows see the most keys
  Scalar kvHead = head / a.group;
  Scalar seqQ = cast(a.seqQ, DType::I64), seqK = cast(a.seqK, DType::I64);
  auto rowsOf = [](const ForwardOperand& x, const Scalar& b, const Scalar& h, const Scalar& length, std::int64_t elements) {
    return [=] { return HeadRows{x.slice(b, h), length, x.row, elements}; };
  };
  forwardRows({.q = rowsOf(a.q, batch, head, seqQ, D),
               .k = rowsOf(a.k, batch, kvHead, seqK, D),
               .v = rowsOf(a.v, batch, kvHead, seqK, Dv),
               .o = rowsOf(a.o, batch, head, seqQ, Dv),
               .lse = rowsOf(a.lse, batch, head, seqQ, 1),
               .row0 = row0,
               .seqQ = a.seqQ,
               .seqK = a.seqK,
               .scale = a.scale,
               .writeLse = a.writeLse,
               .dtype = kind.dtype,
               .causal = kind.causal},
              tile);
}

void forwardRows(const ForwardRows& rows, const TileConfig& tile) {
  const std::int64_t M = tile.block_m, N = tile.block_n;
  const DType dtype = rows.dtype;
  const Scalar &row0 = rows.row0, &seqK = rows.seqK;
  const std::optional<ForwardRows::Among>& among = rows.among;
  Tile q = load(among ? windowOf(among->q(), among->firstQ + row0, M) : windowOf(rows.q(), row0, M), {0});
  const HeadRows kRows = among ? among->k() : rows.k();
  BlockPtr kPtr = among ? windowOf(kRows, among->firstK, N) : windowOf(kRows, 0, N);
  const HeadRows vRows = among ? among->v() : rows.v();
  BlockPtr vPtr = among ? windowOf(vRows, among->firstK, N) : windowOf(vRows, 0, N);
  Scalar scale = rows.scale * std::numbers::log2e_v<float>;                // exponentials to base 2
  scale = where(scale == 0.0f, std::numeric_limits<float>::min(), scale);  // so that hidden * scale is -inf
  Scalar hidden = where(scale < 0.0f, kInfinity, -kInfinity);
  Scalar shift = seqK - rows.seqQ;  // aligned at the bottom right
  Tile numbers = expand(arange(0, M) + (row0 + shift), 1), columns = expand(arange(0, N), 0);
  // At least one block of keys, hidden where a row sees none: so its products need not wait for a branch.
  Scalar end = max(rows.causal ? min(seqK, row0 + M + shift) : seqK, 1);
  // Rows of the next sequence are computed along, and must not decide what is computed again.
  const std::optional<Tile> inside = among ? std::optional(arange(0, M) + row0 < rows.seqQ) : std::nullopt;

  auto [o, l, m] = for_(0, end, N, carry(zeros({M, vRows.elements}), zeros({M}), full({M}, -kInfinity, DType::F32)),
                        [&](Scalar n, Tile o, Tile l, Tile m) {
                          Tile products = dot(q, trans(load(advance(kPtr, {n, 0}), {0})));
                          Tile column = columns + n;
                          // What a row below seqQ sees ends with the last key; rows behind are not stored.
                          Tile visible = rows.causal ? column <= numbers : broadcast(column < seqK, {M, N});
                          // A row that sees none of these keys adds zeros.
                          Tile s = where_or_skip(visible, products, hidden);
                          Tile p = exp2(fma(s, scale, -expand(m, 1)));
                          Tile sum = reduce_sum(p, 1);
                          Tile redone = !(sum < redoLimit(dtype));
                          if (inside) redone = redone & *inside;
                          auto [p2, l2, m2, o2] = select_lazy(
                              redone,
                              [&] {
                                Tile top = max(max(m, reduce_max(s * scale, 1)), -kLargest);
                                Tile alpha = exp2(m - top);
                                Tile exact = exp2(fma(s, scale, -expand(top, 1)));
                                return carry(exact, l * alpha + reduce_sum(exact, 1), top, o * expand(alpha, 1));
                              },
                              p, l + sum, m, o);
                          Tile v = load(advance(vPtr, {n, 0}), {0});
                          // Larger ones are of rows that are computed again behind the loop, whatever they are here.
                          return carry(dot(cast_moderate(p2, dtype), v, o2), l2, m2);
                        });

  const HeadRows qs = rows.q(), ks = rows.k(), vs = rows.v(), to = rows.lse();
  Results results = corrected({qs, ks, vs, row0, seqK, scale, shift, rows.causal, among.has_value()}, {o, l, m}, inside);
  store(windowOf(rows.o(), row0, M), results.out, {0});
  // Without a branch its addresses are computed while others are waited for.
  Tile row = cast(arange(0, M) + row0, DType::I64);
  store(to.base + row * to.stride, results.lse, (row < to.length) & (rows.writeLse != 0));
}

dsl::Program traceAttentionForward(const kernels::ForwardKind& kind, const TileConfig& tile) {
  return dsl::trace("attention_forward", [&](dsl::Params& params) { forwardProgram(params, kind, tile); });
}

}  // namespace fattn
