// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/DecodeRows.h"

#include <limits>
#include <numbers>
#include <vector>

namespace fattn::kernels {

using namespace dsl;

namespace {

/// Finite, so that the difference to a hidden score, -infinity, is no NaN.
constexpr float kLeastScore = std::numeric_limits<float>::lowest() / 2;

/// The query rows of a program, and what each of them sees.
struct QueryRows {
  Tile q, last;               ///< [M, D], [M]: the last key
  std::optional<Tile> first;  ///< [M]: the first key; none = 0
  Scalar scale;               ///< of scores, for exponentials to base 2
};

/// Sums over keys, for each row: of values, of weights, both against the largest score.
struct Sums {
  Tile o, l, m;
};

/// Takes keys along, in tiles: `keys` and `values` give those with the numbers `columns`; those below `end` there are.
template <typename Keys, typename Values>
auto withKeys(const QueryRows& rows, const Sums& sums, const Keys& keys, const Values& values, const std::vector<Tile>& columns,
              const Scalar& end) {
  std::vector<Tile> scores;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Tile number = expand(columns[i], 0);
    Tile visible = (number <= expand(rows.last, 1)) & (number < end);
    if (rows.first) visible = visible & (number >= expand(*rows.first, 1));
    scores.push_back(where(visible, dot(rows.q, trans(keys(i))) * rows.scale, -infinity));
  }
  Tile top = max(sums.m, reduce_max(scores[0], 1));
  for (std::size_t i = 1; i < scores.size(); ++i) top = max(top, reduce_max(scores[i], 1));
  const Tile fade = exp2(sums.m - top);
  Tile o = sums.o * expand(fade, 1), l = sums.l * fade;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const Tile p = exp2(scores[i] - expand(top, 1));
    o = dot(cast(p, rows.q.dtype()), values(i), o), l = l + reduce_sum(p, 1);
  }
  return carry(o, l, top);
}

/// Keys from `begin`, a multiple of N, to `end`. A block that covers several pages is read page by page.
Sums overCache(const QueryRows& rows, const Scalar& begin, const Scalar& end, std::int64_t N, const DecodeCache& k, const DecodeCache& v) {
  const std::int64_t M = rows.last.dim(0), width = windowRows(k.pageSize, N);
  auto [o, l, m] = for_(begin, end, N, carry(zeros({M, v.elements}), zeros({M}), full({M}, kLeastScore, DType::F32)),
                        [&](Scalar n, Tile o, Tile l, Tile m) {
                          std::vector<Tile> columns;
                          for (std::int64_t at = 0; at < N; at += width) columns.push_back(arange(at, at + width) + n);
                          auto of = [&](const DecodeCache& cache) {
                            return [&](std::size_t i) {
                              const auto at = static_cast<std::int64_t>(i) * width;
                              return cache.rows(at == 0 ? n : n + at, end, width);
                            };
                          };
                          return withKeys(rows, {o, l, m}, of(k), of(v), columns, end);
                        });
  return {o, l, m};
}

/// Rows of this launch, keys from `first` on, which go to the cache as well. No program reads there what this one writes: programs read
/// these rows where they come from, and of the cache what lies before them.
Sums overAppended(const QueryRows& rows, const Sums& before, const Scalar& first, const Scalar& taken, const AppendedRows& newK,
                  const AppendedRows& newV, const DecodeCache& k, const DecodeCache& v) {
  auto [o, l, m] = for_(0, taken, kFewKeys, carry(before.o, before.l, before.m), [&](Scalar i, Tile o, Tile l, Tile m) {
    const Tile keys = newK.block(i, kFewKeys), values = newV.block(i, kFewKeys);
    k.write(keys, first + i, newK.count - i), v.write(values, first + i, newK.count - i);
    return withKeys(
        rows, {o, l, m}, [&](std::size_t) { return keys; }, [&](std::size_t) { return values; }, {arange(0, kFewKeys) + (first + i)},
        first + newK.count);
  });
  return {o, l, m};
}

Scalar capacityOf(const DecodeArguments& a) {
  return a.pages ? cast(a.pages->size[1], DType::I32) * static_cast<std::int32_t>(a.pageSize) : cast(a.k.size[2], DType::I32);
}

Scalar queriesOf(const DecodeArguments& a) { return cast(a.q.size[2], DType::I32); }

template <typename Number>
KeyRange<Number> rangeOf(const DecodeArguments& a, const Number& length) {
  KeyRange<Number> range{{}, length, {}};
  if (a.newK) range.appended = min(cast(a.newK->size[2], DType::I32), length), range.end = length - *range.appended;
  if (a.window) range.first = min(max(length - queriesOf(a) + 1 - *a.window, 0), range.end);
  return range;
}

/// Divided in 32 bits, which takes a third of the time: nothing can be read before.
Scalar groupOf(const DecodeArguments& a) { return cast(a.q.size[1], DType::I32) / cast(a.k.size[1], DType::I32); }

}  // namespace

Scalar lengthOf(const DecodeArguments& a, const Scalar& batch) {
  const Scalar most = capacityOf(a);
  const Scalar told = load(a.lengths.base + cast(batch, DType::I64) * a.lengths.stride[0], a.hasLengths != 0, 0);
  return where(a.hasLengths != 0, max(min(told, most), 0), most);
}

DecodeArguments declareDecode(Params& args, const Parameters& parameters) {
  const DType type = parameters.dtype("dtype");
  const TensorForm wide{.alignment = parameters.integer("alignment"), .aliasing = Aliasing::None};
  const TensorForm f32{.alignment = sizeInBytes(DType::F32), .aliasing = Aliasing::None};
  TensorForm strided = f32;
  strided.rows = false;
  TensorForm cached = wide, told = strided, table = f32;
  cached.settled = told.settled = table.settled = parameters.flag("settled");
  TensorArg q = args.tensor("q", type, 4, wide), k = args.tensor("k", type, 4, cached), v = args.tensor("v", type, 4, cached);
  TensorArg o = args.tensor("o", type, 4, wide), lse = args.tensor("lse", DType::F32, 3, strided);
  TensorArg lengths = args.tensor("lengths", DType::I32, 1, told);
  std::optional<TensorArg> pages;
  if (parameters.integer("page_size") > 0) pages = args.tensor("pages", DType::I32, 2, table);
  std::optional<TensorArg> newK, newV;
  if (parameters.flag("append")) newK = args.tensor("new_k", type, 4, wide), newV = args.tensor("new_v", type, 4, wide);
  Ptr partO = args.ptr("part_o", DType::F32, 16, Aliasing::None), partLse = args.ptr("part_lse", DType::F32, 4, Aliasing::None);
  Scalar scale = args.scalar("scale", DType::F32);
  std::optional<Scalar> window;
  if (parameters.flag("window")) window = args.scalar("window", DType::I32);
  Scalar hasLengths = args.scalar("has_lengths", DType::I32), writeLse = args.scalar("write_lse", DType::I32);
  return {q,
          k,
          v,
          o,
          lse,
          lengths,
          pages,
          newK,
          newV,
          partO,
          partLse,
          scale,
          window,
          hasLengths,
          writeLse,
          parameters.integer("rows"),
          parameters.integer("head_dim"),
          parameters.integer("head_dim_v"),
          parameters.integer("page_size"),
          parameters.flag("causal")};
}

KeyRange<Scalar> keysOf(const DecodeArguments& a, const Scalar& batch) { return rangeOf(a, lengthOf(a, batch)); }

KeyRange<Tile> keysOf(const DecodeArguments& a, const Tile& batch, const Tile& known) {
  const Scalar most = capacityOf(a);
  const Tile told = load(a.lengths.base + cast(batch, DType::I64) * a.lengths.stride[0], known & (a.hasLengths != 0), 0);
  return rangeOf(a, where(a.hasLengths != 0, max(min(told, most), 0), most));
}

DecodeRows::DecodeRows(const DecodeArguments& arguments, const Scalar& batch, const Scalar& kvHead, const Scalar& length)
    : a_(arguments),
      batch_(batch),
      kvHead_(kvHead),
      wideBatch_(cast(batch, DType::I64)),
      count_(groupOf(arguments) * queriesOf(arguments)),
      // So that a group's rows lie side by side in parts.
      inside_(arange(0, arguments.rows) < count_),
      query_(arange(0, arguments.rows) % queriesOf(arguments)),
      head_(cast(arange(0, arguments.rows) / queriesOf(arguments) + kvHead * groupOf(arguments), DType::I64)),
      length_(length) {
  keys_ = rangeOf(a_, length_);
}

Tile DecodeRows::at(const TensorArg& x) const {
  return wideBatch_ * x.stride[0] + head_ * x.stride[1] + cast(query_, DType::I64) * x.stride[2];
}

Tile DecodeRows::elements(const TensorArg& x, std::int64_t width) const {
  return x.base + (expand(at(x), 1) + expand(cast(arange(0, width), DType::I64), 0));
}

DecodeResult DecodeRows::over(const Scalar& begin, const Scalar& end, std::int64_t N, const Scalar& takesAppended) const {
  const std::int64_t M = a_.rows, D = a_.headDim, Dv = a_.headDimV;
  const Tile place = query_ + (length_ - queriesOf(a_));  // the number of the key that stands where the row does
  const QueryRows rows{load(elements(a_.q, D), broadcast(expand(inside_, 1), {M, D}), 0),
                       a_.causal ? place : full({M}, length_ - 1, DType::I32),
                       a_.window ? std::optional(place - *a_.window + 1) : std::nullopt, a_.scale * std::numbers::log2e_v<float>};
  const DecodeCache k{a_.k, a_.pages, a_.pageSize, D, batch_, kvHead_, keys_.first},
      v{a_.v, a_.pages, a_.pageSize, Dv, batch_, kvHead_, keys_.first};
  Sums sums = overCache(rows, begin, end, N, k, v);
  if (keys_.appended) {
    const AppendedRows newK{*a_.newK, D, batch_, kvHead_, *keys_.appended}, newV{*a_.newV, Dv, batch_, kvHead_, *keys_.appended};
    sums = overAppended(rows, sums, keys_.end, where(takesAppended, *keys_.appended, 0), newK, newV, k, v);
  }
  const auto& [o, l, m] = sums;
  const Tile empty = l == 0.0f, result = o * expand(rcp(where(empty, 1.0f, l)), 1);
  return {result, where(empty, -infinity, (m + log2(l)) * std::numbers::ln2_v<float>)};
}

void DecodeRows::store(const DecodeResult& result) const {
  dsl::store(elements(a_.o, a_.headDimV), cast(result.o, a_.o.base.dtype()), broadcast(expand(inside_, 1), {a_.rows, a_.headDimV}));
  dsl::store(a_.lse.base + at(a_.lse), result.lse, inside_ & (a_.writeLse != 0));
}

}  // namespace fattn::kernels
