// SPDX-License-Identifier: Apache-2.0
// How far a result is from its reference, what inputs contain, and statistics of timings.
#ifndef FATTN_TOOLS_IO_METRICS_H
#define FATTN_TOOLS_IO_METRICS_H

#include <cstdint>
#include <vector>

#include "tools/io/HostTensor.h"

namespace fattn::io {

/// Collects pairs of a result and its reference. Errors are taken over the pairs where both are finite; where the reference is not, the
/// result must be the same (NaN, or infinity of the same sign), and pairs where it is not, or only the reference is finite, are counted.
class ErrorMeter {
 public:
  void add(double result, double reference);

  /// ||result - reference|| / ||reference|| (Frobenius); 0 where both are zero, infinity where only the reference is.
  double relative() const;
  double maxAbsolute() const { return maxAbsolute_; }
  std::int64_t compared() const { return compared_; }
  std::int64_t nonFinite() const { return nonFinite_; }    ///< pairs with a reference that is not finite
  std::int64_t mismatched() const { return mismatched_; }  ///< pairs that disagree about being finite, or about which non-finite value

 private:
  double error_ = 0, norm_ = 0, maxAbsolute_ = 0;
  std::int64_t compared_ = 0, nonFinite_ = 0, mismatched_ = 0;
};

struct NonFinite {
  std::int64_t nans = 0, infinities = 0;
};
/// NaNs and infinities among the elements of a tensor.
NonFinite countNonFinite(const HostTensor& tensor, int threads = 0);

/// Precondition: not empty. The mean of the two middle ones for an even count.
double median(std::vector<double> values);

}  // namespace fattn::io

#endif
