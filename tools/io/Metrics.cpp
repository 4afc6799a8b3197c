// SPDX-License-Identifier: Apache-2.0
// Error metrics and small statistics.
#include "tools/io/Metrics.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "tools/io/Convert.h"
#include "tools/io/Parallel.h"

namespace fattn::io {

void ErrorMeter::add(double result, double reference) {
  if (!std::isfinite(reference)) {
    ++nonFinite_;
    const bool same = std::isnan(reference) ? std::isnan(result) : result == reference;
    mismatched_ += same ? 0 : 1;
  } else if (!std::isfinite(result)) {
    ++mismatched_;
  } else {
    const double difference = result - reference;
    error_ += difference * difference;
    norm_ += reference * reference;
    maxAbsolute_ = std::max(maxAbsolute_, std::abs(difference));
    ++compared_;
  }
}

double ErrorMeter::relative() const {
  if (error_ == 0) return 0;
  return norm_ == 0 ? std::numeric_limits<double>::infinity() : std::sqrt(error_ / norm_);
}

NonFinite countNonFinite(const HostTensor& tensor, int threads) {
  if (!isFloat(tensor.dtype())) return {};
  constexpr std::int64_t kChunk = 4096;
  std::atomic<std::int64_t> nans{0}, infinities{0};
  parallelFor((tensor.elements() + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk) {
    float values[kChunk];
    const std::int64_t at = chunk * kChunk, n = std::min(kChunk, tensor.elements() - at);
    toFloat(tensor.dtype(), tensor.data() + at * sizeInBytes(tensor.dtype()), values, static_cast<std::size_t>(n));
    std::int64_t nan = 0, infinite = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      nan += std::isnan(values[i]) ? 1 : 0;
      infinite += std::isinf(values[i]) ? 1 : 0;
    }
    if (nan + infinite != 0) {
      nans += nan;
      infinities += infinite;
    }
  });
  return {nans, infinities};
}

double median(std::vector<double> values) {
  const std::size_t middle = values.size() / 2;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(middle));
  if (values.size() % 2 == 1) return values[middle];
  const double below = *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle));
  return (below + values[middle]) / 2;
}

}  // namespace fattn::io
