// SPDX-License-Identifier: Apache-2.0
// Random operands of a launch on packed sequences in one piece of memory, and the result in float64. Rows that belong to no sequence are
// NaN.
#ifndef FATTN_TESTS_VARLEN_VARLENDATA_H
#define FATTN_TESTS_VARLEN_VARLENDATA_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fattn/Varlen.h"

namespace fattn::varlen {

struct VarlenShape {
  DType dtype = DType::F32;
  std::int64_t headsQ = 4, headsKv = 2, dim = 16, dimV = 16;
  std::vector<std::int32_t> queries = {40}, keys = {40};  ///< of each sequence
  bool causal = false;
  std::int64_t spare = 3;  ///< rows before the first sequence, and behind the last one
  bool inPlace = false;    ///< o is q
  bool wild = false;       ///< every second sequence consists of NaN and infinity; its results are not looked at
};

class VarlenData {
 public:
  explicit VarlenData(const VarlenShape& shape, unsigned seed = 1);

  VarlenConfig config(const std::string& target) const;
  std::vector<std::byte>& memory() { return memory_; }
  /// The operands where a copy of memory() lies at `base`.
  VarlenArgs at(std::byte* base) const;

  struct Errors {
    double o;    ///< relative Frobenius norm of the difference; infinity where a row of no sequence has changed
    double lse;  ///< the largest difference
  };
  /// Of what memory() holds, for rows below `rows` of each sequence; the others have to be unchanged.
  Errors errors(std::int64_t rows = 1 << 30) const;
  Errors tolerance() const;

 private:
  std::size_t reserve(std::size_t bytes);
  std::size_t put(const std::vector<float>& values);
  std::vector<float> drawn(const std::vector<std::int32_t>& lengths, std::int64_t width, unsigned seed, bool wild = false) const;
  std::int64_t rowsOf(const std::vector<std::int32_t>& lengths) const;

  VarlenShape shape_;
  std::vector<std::byte> memory_;
  std::vector<float> qs_, ks_, vs_;  ///< [T, H, D], as rounded
  std::size_t q_ = 0, k_ = 0, v_ = 0, o_ = 0, lse_ = 0, cuQ_ = 0, cuK_ = 0;
};

}  // namespace fattn::varlen

#endif
