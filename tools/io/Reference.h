// SPDX-License-Identifier: Apache-2.0
// The forward of attention in float64, straight from its definition, which kernels are checked against:
//
//   s(i, j) = scale * sum_d q(i, d) k(j, d)          for the keys j that row i sees
//   lse(i)  = ln sum_j exp s(i, j)                    o(i, d) = sum_j exp(s(i, j) - lse(i)) v(j, d)
//
// A row sees every key, or, where causal, the keys j <= i + lenKv - lenQ (aligned bottom right). A row that sees none has o = 0 and
// lse = -inf. Query head h uses key/value head h / (headsQ / headsKv). Keys that a row does not see are not touched, so NaN or infinity
// there does not reach it; in what it sees, they spread as IEEE 754 says.
#ifndef FATTN_TOOLS_IO_REFERENCE_H
#define FATTN_TOOLS_IO_REFERENCE_H

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tools/io/HostTensor.h"

namespace fattn::io {

struct AttentionShape {
  std::int64_t batch = 1, headsQ = 1, headsKv = 1, lenQ = 1, lenKv = 1, dim = 64, dimV = 64;
  bool causal = false;

  /// Keys that row i sees.
  std::int64_t visible(std::int64_t i) const { return causal ? std::clamp<std::int64_t>(i + lenKv - lenQ + 1, 0, lenKv) : lenKv; }
  /// Pairs of a row and a key it sees, in one head.
  std::int64_t pairsPerHead() const;
  std::int64_t rows() const { return batch * headsQ * lenQ; }
  /// Floating-point operations of the forward as the field counts them: 2 (dim + dimV) for each pair of a row and a key it sees.
  double flops() const {
    return 2.0 * static_cast<double>(dim + dimV) * static_cast<double>(pairsPerHead()) * static_cast<double>(batch * headsQ);
  }
};

/// Rows to compute, as (b * headsQ + h) * lenQ + i, ascending: all of them where that costs at most `budget` (in floating-point
/// operations, exponentials weighted), else a seeded sample that does; the first and last row of each head sampled are always in it.
/// The default keeps the reference at about half a second on two cores.
std::vector<std::int64_t> chooseRows(const AttentionShape& shape, std::uint64_t seed, double budget = 6e9);

struct Reference {
  std::vector<double> o;    ///< rows x dimV
  std::vector<double> lse;  ///< rows
};

/// Views are logical batch, head, row, column, of any float type.
Reference attentionReference(const AttentionShape& shape, double scale, const View4& q, const View4& k, const View4& v,
                             const std::vector<std::int64_t>& rows, int threads = 0);

}  // namespace fattn::io

#endif
