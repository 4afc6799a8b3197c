// SPDX-License-Identifier: Apache-2.0
#include "tests/varlen/VarlenData.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "tools/io/Convert.h"

namespace fattn::varlen {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kAlignment = 64;

std::size_t nth(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace

std::int64_t VarlenData::rowsOf(const std::vector<std::int32_t>& lengths) const {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{2} * shape_.spare);
}

std::vector<float> VarlenData::drawn(const std::vector<std::int32_t>& lengths, std::int64_t width, unsigned seed, bool wild) const {
  std::minstd_rand engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(nth(rowsOf(lengths) * width), kNaN);
  const auto first = values.begin() + shape_.spare * width, last = values.end() - shape_.spare * width;
  std::generate(first, last, [&] { return normal(engine); });
  std::int64_t row = shape_.spare;
  for (std::size_t b = 0; b < lengths.size() && wild; row += lengths[b++])
    for (std::int64_t e = row * width; b % 2 == 1 && e < (row + lengths[b]) * width; ++e)
      values[nth(e)] = e % 2 == 0 ? kNaN : std::numeric_limits<float>::infinity();
  std::vector<std::byte> bytes(values.size() * nth(sizeInBytes(shape_.dtype)));
  io::fromFloat(shape_.dtype, values.data(), bytes.data(), values.size());
  io::toFloat(shape_.dtype, bytes.data(), values.data(), values.size());
  return values;
}

std::size_t VarlenData::reserve(std::size_t bytes) {
  const std::size_t offset = (memory_.size() + kAlignment - 1) / kAlignment * kAlignment;
  memory_.resize(offset + bytes);
  return offset;
}

std::size_t VarlenData::put(const std::vector<float>& values) {
  const std::size_t offset = reserve(values.size() * nth(sizeInBytes(shape_.dtype)));
  io::fromFloat(shape_.dtype, values.data(), memory_.data() + offset, values.size());
  return offset;
}

VarlenData::VarlenData(const VarlenShape& shape, unsigned seed)
    : shape_(shape),
      qs_(drawn(shape.queries, shape.headsQ * shape.dim, seed, shape.wild)),
      ks_(drawn(shape.keys, shape.headsKv * shape.dim, seed + 1, shape.wild)),
      vs_(drawn(shape.keys, shape.headsKv * shape.dimV, seed + 2, shape.wild)) {
  q_ = put(qs_), k_ = put(ks_), v_ = put(vs_);
  const std::int64_t rows = rowsOf(shape.queries) * shape.headsQ;
  o_ = shape.inPlace ? q_ : put(std::vector<float>(nth(rows * shape.dimV), kNaN));
  const std::vector<float> logs(nth(rows), kNaN);
  lse_ = reserve(logs.size() * sizeof(float));
  std::memcpy(memory_.data() + lse_, logs.data(), logs.size() * sizeof(float));
  for (const auto& [lengths, offset] :
       {std::pair<const std::vector<std::int32_t>&, std::size_t&>{shape.queries, cuQ_}, {shape.keys, cuK_}}) {
    std::vector<std::int32_t> begins = {static_cast<std::int32_t>(shape.spare)};
    for (const std::int32_t length : lengths) begins.push_back(begins.back() + length);
    offset = reserve(begins.size() * sizeof(std::int32_t));
    std::memcpy(memory_.data() + offset, begins.data(), begins.size() * sizeof(std::int32_t));
  }
}

VarlenConfig VarlenData::config(const std::string& target) const {
  return {.dtype = shape_.dtype, .head_dim = shape_.dim, .head_dim_v = shape_.dimV, .causal = shape_.causal, .target = target};
}

VarlenArgs VarlenData::at(std::byte* base) const {
  const std::int64_t rows = rowsOf(shape_.queries), keys = rowsOf(shape_.keys),
                     count = static_cast<std::int64_t>(shape_.queries.size()) + 1;
  return {.q = {base + q_, shape_.dtype, {rows, shape_.headsQ, shape_.dim}},
          .k = {base + k_, shape_.dtype, {keys, shape_.headsKv, shape_.dim}},
          .v = {base + v_, shape_.dtype, {keys, shape_.headsKv, shape_.dimV}},
          .o = {base + o_, shape_.dtype, {rows, shape_.headsQ, shape_.dimV}},
          .lse = TensorView(base + lse_, DType::F32, {rows, shape_.headsQ}),
          .cu_q = {base + cuQ_, DType::I32, {count}},
          .cu_k = {base + cuK_, DType::I32, {count}}};
}

VarlenData::Errors VarlenData::errors(std::int64_t limit) const {
  const std::int64_t H = shape_.headsQ, Hk = shape_.headsKv, D = shape_.dim, Dv = shape_.dimV, rows = rowsOf(shape_.queries);
  std::vector<float> o(nth(rows * H * Dv)), lse(nth(rows * H));
  io::toFloat(shape_.dtype, memory_.data() + o_, o.data(), o.size());
  std::memcpy(lse.data(), memory_.data() + lse_, lse.size() * sizeof(float));
  const std::vector<float> before = shape_.inPlace ? qs_ : std::vector<float>(o.size(), kNaN);
  std::vector<bool> written(nth(rows));
  double difference = 0, norm = 0, worst = 0;
  std::vector<double> scores, sums(nth(Dv));
  std::int64_t row0 = shape_.spare, key0 = shape_.spare;
  for (std::size_t b = 0; b < shape_.queries.size(); row0 += shape_.queries[b], key0 += shape_.keys[b], ++b)
    for (std::int64_t i = 0; i < std::min<std::int64_t>(shape_.queries[b], limit); ++i)
      for (std::int64_t h = 0; h < H; ++h) {
        written[nth(row0 + i)] = true;
        if (shape_.wild && b % 2 == 1) continue;
        const std::int64_t row = (row0 + i) * H + h, length = shape_.keys[b];
        const std::int64_t seen = shape_.causal ? std::clamp<std::int64_t>(i + 1 + length - shape_.queries[b], 0, length) : length;
        const auto key = [&](std::int64_t t) { return (key0 + t) * Hk + h / (H / Hk); };
        scores.assign(nth(seen), 0);
        double largest = -kInfinity, sum = 0;
        for (std::int64_t t = 0; t < seen; ++t) {
          for (std::int64_t d = 0; d < D; ++d) scores[nth(t)] += static_cast<double>(qs_[nth(row * D + d)]) * ks_[nth(key(t) * D + d)];
          largest = std::max(largest, scores[nth(t)] /= std::sqrt(static_cast<double>(D)));
        }
        std::ranges::fill(sums, 0);
        for (std::int64_t t = 0; t < seen; ++t) {
          const double weight = std::exp(scores[nth(t)] - largest);
          sum += weight;
          for (std::int64_t d = 0; d < Dv; ++d) sums[nth(d)] += weight * vs_[nth(key(t) * Dv + d)];
        }
        for (std::int64_t d = 0; d < Dv; ++d) {
          const double want = seen > 0 ? sums[nth(d)] / sum : 0, got = o[nth(row * Dv + d)];
          if (!std::isfinite(got) || (seen == 0 && got != 0)) return {kInfinity, worst};
          difference += (got - want) * (got - want), norm += want * want;
        }
        const double got = lse[nth(row)];
        if (seen == 0 ? got != -kInfinity : !std::isfinite(got)) return {difference, kInfinity};
        if (seen > 0) worst = std::max(worst, std::abs(got - (largest + std::log(sum))));
      }
  for (std::int64_t row = 0; row < rows; ++row) {
    if (written[nth(row)]) continue;
    for (std::int64_t e = row * H * Dv; e < (row + 1) * H * Dv; ++e)
      if (std::isnan(before[nth(e)]) ? !std::isnan(o[nth(e)]) : o[nth(e)] != before[nth(e)]) return {kInfinity, worst};
    for (std::int64_t h = 0; h < H; ++h)
      if (!std::isnan(lse[nth(row * H + h)])) return {difference, kInfinity};
  }
  return {norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference), worst};
}

VarlenData::Errors VarlenData::tolerance() const {
  return {shape_.dtype == DType::F32 ? 2e-6 : shape_.dtype == DType::F16 ? 1e-3 : 5e-3, 1e-5};
}

}  // namespace fattn::varlen
