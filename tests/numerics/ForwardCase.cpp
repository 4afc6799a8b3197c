// SPDX-License-Identifier: Apache-2.0
#include "tests/numerics/ForwardCase.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tools/io/Metrics.h"
#include "tools/io/Random.h"

namespace fattn::numerics {

io::HostTensor drawTensor(DType dtype, std::vector<std::int64_t> shape, std::uint64_t stream) {
  io::HostTensor t = io::HostTensor::allocate(dtype, std::move(shape));
  io::fillNormal(t, 2026, stream, 1);
  return t;
}

ForwardCase::ForwardCase(const io::AttentionShape& shape, DType dtype, std::uint64_t stream)
    : shape_(shape),
      dtype_(dtype),
      q_(drawTensor(dtype, {shape.batch, shape.headsQ, shape.lenQ, shape.dim}, stream)),
      k_(drawTensor(dtype, {shape.batch, shape.headsKv, shape.lenKv, shape.dim}, stream + 1)),
      v_(drawTensor(dtype, {shape.batch, shape.headsKv, shape.lenKv, shape.dimV}, stream + 2)),
      scale_(1.25f / std::sqrt(static_cast<float>(shape.dim))),
      reference_(io::attentionReference(shape, scale_, q_.view(io::Layout::BHSD), k_.view(io::Layout::BHSD), v_.view(io::Layout::BHSD),
                                        io::chooseRows(shape, 0, std::numeric_limits<double>::infinity()))) {}

void ForwardCase::launch(Device& device, const Kernel& kernel, Placement placement, ForwardWorst& worst) const {
  StridedTensor q(dtype_, q_.shape(), placement), k(dtype_, k_.shape(), placement), v(dtype_, v_.shape(), placement);
  StridedTensor o(dtype_, {shape_.batch, shape_.headsQ, shape_.lenQ, shape_.dimV}, placement);
  StridedTensor lse(DType::F32, {shape_.batch, shape_.headsQ, shape_.lenQ}, placement);
  q.fill(q_);
  k.fill(k_);
  v.fill(v_);
  OnDevice dq(device, q), dk(device, k), dv(device, v), dO(device, o), dLse(device, lse);
  kernel.launch({}, {.q = dq.view(), .k = dk.view(), .v = dv.view(), .o = dO.view(), .lse = dLse.view(), .scale = scale_});
  dO.fetch();
  dLse.fetch();

  io::ErrorMeter errors, lseErrors;
  for (std::size_t i = 0; i < reference_.o.size(); ++i) errors.add(o.at(static_cast<std::int64_t>(i)), reference_.o[i]);
  for (std::size_t i = 0; i < reference_.lse.size(); ++i) lseErrors.add(lse.at(static_cast<std::int64_t>(i)), reference_.lse[i]);
  const std::string where = describe(placement);
  EXPECT_EQ(errors.mismatched(), 0) << where << ": elements of O that are not finite";
  EXPECT_EQ(lseErrors.mismatched(), 0) << where << ": elements of LSE that are not what they should be";
  EXPECT_EQ(o.touchedGapBytes(), 0) << where << ": bytes beside the elements of O were written";
  EXPECT_EQ(lse.touchedGapBytes(), 0) << where << ": bytes beside the elements of LSE were written";
  // A logarithm can be near zero in all of a small output; its error then counts absolutely.
  const double lseError = std::min(lseErrors.relative(), lseErrors.maxAbsolute());
  EXPECT_LE(errors.relative(), forwardTolerance(dtype_)) << where << ": O";
  EXPECT_LE(lseError, forwardTolerance(dtype_)) << where << ": LSE";
  if (errors.relative() > worst.o) {
    worst.o = errors.relative();
    worst.where = where;
  }
  worst.oAbsolute = std::max(worst.oAbsolute, errors.maxAbsolute());
  worst.lse = std::max(worst.lse, lseError);
}

std::string ForwardCase::describe(Placement placement) const {
  return fmt::format("B={} Hq={} Hkv={} Sq={} Skv={} {}", shape_.batch, shape_.headsQ, shape_.headsKv, shape_.lenQ, shape_.lenKv,
                     name(placement));
}

}  // namespace fattn::numerics
