// SPDX-License-Identifier: Apache-2.0
// What the programs of decode have in common: their arguments, the keys of a sequence, and attention of the query rows of one key head over
// some of these keys.
#ifndef FATTN_KERNELS_ATTENTION_DECODEROWS_H
#define FATTN_KERNELS_ATTENTION_DECODEROWS_H

#include <optional>

#include "fattn/Template.h"
#include "kernels/attention/DecodeCache.h"

namespace fattn::kernels {

inline constexpr std::int32_t kFewKeys = 16;  ///< of a block: what matrix instructions take at once

struct DecodeArguments {
  dsl::TensorArg q, k, v, o, lse, lengths;
  std::optional<dsl::TensorArg> pages, newK, newV;
  dsl::Ptr partO, partLse;
  dsl::Scalar scale;
  std::optional<dsl::Scalar> window;
  dsl::Scalar hasLengths, writeLse;
  std::int64_t rows, headDim, headDimV, pageSize;
  bool causal;
};

DecodeArguments declareDecode(dsl::Params& args, const Parameters& parameters);

/// Of a sequence, or of a tile of them: the keys [first, end) of the cache that its rows see, and `appended` ones behind them. Shares
/// begin at multiples of the block, so that the first one may begin with keys that nobody sees.
template <typename Number>
struct KeyRange {
  std::optional<Number> first;  ///< none = 0
  Number end;
  std::optional<Number> appended;
};

/// Of sequence `batch`. What is no length counts as the nearest one, so that nothing beyond the cache is read.
KeyRange<dsl::Scalar> keysOf(const DecodeArguments& a, const dsl::Scalar& batch);
/// The keys of sequence `batch`, appended ones among them, read where this stands.
dsl::Scalar lengthOf(const DecodeArguments& a, const dsl::Scalar& batch);
/// Of a tile of sequences; lengths are read where `known` holds.
KeyRange<dsl::Tile> keysOf(const DecodeArguments& a, const dsl::Tile& batch, const dsl::Tile& known);

/// Blocks of N keys that a range has in the cache, at least 1: a sequence without keys has a result, too.
template <typename Number>
Number blocksOf(const KeyRange<Number>& range, std::int64_t N) {
  const Number end = (range.end + (N - 1)) / N;
  return max(range.first ? Number(end - *range.first / N) : end, 1);
}

/// Attention over some keys, for each row.
struct DecodeResult {
  dsl::Tile o, lse;  ///< [rows, head_dim_v], [rows]
};

/// The query rows of a key head of a sequence: row r is query row r % queries of the group's head r / queries.
class DecodeRows {
 public:
  /// `length`: lengthOf() the sequence.
  DecodeRows(const DecodeArguments& arguments, const dsl::Scalar& batch, const dsl::Scalar& kvHead, const dsl::Scalar& length);

  const KeyRange<dsl::Scalar>& keys() const { return keys_; }
  const dsl::Scalar& count() const { return count_; }
  const dsl::Tile& inside() const { return inside_; }  ///< which rows there are

  /// Over the keys [begin, end) of the cache, N at a time from a multiple of N on, and over the appended ones where `takesAppended`.
  DecodeResult over(const dsl::Scalar& begin, const dsl::Scalar& end, std::int64_t N, const dsl::Scalar& takesAppended) const;
  /// To o and lse.
  void store(const DecodeResult& result) const;

 private:
  dsl::Tile at(const dsl::TensorArg& tensor) const;
  dsl::Tile elements(const dsl::TensorArg& tensor, std::int64_t width) const;

  const DecodeArguments& a_;
  dsl::Scalar batch_, kvHead_, wideBatch_, count_;
  dsl::Tile inside_, query_, head_;
  KeyRange<dsl::Scalar> keys_;
  dsl::Scalar length_;
};

}  // namespace fattn::kernels

#endif
