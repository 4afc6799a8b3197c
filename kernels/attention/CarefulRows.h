// SPDX-License-Identifier: Apache-2.0
// A block of rows of attention, computed with the true maximum in every step: for what the forward's loop does not get right, which is
// rare. It is slower than the loop, and short, as every kernel has it.
#ifndef FATTN_KERNELS_ATTENTION_CAREFULROWS_H
#define FATTN_KERNELS_ATTENTION_CAREFULROWS_H

#include "fattn/dsl/Dsl.h"

namespace fattn {

/// The rows of one head of an operand.
struct HeadRows {
  dsl::Ptr base;
  dsl::Scalar length, stride;  ///< i64; in rows, and in elements between rows
  std::int64_t elements;       ///< of a row
  /// `count` rows from the given one on; what lies beyond the array is 0.
  dsl::Tile at(const dsl::Scalar& row, std::int64_t count) const;
};

/// What a block of rows is computed from.
struct BlockOfRows {
  HeadRows q, k, v;
  dsl::Scalar row0, seqK, scale;  ///< the first row; keys; the scale of exponents to base 2
  dsl::Scalar shift;              ///< causal: row i sees the keys up to i + shift
  bool causal;
  bool beyond = false;  ///< what the sums came from may have been read beyond the last key

  /// The last key that each of so many rows sees; negative where it sees none.
  dsl::Tile lastKeys(std::int64_t rows) const;
};

/// Of each row the sum of the weighted values, [M, Dv], and of the weights, [M], which are exp2(score - m). Weights may be smaller by a
/// factor of the row that makes m larger.
struct RowSums {
  dsl::Tile o, l, m;
};

/// The sums of `rows` rows. Equal scores have equal weights, however large they are, no weight is above 1, and keys that a row does not see
/// change nothing in it. Values below 2^127 give sums that are finite. An element of v that is not finite makes NaN or an infinity of its
/// column in the rows that see it.
RowSums carefulRows(const BlockOfRows& block, std::int64_t rows);

}  // namespace fattn

#endif
