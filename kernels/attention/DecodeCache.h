// SPDX-License-Identifier: Apache-2.0
// Keys, or values, of one head of one sequence, as the program of decode reads and extends them.
#ifndef FATTN_KERNELS_ATTENTION_DECODECACHE_H
#define FATTN_KERNELS_ATTENTION_DECODECACHE_H

#include <optional>

#include "fattn/dsl/Dsl.h"

namespace fattn::kernels {

/// How many of a block of N rows are read as one window: those of a page where a block has several pages, of a size that suits matrix
/// instructions; else all.
std::int64_t windowRows(std::int64_t pageSize, std::int64_t N);

struct DecodeCache {
  dsl::TensorArg tensor;                ///< [B, Hkv, T, elements], or [pages, Hkv, pageSize, elements]
  std::optional<dsl::TensorArg> pages;  ///< [B, most pages of a sequence]
  std::int64_t pageSize, elements;
  dsl::Scalar batch, head;
  std::optional<dsl::Scalar> first{};  ///< rows before it are zero, and not read; none = 0

  /// `count` rows from `key` on; those from `end` on are zero, and not read. `key` is a multiple of `count`, and may lie
  /// behind `end`.
  dsl::Tile rows(const dsl::Scalar& key, const dsl::Scalar& end, std::int64_t count) const;

  /// Makes `block`, whose first rows are [from, from + count) of the sequence, rows of the cache.
  void write(const dsl::Tile& block, const dsl::Scalar& from, const dsl::Scalar& count) const;

 private:
  dsl::Ptr headOf(const dsl::Scalar& block) const;
  dsl::Ptr table() const;
  /// Rows `start` ... of an array whose rows [lower, upper) there are.
  dsl::Tile window(const dsl::Ptr& base, const std::optional<dsl::Scalar>& lower, const dsl::Scalar& upper, const dsl::Scalar& start,
                   std::int64_t count) const;
  /// The address of each element of some rows of the sequence; page numbers are read where `inside` holds.
  dsl::Tile addresses(const dsl::Tile& keys, const dsl::Tile& inside) const;
};

/// Rows that a launch appends to the cache: of one head of one sequence the last `count` of [B, Hkv, S, elements].
struct AppendedRows {
  dsl::TensorArg tensor;
  std::int64_t elements;
  dsl::Scalar batch, head, count;

  /// `rows` rows from `start` of the last ones on; what lies behind them is zero, and not read.
  dsl::Tile block(const dsl::Scalar& start, std::int64_t rows) const;
};

}  // namespace fattn::kernels

#endif
