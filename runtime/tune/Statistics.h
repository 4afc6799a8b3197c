// SPDX-License-Identifier: Apache-2.0
// What a list of times says: robust figures, as single launches are disturbed by whatever else the machine does.
#ifndef FATTN_RUNTIME_TUNE_STATISTICS_H
#define FATTN_RUNTIME_TUNE_STATISTICS_H

#include <span>

namespace fattn::tuning {

/// The value below which a share of the values lies, between neighbours interpolated; 0.5 is the median. Precondition: not empty.
double quantile(std::span<const double> values, double share);
inline double median(std::span<const double> values) { return quantile(values, 0.5); }
/// The interquartile range. Precondition: not empty.
double spread(std::span<const double> values);

/// The median, and how far it may be from the true one (a standard error, estimated from the median absolute deviation).
struct Estimate {
  double value = 0, error = 0;
};
/// Precondition: not empty. Of fewer than 3 values nothing is known about the error: it is taken to be 5% of the value.
Estimate estimate(std::span<const double> values);

}  // namespace fattn::tuning

#endif
