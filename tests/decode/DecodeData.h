// SPDX-License-Identifier: Apache-2.0
// Random operands of a decode launch in one piece of memory, and the result in float64. What lies beyond lengths is poison: NaN in keys and
// values, page numbers far away.
#ifndef FATTN_TESTS_DECODE_DECODEDATA_H
#define FATTN_TESTS_DECODE_DECODEDATA_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fattn/Decode.h"

namespace fattn::decode {

struct DecodeShape {
  DType dtype = DType::F32;
  std::int64_t headsQ = 4, headsKv = 2, queries = 1, dim = 16, dimV = 16;
  std::vector<std::int32_t> lengths = {40};  ///< one a sequence
  std::int64_t capacity = 40;                ///< keys that the cache has room for; with pages, rounded up to whole ones
  bool causal = false;
  std::int64_t pageSize = 0;
  bool rowsFirst = false;     ///< the heads of a key lie side by side: [B, T, Hkv, D]
  float scoreScale = 1;       ///< multiplies q
  std::int64_t window = 0;    ///< 0: rows see all keys before them
  std::int64_t appended = 0;  ///< 0: the launch appends no rows
  bool balanced = false;
  bool settled = false;  ///< the launch in front writes nothing of the cache
};

class DecodeData {
 public:
  explicit DecodeData(const DecodeShape& shape, std::uint64_t seed = 1);

  const DecodeShape& shape() const { return shape_; }
  DecodeConfig config(const std::string& target) const;
  /// All operands and results; a workspace of `workspace` bytes at the end, filled with NaN as the results are.
  std::vector<std::byte>& memory() { return memory_; }
  /// The operands where a copy of memory() lies at `base`.
  DecodeArgs at(std::byte* base) const;
  DecodeArgs here() { return at(memory_.data()); }
  static constexpr std::int64_t kWorkspace = 1 << 18;

  /// What memory() holds, against float64. Infinity where a row that sees nothing is not o = 0, lse = -infinity, where the cache is not
  /// what it was with the appended rows, and where counters are not back at zero.
  struct Errors {
    double o;    ///< relative Frobenius norm of the difference
    double lse;  ///< the largest difference
  };
  Errors errors() const;
  /// What f32 sums, and a result rounded to the type, may differ by.
  Errors tolerance() const;

 private:
  struct Tensor {
    std::size_t offset = 0;
    TensorView view;  ///< its data pointer means nothing
  };
  Tensor put(const std::vector<float>& values, DType dtype, const std::vector<std::int64_t>& shape);
  Tensor putInts(const std::vector<std::int32_t>& values, const std::vector<std::int64_t>& shape);
  std::vector<std::byte> cacheOf(const std::vector<float>& values, std::int64_t width, bool appended) const;
  Tensor putCache(const std::vector<float>& values, std::int64_t width);
  Tensor putNew(const std::vector<float>& values, std::int64_t width);
  bool isCache(const Tensor& tensor, const std::vector<float>& values, std::int64_t width) const;
  std::int64_t lengthOf(std::int64_t sequence) const;
  std::int64_t firstOf(std::int64_t sequence) const;  ///< the first key that any row sees
  std::size_t reserve(std::size_t bytes);
  std::vector<float> rounded(std::size_t count, double scale);
  std::vector<float> read(const Tensor& tensor) const;
  std::int64_t batch() const { return static_cast<std::int64_t>(shape_.lengths.size()); }
  std::int64_t pagesOfSequence() const { return (shape_.capacity + shape_.pageSize - 1) / shape_.pageSize; }

  DecodeShape shape_;
  std::uint64_t state_;
  std::vector<std::byte> memory_;
  std::vector<float> qs_, ks_, vs_;  ///< [B, H, S, D], as rounded
  std::vector<std::int32_t> table_;
  Tensor q_, k_, v_, o_, lse_, lengths_, pages_, newK_, newV_, counters_;
  std::size_t workspace_ = 0;
};

}  // namespace fattn::decode

#endif
