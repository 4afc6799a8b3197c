// SPDX-License-Identifier: Apache-2.0
#include "tests/decode/DecodeData.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <span>

#include "tools/io/Convert.h"

namespace fattn::decode {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::int32_t kNoPage = 1 << 28;
constexpr std::int64_t kSparePages = 3;
constexpr std::size_t kAlignment = 64;

std::size_t nth(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace

DecodeData::DecodeData(const DecodeShape& shape, std::uint64_t seed) : shape_(shape), state_(seed) {
  if (shape.pageSize > 0) shape_.capacity = pagesOfSequence() * shape.pageSize;
  const std::int64_t B = batch(), H = shape.headsQ, Hk = shape.headsKv, S = shape.queries, T = shape_.capacity;
  qs_ = rounded(nth(B * H * S * shape.dim), shape.scoreScale);
  ks_ = rounded(nth(B * Hk * T * shape.dim), 1), vs_ = rounded(nth(B * Hk * T * shape.dimV), 1);
  if (shape.pageSize > 0) {
    std::vector<std::int32_t> numbers(nth(B * pagesOfSequence() + kSparePages));
    std::iota(numbers.begin(), numbers.end(), 0);
    std::ranges::shuffle(numbers, std::minstd_rand(static_cast<unsigned>(seed)));
    table_.assign(numbers.begin(), numbers.end() - kSparePages);
  }
  q_ = put(qs_, shape.dtype, {B, H, S, shape.dim});
  k_ = putCache(ks_, shape.dim), v_ = putCache(vs_, shape.dimV);
  if (shape.appended > 0) newK_ = putNew(ks_, shape.dim), newV_ = putNew(vs_, shape.dimV);
  o_ = put(std::vector<float>(nth(B * H * S * shape.dimV), kNaN), shape.dtype, {B, H, S, shape.dimV});
  lse_ = put(std::vector<float>(nth(B * H * S), kNaN), DType::F32, {B, H, S});
  lengths_ = putInts(shape.lengths, {B});
  if (shape.pageSize > 0) {
    std::vector<std::int32_t> poisoned = table_;
    for (std::int64_t b = 0; b < B; ++b)
      for (std::int64_t p = 0; p < pagesOfSequence(); ++p)
        if (p < std::clamp<std::int64_t>(lengthOf(b) - shape.appended, 0, firstOf(b)) / shape.pageSize || p * shape.pageSize >= lengthOf(b))
          poisoned[nth(b * pagesOfSequence() + p)] = p % 2 == 0 ? kNoPage : -kNoPage;
    pages_ = putInts(poisoned, {B, pagesOfSequence()});
  }
  counters_ = putInts(std::vector<std::int32_t>(nth(B * Hk)), {B, Hk});
  workspace_ = put(std::vector<float>(kWorkspace / sizeof(float), kNaN), DType::F32, {kWorkspace / 4}).offset;
}

std::vector<float> DecodeData::rounded(std::size_t count, double scale) {
  std::minstd_rand engine(static_cast<unsigned>(state_ = state_ * 6364136223846793005 + 1442695040888963407));
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(engine) * static_cast<float>(scale);
  std::vector<std::byte> bytes(count * nth(sizeInBytes(shape_.dtype)));
  io::fromFloat(shape_.dtype, values.data(), bytes.data(), count);
  io::toFloat(shape_.dtype, bytes.data(), values.data(), count);
  return values;
}

std::size_t DecodeData::reserve(std::size_t bytes) {
  const std::size_t offset = (memory_.size() + kAlignment - 1) / kAlignment * kAlignment;
  memory_.resize(offset + bytes);
  return offset;
}

DecodeData::Tensor DecodeData::put(const std::vector<float>& values, DType dtype, const std::vector<std::int64_t>& shape) {
  const std::size_t offset = reserve(values.size() * nth(sizeInBytes(dtype)));
  io::fromFloat(dtype, values.data(), memory_.data() + offset, values.size());
  return {offset, TensorView(nullptr, dtype, shape)};
}

DecodeData::Tensor DecodeData::putInts(const std::vector<std::int32_t>& values, const std::vector<std::int64_t>& shape) {
  const std::size_t offset = reserve(values.size() * sizeof(std::int32_t));
  if (!values.empty()) std::memcpy(memory_.data() + offset, values.data(), values.size() * sizeof(std::int32_t));
  return {offset, TensorView(nullptr, DType::I32, shape)};
}

std::int64_t DecodeData::lengthOf(std::int64_t sequence) const {
  return std::clamp<std::int64_t>(shape_.lengths[nth(sequence)], 0, shape_.capacity);
}

std::int64_t DecodeData::firstOf(std::int64_t sequence) const {
  return shape_.window > 0 ? std::max<std::int64_t>(lengthOf(sequence) - shape_.queries + 1 - shape_.window, 0) : 0;
}

// Keys [B, Hkv, T, width] to where the cache has them; everything else of it is NaN.
std::vector<std::byte> DecodeData::cacheOf(const std::vector<float>& values, std::int64_t width, bool appended) const {
  const std::int64_t Hk = shape_.headsKv, T = shape_.capacity, P = shape_.pageSize;
  const std::int64_t blocks = P > 0 ? batch() * pagesOfSequence() + kSparePages : batch(), rows = P > 0 ? P : T;
  std::vector<float> cache(nth(blocks * Hk * rows * width), kNaN);
  for (std::int64_t b = 0; b < batch(); ++b)
    for (std::int64_t t = 0; t < lengthOf(b); ++t) {
      const bool isNew = t >= lengthOf(b) - shape_.appended;
      if (isNew ? !appended : t < firstOf(b)) continue;
      for (std::int64_t h = 0; h < Hk; ++h) {
        const std::int64_t block = P > 0 ? table_[nth(b * pagesOfSequence() + t / P)] : b, row = P > 0 ? t % P : t;
        const std::int64_t to = shape_.rowsFirst ? (block * rows + row) * Hk + h : (block * Hk + h) * rows + row;
        std::copy_n(values.begin() + ((b * Hk + h) * T + t) * width, width, cache.begin() + to * width);
      }
    }
  std::vector<std::byte> bytes(cache.size() * nth(sizeInBytes(shape_.dtype)));
  io::fromFloat(shape_.dtype, cache.data(), bytes.data(), cache.size());
  return bytes;
}

DecodeData::Tensor DecodeData::putCache(const std::vector<float>& values, std::int64_t width) {
  const std::int64_t Hk = shape_.headsKv, P = shape_.pageSize;
  const std::int64_t blocks = P > 0 ? batch() * pagesOfSequence() + kSparePages : batch(), rows = P > 0 ? P : shape_.capacity;
  const std::vector<std::byte> bytes = cacheOf(values, width, false);
  const std::size_t offset = reserve(bytes.size());
  std::ranges::copy(bytes, memory_.begin() + static_cast<std::ptrdiff_t>(offset));
  const TensorView view(nullptr, shape_.dtype,
                        shape_.rowsFirst ? std::vector{blocks, rows, Hk, width} : std::vector{blocks, Hk, rows, width});
  return {offset, shape_.rowsFirst ? view.transposed(1, 2) : view};
}

// The last keys of each sequence; NaN where it has fewer.
DecodeData::Tensor DecodeData::putNew(const std::vector<float>& values, std::int64_t width) {
  const std::int64_t Hk = shape_.headsKv, T = shape_.capacity, Sn = shape_.appended;
  std::vector<float> rows(nth(batch() * Hk * Sn * width), kNaN);
  for (std::int64_t i = 0; i < batch() * Hk * Sn; ++i) {
    const std::int64_t row = i / Sn, t = lengthOf(row / Hk) - Sn + i % Sn;
    if (t >= 0) std::copy_n(values.begin() + (row * T + t) * width, width, rows.begin() + i * width);
  }
  return put(rows, shape_.dtype, {batch(), Hk, Sn, width});
}

bool DecodeData::isCache(const Tensor& tensor, const std::vector<float>& values, std::int64_t width) const {
  return std::ranges::equal(cacheOf(values, width, true),
                            std::span(memory_).subspan(tensor.offset).first(nth(tensor.view.elements() * sizeInBytes(shape_.dtype))));
}

DecodeConfig DecodeData::config(const std::string& target) const {
  return {.dtype = shape_.dtype,
          .head_dim = shape_.dim,
          .head_dim_v = shape_.dimV,
          .rows = shape_.headsQ / shape_.headsKv * shape_.queries,
          .causal = shape_.causal,
          .page_size = shape_.pageSize,
          .window = shape_.window > 0,
          .append = shape_.appended > 0,
          .settled_cache = shape_.settled,
          .balanced = shape_.balanced,
          .target = target};
}

DecodeArgs DecodeData::at(std::byte* base) const {
  auto view = [&](const Tensor& tensor) {
    TensorView there = tensor.view;
    there.data = base + tensor.offset;
    return there;
  };
  DecodeArgs args{.q = view(q_), .k = view(k_), .v = view(v_), .o = view(o_), .lse = view(lse_), .lengths = view(lengths_)};
  if (shape_.pageSize > 0) args.pages = view(pages_);
  if (shape_.appended > 0) args.new_k = view(newK_), args.new_v = view(newV_);
  args.window = shape_.window;
  args.workspace = base + workspace_;
  args.workspace_bytes = kWorkspace;
  if (shape_.balanced) args.counters = base + counters_.offset, args.counter_bytes = counters_.view.elements() * 4;
  return args;
}

std::vector<float> DecodeData::read(const Tensor& tensor) const {
  std::vector<float> values(nth(tensor.view.elements()));
  io::toFloat(tensor.view.dtype, memory_.data() + tensor.offset, values.data(), values.size());
  return values;
}

DecodeData::Errors DecodeData::errors() const {
  const std::int64_t H = shape_.headsQ, Hk = shape_.headsKv, S = shape_.queries, T = shape_.capacity, D = shape_.dim, Dv = shape_.dimV;
  const std::vector<float> o = read(o_), lse = read(lse_);
  double difference = 0, norm = 0, worst = 0;
  if (!isCache(k_, ks_, D) || !isCache(v_, vs_, Dv)) return {std::numeric_limits<double>::infinity(), 0};
  const std::byte* counts = memory_.data() + counters_.offset;
  if (std::any_of(counts, counts + counters_.view.elements() * 4, [](std::byte b) { return b != std::byte{0}; }))
    return {std::numeric_limits<double>::infinity(), 0};
  std::vector<double> scores, sums(nth(Dv));
  for (std::int64_t row = 0; row < batch() * H * S; ++row) {
    const std::int64_t b = row / (H * S), h = row / S % H, i = row % S;
    const std::int64_t length = lengthOf(b), end = shape_.causal ? std::clamp<std::int64_t>(i + 1 + length - S, 0, length) : length;
    const std::int64_t least = shape_.window > 0 ? std::max<std::int64_t>(i + 1 + length - S - shape_.window, 0) : 0;
    const std::int64_t seen = std::max<std::int64_t>(end - least, 0), first = (b * Hk + h / (H / Hk)) * T + least;
    scores.assign(nth(seen), 0);
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t t = 0; t < seen; ++t) {
      for (std::int64_t d = 0; d < D; ++d) scores[nth(t)] += static_cast<double>(qs_[nth(row * D + d)]) * ks_[nth((first + t) * D + d)];
      largest = std::max(largest, scores[nth(t)] /= std::sqrt(static_cast<double>(D)));
    }
    std::ranges::fill(sums, 0);
    for (std::int64_t t = 0; t < seen; ++t) {
      const double weight = std::exp(scores[nth(t)] - largest);
      sum += weight;
      for (std::int64_t d = 0; d < Dv; ++d) sums[nth(d)] += weight * vs_[nth((first + t) * Dv + d)];
    }
    for (std::int64_t d = 0; d < Dv; ++d) {
      const double want = seen > 0 ? sums[nth(d)] / sum : 0, got = o[nth(row * Dv + d)];
      if (!std::isfinite(got) || (seen == 0 && got != 0)) return {std::numeric_limits<double>::infinity(), worst};
      difference += (got - want) * (got - want), norm += want * want;
    }
    const double got = lse[nth(row)];
    if (seen == 0 ? got != -std::numeric_limits<double>::infinity() : !std::isfinite(got))
      return {std::sqrt(difference), std::numeric_limits<double>::infinity()};
    if (seen > 0) worst = std::max(worst, std::abs(got - (largest + std::log(sum))));
  }
  return {norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference), worst};
}

DecodeData::Errors DecodeData::tolerance() const {
  return {shape_.dtype == DType::F32 ? 2e-6 : shape_.dtype == DType::F16 ? 1e-3 : 5e-3, 2e-6 * std::max(1.0f, shape_.scoreScale * 4)};
}

}  // namespace fattn::decode
