// SPDX-License-Identifier: Apache-2.0
// The gradients of attention in float64, by the formulae of fattn/Backward.h for given o and lse, of sampled rows and keys.
#ifndef FATTN_TOOLS_FATTN_RUN_BACKWARDREFERENCE_H
#define FATTN_TOOLS_FATTN_RUN_BACKWARDREFERENCE_H

#include <cstdint>
#include <vector>

#include "tools/io/HostTensor.h"
#include "tools/io/Reference.h"

namespace fattn::run {

/// Relative Frobenius norms of differences, and how many rows were compared.
struct GradientErrors {
  double dq = 0, dk = 0, dv = 0;
  std::int64_t rows = 0;
};

/// What the largest of the three may be for a type.
double allowedGradientError(DType dtype);

class BackwardReference {
 public:
  struct Given {
    const io::HostTensor *q, *k, *v, *o, *lse, *dout;  ///< [B, H, S, D] and [B, H, S], in one piece
  };
  struct Gradients {
    const io::HostTensor *dq, *dk, *dv;
  };

  /// The scale is 1 / sqrt(dim).
  BackwardReference(const io::AttentionShape& shape, const Given& given);

  /// As many rows and keys as take about half a second, the same for the same seed.
  GradientErrors compare(const Gradients& gradients, std::uint64_t seed) const;

 private:
  /// Of query row `row` and key row `key`, counted over all heads: the probability and dS.
  struct Pair {
    double p, ds;
  };
  Pair at(std::int64_t row, std::int64_t key) const;
  std::vector<double> dqOf(std::int64_t row) const;
  /// dk, then dv.
  std::vector<double> dkvOf(std::int64_t key) const;

  io::AttentionShape shape_;
  double scale_;
  std::vector<float> q_, k_, v_, lse_, dout_;
  std::vector<double> delta_;
};

}  // namespace fattn::run

#endif
