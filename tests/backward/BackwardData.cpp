// SPDX-License-Identifier: Apache-2.0
#include "tests/backward/BackwardData.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tools/io/Convert.h"

namespace fattn::backward {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::size_t kAlignment = 64;
constexpr std::int64_t kStatisticsRows = 128;

std::size_t nth(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace

double BackwardShape::scale() const { return 1 / std::sqrt(static_cast<double>(dim)); }

std::string textOf(const BackwardShape& s) {
  std::string text(name(s.dtype));
  for (const std::int64_t n : {s.batch, s.headsQ, s.headsKv, s.queries, s.keys, s.dim, s.dimV}) text += " " + std::to_string(n);
  return text + (s.causal ? " causal" : "") + (s.hasDlse ? " dlse" : "") + (s.rowsFirst ? " rows first" : "");
}

BackwardData::BackwardData(const BackwardShape& shape, std::uint64_t seed) : shape_(shape), state_(seed) {
  const auto& [type, B, H, Hk, Sq, Sk, D, Dv, causal, hasDlse, rowsFirst, scoreScale] = shape_;
  qs_ = rounded(B * H * Sq * D, scoreScale), ks_ = rounded(B * Hk * Sk * D, 1), vs_ = rounded(B * Hk * Sk * Dv, 1);
  douts_ = rounded(B * H * Sq * Dv, 1);
  if (hasDlse) dlses_ = rounded(B * H * Sq, 1);
  makeExact();
  q = put(qs_, type, {B, H, Sq, D}), k = put(ks_, type, {B, Hk, Sk, D}), v = put(vs_, type, {B, Hk, Sk, Dv});
  o = put({o_.begin(), o_.end()}, type, {B, H, Sq, Dv}), dout = put(douts_, type, {B, H, Sq, Dv});
  const auto rows = [&](Tensor tensor) {  // without the dimension of columns
    const TensorView& four = tensor.view;
    tensor.view =
        TensorView(nullptr, DType::F32, {four.shape[0], four.shape[1], four.shape[2]}, {four.strides[0], four.strides[1], four.strides[2]});
    return tensor;
  };
  lse = rows(put({lse_.begin(), lse_.end()}, DType::F32, {B, H, Sq, 1}));
  dlse = hasDlse ? rows(put(dlses_, DType::F32, {B, H, Sq, 1})) : Tensor{0, TensorView(nullptr, DType::F32, {0, 0, 0})};
  const auto result = [&](std::int64_t heads, std::int64_t length, std::int64_t width) {
    return put(std::vector<float>(nth(B * heads * length * width), kNaN), type, {B, heads, length, width});
  };
  dq = result(H, Sq, D), dk = result(Hk, Sk, D), dv = result(Hk, Sk, Dv);
  const std::int64_t padded = (Sq + kStatisticsRows - 1) / kStatisticsRows * kStatisticsRows, own = B * H * padded * (2 + D);
  workspace_ = put(std::vector<float>(nth(own), kNaN), DType::F32, {1, 1, 1, own}).offset;
  workspaceBytes_ = own * static_cast<std::int64_t>(sizeof(float));
}

std::vector<float> BackwardData::rounded(std::int64_t count, double scale) {
  std::minstd_rand engine(static_cast<unsigned>(state_ = state_ * 6364136223846793005 + 1442695040888963407));
  std::normal_distribution<float> normal;
  std::vector<float> values(nth(count));
  for (float& value : values) value = normal(engine) * static_cast<float>(scale);
  std::vector<std::byte> bytes(values.size() * nth(sizeInBytes(shape_.dtype)));
  io::fromFloat(shape_.dtype, values.data(), bytes.data(), values.size());
  io::toFloat(shape_.dtype, bytes.data(), values.data(), values.size());
  return values;
}

BackwardData::Tensor BackwardData::put(const std::vector<float>& values, DType dtype, std::array<std::int64_t, 4> shape) {
  const auto [B, H, S, D] = shape;
  const std::size_t offset = (memory_.size() + kAlignment - 1) / kAlignment * kAlignment;
  memory_.resize(offset + values.size() * nth(sizeInBytes(dtype)));
  TensorView view(nullptr, dtype, {B, H, S, D});
  std::vector<float> placed = values;
  if (shape_.rowsFirst) {
    view = TensorView(nullptr, dtype, {B, S, H, D}).transposed(1, 2);
    for (std::int64_t b = 0; b < B; ++b)
      for (std::int64_t h = 0; h < H; ++h)
        for (std::int64_t s = 0; s < S; ++s)
          std::copy_n(values.begin() + ((b * H + h) * S + s) * D, D, placed.begin() + ((b * S + s) * H + h) * D);
  }
  io::fromFloat(dtype, placed.data(), memory_.data() + offset, placed.size());
  return {offset, view};
}

BackwardViews BackwardData::at(std::byte* base) const {
  const auto there = [&](const Tensor& tensor) {
    TensorView view = tensor.view;
    if (view.elements() > 0) view.data = base + tensor.offset;
    return view;
  };
  return {there(q), there(k), there(v), there(o), there(dout), there(lse), there(dlse), there(dq), there(dk), there(dv)};
}

// By the definition, a row at a time.
void BackwardData::makeExact() {
  const auto& [type, B, H, Hk, Sq, Sk, D, Dv, causal, hasDlse, rowsFirst, scoreScale] = shape_;
  o_.assign(nth(B * H * Sq * Dv), 0), lse_.assign(nth(B * H * Sq), -kInfinite);
  dq_.assign(qs_.size(), 0), dk_.assign(ks_.size(), 0), dv_.assign(vs_.size(), 0);
  std::vector<double> p, dp;
  for (std::int64_t row = 0; row < B * H * Sq; ++row) {
    const std::int64_t first = (row / (H * Sq) * Hk + row / Sq % H / (H / Hk)) * Sk, i = row % Sq;
    const std::int64_t seen = causal ? std::clamp<std::int64_t>(i + 1 + Sk - Sq, 0, Sk) : Sk;
    if (seen == 0) continue;
    p.assign(nth(seen), 0), dp.assign(nth(seen), 0);
    const float *qRow = &qs_[nth(row * D)], *doutRow = &douts_[nth(row * Dv)];
    double largest = -kInfinite, sum = 0, delta = 0;
    for (std::int64_t j = 0; j < seen; ++j) {
      const float *key = &ks_[nth((first + j) * D)], *value = &vs_[nth((first + j) * Dv)];
      for (std::int64_t d = 0; d < D; ++d) p[nth(j)] += static_cast<double>(qRow[d]) * key[d];
      for (std::int64_t d = 0; d < Dv; ++d) dp[nth(j)] += static_cast<double>(doutRow[d]) * value[d];
      largest = std::max(largest, p[nth(j)] *= shape_.scale());
    }
    for (double& score : p) sum += score = std::exp(score - largest);
    lse_[nth(row)] = largest + std::log(sum);
    for (std::int64_t j = 0; j < seen; ++j) delta += (p[nth(j)] /= sum) * dp[nth(j)];
    if (hasDlse) delta -= dlses_[nth(row)];
    for (std::int64_t j = 0; j < seen; ++j) {
      const double weight = p[nth(j)], ds = weight * (dp[nth(j)] - delta) * shape_.scale();
      for (std::int64_t d = 0; d < Dv; ++d) {
        o_[nth(row * Dv + d)] += weight * vs_[nth((first + j) * Dv + d)];
        dv_[nth((first + j) * Dv + d)] += weight * doutRow[d];
      }
      for (std::int64_t d = 0; d < D; ++d) {
        dq_[nth(row * D + d)] += ds * ks_[nth((first + j) * D + d)];
        dk_[nth((first + j) * D + d)] += ds * qRow[d];
      }
    }
  }
}

std::vector<float> BackwardData::read(const TensorView& here) const {
  std::vector<float> values;
  const std::int64_t size = sizeInBytes(here.dtype);
  for (std::int64_t b = 0; b < here.shape[0]; ++b)
    for (std::int64_t h = 0; h < here.shape[1]; ++h)
      for (std::int64_t s = 0; s < here.shape[2]; ++s) {
        const std::size_t at = values.size();
        values.resize(at + nth(here.shape[3]));
        const auto* row =
            static_cast<const std::byte*>(here.data) + (b * here.strides[0] + h * here.strides[1] + s * here.strides[2]) * size;
        io::toFloat(here.dtype, row, values.data() + at, nth(here.shape[3]));
      }
  return values;
}

std::array<double, 3> BackwardData::errors() const {
  const BackwardViews views = at(const_cast<std::byte*>(memory_.data()));
  const auto error = [&](const TensorView& view, const std::vector<double>& exact, const std::vector<double>& lse) {
    const std::vector<float> got = read(view);
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (!std::isfinite(got[i])) return kInfinite;
      const bool sees = lse.empty() || lse[i / nth(view.shape[3])] != -kInfinite;
      if (!sees && got[i] != 0) return kInfinite;
      difference += (got[i] - exact[i]) * (got[i] - exact[i]), norm += exact[i] * exact[i];
    }
    return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
  };
  return {error(views.dq, dq_, lse_), error(views.dk, dk_, {}), error(views.dv, dv_, {})};
}

double BackwardData::tolerance() const { return shape_.dtype == DType::F32 ? 5e-6 : shape_.dtype == DType::F16 ? 1.5e-3 : 1e-2; }

std::string BackwardData::verdict() const {
  const auto [q, k, v] = errors();
  if (std::max({q, k, v}) <= tolerance()) return "";
  return textOf(shape_) + ": dq " + std::to_string(q) + ", dk " + std::to_string(k) + ", dv " + std::to_string(v) + " of " +
         std::to_string(tolerance());
}

}  // namespace fattn::backward
