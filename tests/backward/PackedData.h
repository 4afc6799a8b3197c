// SPDX-License-Identifier: Apache-2.0
// Operands of a backward launch on packed sequences in one piece of memory: of each sequence those that BackwardData draws, with the
// gradients that it knows in float64. Rows before the first sequence and behind the last one belong to none.
#ifndef FATTN_TESTS_BACKWARD_PACKEDDATA_H
#define FATTN_TESTS_BACKWARD_PACKEDDATA_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "fattn/Backward.h"
#include "tests/backward/BackwardData.h"

namespace fattn::backward {

struct PackedShape {
  DType dtype = DType::F32;
  std::int64_t headsQ = 4, headsKv = 2, dim = 16, dimV = 16;
  std::vector<std::int32_t> queries = {40}, keys = {40};  ///< of each sequence
  bool causal = false, hasDlse = false;
  std::int64_t spare = 3;                                   ///< rows at each end that belong to no sequence
  float unowned = std::numeric_limits<float>::quiet_NaN();  ///< what stands in them
};

class PackedData {
 public:
  explicit PackedData(const PackedShape& shape);

  const PackedShape& shape() const { return shape_; }
  BackwardConfig config(const std::string& target, bool deterministic) const;
  std::vector<std::byte>& memory() { return memory_; }
  /// The operands where a copy of memory() lies at `base`, with a workspace for every mode.
  PackedBackwardArgs at(std::byte* base) const;

  /// Of what memory() holds: empty where each sequence's gradients are right and no other row was written; else what is wrong.
  std::string verdict();
  /// Of one sequence's gradients.
  std::string verdictOf(std::size_t sequence);

 private:
  enum Which : std::uint8_t { kQ, kK, kV, kO, kDout, kLse, kDlse, kDq, kDk, kDv, kCount };
  struct Tensor {
    std::size_t offset = 0;
    TensorView view{};  ///< its data pointer means nothing
    bool ofKeys = false;
  };
  std::size_t reserve(std::size_t bytes);
  void place(Which which, const TensorView BackwardViews::* member, std::int64_t heads, std::int64_t width);
  /// The bytes of a sequence's rows in a packed tensor.
  std::size_t begin(const Tensor& tensor, std::size_t sequence) const;
  std::string untouched(const Tensor& tensor, const char* name) const;

  PackedShape shape_;
  std::vector<BackwardData> sequences_;
  std::vector<std::int32_t> cuQ_, cuK_;
  std::vector<std::byte> memory_;
  Tensor tensors_[kCount];
  std::size_t cuQAt_ = 0, cuKAt_ = 0, workspace_ = 0;
  std::int64_t workspaceBytes_ = 0;
};

}  // namespace fattn::backward

#endif
