// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-run/BackwardReference.h"

#include <cmath>
#include <limits>

#include "tools/io/Convert.h"

namespace fattn::run {
namespace {

constexpr double kBudget = 1e9;  // floating-point operations of dq, and of dk and dv

std::size_t placeOf(std::int64_t index) { return static_cast<std::size_t>(index); }

std::vector<float> floatsOf(const io::HostTensor& tensor) {
  std::vector<float> values(placeOf(tensor.bytes() / sizeInBytes(tensor.dtype())));
  io::toFloat(tensor.dtype(), tensor.data(), values.data(), values.size());
  return values;
}

double inner(const float* a, const float* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t d = 0; d < count; ++d) sum += static_cast<double>(a[d]) * b[d];
  return sum;
}

/// Sums of squares of a difference and of what is right.
struct Squares {
  double difference = 0, norm = 0;

  void add(const io::HostTensor& got, std::int64_t row, const double* want, std::int64_t width) {
    std::vector<float> values(placeOf(width));
    io::toFloat(got.dtype(), got.data() + row * width * sizeInBytes(got.dtype()), values.data(), values.size());
    for (std::int64_t d = 0; d < width; ++d) {
      const double error = values[placeOf(d)] - want[d];
      difference += std::isfinite(error) ? error * error : std::numeric_limits<double>::infinity();
      norm += want[d] * want[d];
    }
  }
  double relative() const { return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference); }
};

}  // namespace

double allowedGradientError(DType dtype) { return dtype == DType::F32 ? 5e-6 : dtype == DType::F16 ? 2e-3 : 1e-2; }

BackwardReference::BackwardReference(const io::AttentionShape& shape, const Given& given)
    : shape_(shape),
      scale_(1 / std::sqrt(static_cast<double>(shape.dim))),
      q_(floatsOf(*given.q)),
      k_(floatsOf(*given.k)),
      v_(floatsOf(*given.v)),
      lse_(floatsOf(*given.lse)),
      dout_(floatsOf(*given.dout)) {
  const std::vector<float> o = floatsOf(*given.o);
  for (std::int64_t row = 0; row < shape.rows(); ++row)
    delta_.push_back(inner(&o[placeOf(row * shape.dimV)], &dout_[placeOf(row * shape.dimV)], shape.dimV));
}

BackwardReference::Pair BackwardReference::at(std::int64_t row, std::int64_t key) const {
  const std::int64_t D = shape_.dim, Dv = shape_.dimV;
  if (key % shape_.lenKv >= shape_.visible(row % shape_.lenQ)) return {0, 0};
  const double p = std::exp(inner(&q_[placeOf(row * D)], &k_[placeOf(key * D)], D) * scale_ - lse_[placeOf(row)]);
  return {p, p * (inner(&dout_[placeOf(row * Dv)], &v_[placeOf(key * Dv)], Dv) - delta_[placeOf(row)])};
}

std::vector<double> BackwardReference::dqOf(std::int64_t row) const {
  const std::int64_t group = shape_.headsQ / shape_.headsKv, first = row / shape_.lenQ / group * shape_.lenKv;
  std::vector<double> sum(placeOf(shape_.dim));
  for (std::int64_t key = first; key < first + shape_.visible(row % shape_.lenQ); ++key) {
    const double ds = at(row, key).ds * scale_;
    for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += ds * k_[placeOf(key * shape_.dim) + d];
  }
  return sum;
}

std::vector<double> BackwardReference::dkvOf(std::int64_t key) const {
  const std::int64_t D = shape_.dim, Dv = shape_.dimV, rows = shape_.headsQ / shape_.headsKv * shape_.lenQ;
  const std::int64_t first = key / shape_.lenKv * rows;
  std::vector<double> sum(placeOf(D + Dv));
  for (std::int64_t row = first; row < first + rows; ++row) {
    const auto [p, ds] = at(row, key);
    if (p == 0) continue;
    for (std::int64_t d = 0; d < D; ++d) sum[placeOf(d)] += ds * scale_ * q_[placeOf(row * D + d)];
    for (std::int64_t d = 0; d < Dv; ++d) sum[placeOf(D + d)] += p * dout_[placeOf(row * Dv + d)];
  }
  return sum;
}

GradientErrors BackwardReference::compare(const Gradients& gradients, std::uint64_t seed) const {
  io::AttentionShape turned = shape_;  // each key with all rows of its group
  turned.headsQ = shape_.headsKv, turned.lenQ = shape_.lenKv, turned.causal = false;
  turned.lenKv = shape_.headsQ / shape_.headsKv * shape_.lenQ;
  Squares dq, dk, dv;
  GradientErrors found;
  for (const std::int64_t row : io::chooseRows(shape_, seed, kBudget)) {
    dq.add(*gradients.dq, row, dqOf(row).data(), shape_.dim);
    ++found.rows;
  }
  for (const std::int64_t key : io::chooseRows(turned, seed, kBudget)) {
    const std::vector<double> want = dkvOf(key);
    dk.add(*gradients.dk, key, want.data(), shape_.dim);
    dv.add(*gradients.dv, key, want.data() + shape_.dim, shape_.dimV);
    found.rows += 2;
  }
  found.dq = dq.relative(), found.dk = dk.relative(), found.dv = dv.relative();
  return found;
}

}  // namespace fattn::run
