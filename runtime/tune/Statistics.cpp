// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/Statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fattn::tuning {

double quantile(std::span<const double> values, double share) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - static_cast<double>(below));
}

double spread(std::span<const double> values) { return quantile(values, 0.75) - quantile(values, 0.25); }

Estimate estimate(std::span<const double> values) {
  // For normally distributed values 1.4826 median absolute deviations are a standard deviation, and the error of a median is 1.2533 times
  // the one of a mean.
  constexpr double kDeviation = 1.4826, kMedian = 1.2533, kUnknown = 0.05;
  const double middle = median(values);
  if (values.size() < 3) return {middle, kUnknown * std::abs(middle)};
  std::vector<double> deviations(values.begin(), values.end());
  for (double& value : deviations) value = std::abs(value - middle);
  return {middle, kMedian * kDeviation * median(deviations) / std::sqrt(static_cast<double>(values.size()))};
}

}  // namespace fattn::tuning
