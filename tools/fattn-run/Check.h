// SPDX-License-Identifier: Apache-2.0
// Compares the results of a run with the float64 reference.
#ifndef FATTN_TOOLS_FATTN_RUN_CHECK_H
#define FATTN_TOOLS_FATTN_RUN_CHECK_H

#include <cstdint>

#include "tools/fattn-run/Problem.h"
#include "tools/io/Metrics.h"

namespace fattn::run {

/// Largest relative Frobenius error that passes: 2e-6 for f32, 2e-3 for f16, 5e-3 for bf16.
double tolerance(DType dtype);

struct CheckResult {
  io::ErrorMeter o, lse;
  std::int64_t rows = 0;  ///< compared
  io::NonFinite inputs;   ///< in q, k and v together
  double allowed = 0;

  bool hasNonFiniteInputs() const { return inputs.nans + inputs.infinities != 0; }
  /// Errors within the tolerance (that of LSE relative or absolute, whichever is less), and every element finite that should be. With NaN
  /// or infinity in the inputs only the elements where result and reference are both finite count: a kernel may multiply a masked key's
  /// weight 0 with them, the reference skips the key.
  bool passed() const;
};

/// All rows where that takes about half a second, else a sample by seed.
CheckResult check(const Problem& problem, std::uint64_t seed, int threads);

}  // namespace fattn::run

#endif
