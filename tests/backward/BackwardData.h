// SPDX-License-Identifier: Apache-2.0
// Random operands of a backward launch in one piece of memory, and the gradients in float64. Results and the workspace are NaN before.
#ifndef FATTN_TESTS_BACKWARD_BACKWARDDATA_H
#define FATTN_TESTS_BACKWARD_BACKWARDDATA_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fattn/DType.h"
#include "fattn/TensorView.h"

namespace fattn::backward {

struct BackwardShape {
  DType dtype = DType::F32;
  std::int64_t batch = 1, headsQ = 2, headsKv = 2, queries = 40, keys = 40, dim = 16, dimV = 16;
  bool causal = false;
  bool hasDlse = false;
  bool rowsFirst = false;  ///< the heads of a row lie side by side: [B, S, H, D]
  float scoreScale = 1;    ///< multiplies q

  double scale() const;
};

std::string textOf(const BackwardShape& shape);

/// The tensors of a launch, logically [B, H, S, D] and [B, H, S].
struct BackwardViews {
  TensorView q, k, v, o, dout, lse, dlse, dq, dk, dv;
};

class BackwardData {
 public:
  explicit BackwardData(const BackwardShape& shape, std::uint64_t seed = 1);

  const BackwardShape& shape() const { return shape_; }
  std::vector<std::byte>& memory() { return memory_; }
  /// The operands where a copy of memory() lies at `base`; without dlse its view has no elements.
  BackwardViews at(std::byte* base) const;
  BackwardViews here() { return at(memory_.data()); }
  std::byte* workspace(std::byte* base) const { return base + workspace_; }
  /// Enough for every mode.
  std::int64_t workspaceBytes() const { return workspaceBytes_; }

  /// Relative Frobenius norms of the differences of dq, dk and dv in memory() to float64; infinity where one is not finite, or where dq of
  /// a row that sees no key is not 0.
  std::array<double, 3> errors() const;
  /// What f32 sums, and operands that are rounded to the type, may differ by.
  double tolerance() const;
  /// Empty if errors() are below tolerance(); else all of them.
  std::string verdict() const;

  /// Of all elements, rows side by side [B, H, S, D].
  std::vector<float> read(const TensorView& here) const;

 private:
  struct Tensor {
    std::size_t offset = 0;
    TensorView view{};  ///< its data pointer means nothing
  };
  std::vector<float> rounded(std::int64_t count, double scale);
  Tensor put(const std::vector<float>& values, DType dtype, std::array<std::int64_t, 4> shape);
  void makeExact();

  BackwardShape shape_;
  std::uint64_t state_;
  std::vector<std::byte> memory_;
  std::vector<float> qs_, ks_, vs_, douts_, dlses_;  ///< [B, H, S, D], as rounded
  std::vector<double> o_, lse_, dq_, dk_, dv_;       ///< exact
  Tensor q, k, v, o, dout, lse, dlse, dq, dk, dv;
  std::size_t workspace_ = 0;
  std::int64_t workspaceBytes_ = 0;
};

}  // namespace fattn::backward

#endif
