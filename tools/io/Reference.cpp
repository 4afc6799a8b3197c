// SPDX-License-Identifier: Apache-2.0
// The float64 reference. Plain, but blocked four rows by four columns, whose sums stay in vector registers: a check must not cost more
// patience than the kernel.
#include "tools/io/Reference.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "tools/io/Convert.h"
#include "tools/io/Parallel.h"
#include "tools/io/Random.h"

namespace fattn::io {
namespace {

constexpr std::int64_t kBlock = 4;
using Four = double __attribute__((vector_size(kBlock * sizeof(double))));
/// What one exponential costs, in multiply-adds' worth of operations.
constexpr double kExpCost = 40;
/// What converting one element of K or V to double costs.
constexpr double kConvertCost = 8;

std::int64_t roundUp(std::int64_t n) { return (n + kBlock - 1) / kBlock * kBlock; }

/// One row of a view as float.
void loadRow(const View4& view, std::int64_t b, std::int64_t h, std::int64_t s, float* out) {
  if (view.strides[3] == 1) return toFloat(view.dtype, view.at(b, h, s, 0), out, static_cast<std::size_t>(view.shape[3]));
  for (std::int64_t d = 0; d < view.shape[3]; ++d) out[d] = loadFloat(view.dtype, view.at(b, h, s, d));
}

/// K transposed and V, of one batch and key/value head, in double, padded with zeros to whole blocks.
struct KeysValues {
  std::int64_t ldk = 0, ldv = 0;
  std::vector<double> kt;  ///< dim x ldk
  std::vector<double> v;   ///< lenKv x ldv
};

void load(const AttentionShape& shape, const View4& k, const View4& v, std::int64_t b, std::int64_t h, int threads, KeysValues& out) {
  out.ldk = roundUp(shape.lenKv);
  out.ldv = roundUp(shape.dimV);
  out.kt.assign(static_cast<std::size_t>(shape.dim * out.ldk), 0.0);
  out.v.assign(static_cast<std::size_t>(shape.lenKv * out.ldv), 0.0);
  constexpr std::int64_t kKeys = 64;
  parallelFor((shape.lenKv + kKeys - 1) / kKeys, threads, [&](std::int64_t chunk) {
    std::vector<float> row(static_cast<std::size_t>(std::max(shape.dim, shape.dimV)));
    for (std::int64_t j = chunk * kKeys; j < std::min(shape.lenKv, (chunk + 1) * kKeys); ++j) {
      loadRow(k, b, h, j, row.data());
      for (std::int64_t d = 0; d < shape.dim; ++d) out.kt[static_cast<std::size_t>(d * out.ldk + j)] = row[static_cast<std::size_t>(d)];
      loadRow(v, b, h, j, row.data());
      for (std::int64_t d = 0; d < shape.dimV; ++d) out.v[static_cast<std::size_t>(j * out.ldv + d)] = row[static_cast<std::size_t>(d)];
    }
  });
}

/// Four rows of one key/value head at once. `q` is dim x 4, `p` has 4 rows of ldk.
class RowBlock {
 public:
  RowBlock(const AttentionShape& shape, double scale, const KeysValues& kv)
      : shape_(shape),
        scale_(scale),
        kv_(kv),
        q_(static_cast<std::size_t>(shape.dim * kBlock)),
        p_(static_cast<std::size_t>(kBlock * kv.ldk)),
        row_(static_cast<std::size_t>(shape.dim)) {}

  /// rows[first .. first + count) into the result.
  void compute(const View4& q, const std::vector<std::int64_t>& rows, std::int64_t first, std::int64_t count, Reference& result) {
    std::int64_t visible[kBlock] = {};
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t row = rows[static_cast<std::size_t>(first + r)], head = row / shape_.lenQ, i = row % shape_.lenQ;
      visible[r] = shape_.visible(i);
      loadRow(q, head / shape_.headsQ, head % shape_.headsQ, i, row_.data());
      for (std::int64_t d = 0; d < shape_.dim; ++d) q_[static_cast<std::size_t>(d * kBlock + r)] = row_[static_cast<std::size_t>(d)];
    }
    scores(*std::max_element(visible, visible + count));
    std::int64_t common = visible[0];
    for (std::int64_t r = 0; r < count; ++r) {
      common = std::min(common, visible[r]);
      result.lse[static_cast<std::size_t>(first + r)] = weights(r, visible[r]);
    }
    for (std::int64_t d = 0; d < shape_.dimV; d += kBlock) values(d, common, visible, count, first, result);
  }

 private:
  void scores(std::int64_t keys) {
    for (std::int64_t j = 0; j < keys; j += kBlock) {
      Four sum[kBlock] = {};
      for (std::int64_t d = 0; d < shape_.dim; ++d) {
        const double* q = &q_[static_cast<std::size_t>(d * kBlock)];
        Four k;
        std::memcpy(&k, &kv_.kt[static_cast<std::size_t>(d * kv_.ldk + j)], sizeof(k));
        for (int r = 0; r < kBlock; ++r) sum[r] += q[r] * k;
      }
      for (int r = 0; r < kBlock; ++r) {
        sum[r] *= scale_;
        std::memcpy(&p_[static_cast<std::size_t>(r * kv_.ldk + j)], &sum[r], sizeof(Four));
      }
    }
  }

  /// Scores of a row to normalized weights; returns its log-sum-exp. The maximum ignores NaN, which then spreads by the exponential.
  double weights(std::int64_t r, std::int64_t visible) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double* p = p_.data() + r * kv_.ldk;  // empty where there are no keys
    double maximum = -kInfinity, sum = 0;
    for (std::int64_t j = 0; j < visible; ++j) maximum = p[j] > maximum ? p[j] : maximum;
    for (std::int64_t j = 0; j < visible; ++j) sum += p[j] = std::exp(p[j] - maximum);
    for (std::int64_t j = 0; j < visible; ++j) p[j] /= sum;
    return visible == 0 ? -kInfinity : maximum + std::log(sum);
  }

  /// Columns d .. d + 3 of the output: the keys all rows see together, then each row's own rest.
  void values(std::int64_t d, std::int64_t common, const std::int64_t* visible, std::int64_t count, std::int64_t first, Reference& result) {
    Four sum[kBlock] = {};
    const double* p = p_.data();
    for (std::int64_t j = 0; j < common; ++j) {
      Four v;
      std::memcpy(&v, &kv_.v[static_cast<std::size_t>(j * kv_.ldv + d)], sizeof(v));
      for (int r = 0; r < kBlock; ++r) sum[r] += p[r * kv_.ldk + j] * v;
    }
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t j = common; j < visible[r]; ++j)
        for (int c = 0; c < kBlock; ++c) sum[r][c] += p[r * kv_.ldk + j] * kv_.v[static_cast<std::size_t>(j * kv_.ldv + d + c)];
      for (std::int64_t c = 0; c < std::min(kBlock, shape_.dimV - d); ++c)
        result.o[static_cast<std::size_t>((first + r) * shape_.dimV + d + c)] = sum[r][c];
    }
  }

  const AttentionShape& shape_;
  double scale_;
  const KeysValues& kv_;
  std::vector<double> q_, p_;
  std::vector<float> row_;
};

double rowCost(const AttentionShape& shape) {
  const double pairs = static_cast<double>(shape.pairsPerHead()) / static_cast<double>(std::max<std::int64_t>(shape.lenQ, 1));
  return pairs * (2.0 * static_cast<double>(shape.dim + shape.dimV) + kExpCost) + static_cast<double>(shape.dim);
}

}  // namespace

std::int64_t AttentionShape::pairsPerHead() const {
  if (!causal) return lenQ * lenKv;
  // Rows from lenQ - lenKv on see 1, 2, ... keys; the first of them sees more where there are more keys than rows.
  const std::int64_t seeing = std::min(lenQ, lenKv);
  return seeing * (lenKv - seeing) + seeing * (seeing + 1) / 2;
}

std::vector<std::int64_t> chooseRows(const AttentionShape& shape, std::uint64_t seed, double budget) {
  if (shape.rows() == 0) return {};
  const double loadCost = std::max(1.0, kConvertCost * static_cast<double>(shape.lenKv * (shape.dim + shape.dimV)));
  const double perRow = rowCost(shape);
  const double everything = loadCost * static_cast<double>(shape.batch * shape.headsKv) + perRow * static_cast<double>(shape.rows());
  std::vector<std::int64_t> rows;
  if (everything <= budget) {
    rows.resize(static_cast<std::size_t>(shape.rows()));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
    return rows;
  }
  const std::int64_t heads = shape.batch * shape.headsQ;
  const std::int64_t sampledHeads =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(budget / 4 / loadCost), 1, std::min<std::int64_t>(heads, 64));
  const std::int64_t perHead = std::clamp<std::int64_t>(static_cast<std::int64_t>(budget / 2 / perRow / static_cast<double>(sampledHeads)),
                                                        std::min<std::int64_t>(2, shape.lenQ), shape.lenQ);
  SplitMix64 random(seed);
  std::set<std::int64_t> chosenHeads, chosen;
  while (static_cast<std::int64_t>(chosenHeads.size()) < sampledHeads) chosenHeads.insert(random.below(heads));
  for (std::int64_t head : chosenHeads) {
    chosen.insert(head * shape.lenQ);
    chosen.insert(head * shape.lenQ + shape.lenQ - 1);
    for (std::int64_t n = 2; n < perHead; ++n) chosen.insert(head * shape.lenQ + random.below(shape.lenQ));
  }
  return {chosen.begin(), chosen.end()};
}

Reference attentionReference(const AttentionShape& shape, double scale, const View4& q, const View4& k, const View4& v,
                             const std::vector<std::int64_t>& rows, int threads) {
  Reference result;
  result.o.assign(rows.size() * static_cast<std::size_t>(shape.dimV), 0.0);
  result.lse.assign(rows.size(), 0.0);
  // Runs of rows that share a key/value head; the rows are ascending, and query heads of one key/value head are neighbours.
  const auto group = [&](std::size_t i) { return rows[i] / shape.lenQ / (shape.headsQ / shape.headsKv); };
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (i == 0 || group(i) != group(i - 1)) starts.push_back(i);
  starts.push_back(rows.size());

  const std::int64_t groups = static_cast<std::int64_t>(starts.size()) - 1;
  const bool manyGroups = groups >= 8;  // then a group a thread, else a group's rows are shared
  parallelFor(groups, manyGroups ? threads : 1, [&](std::int64_t g) {
    const std::int64_t begin = static_cast<std::int64_t>(starts[static_cast<std::size_t>(g)]);
    const std::int64_t count = static_cast<std::int64_t>(starts[static_cast<std::size_t>(g) + 1]) - begin, inner = manyGroups ? 1 : threads;
    const std::int64_t head = group(static_cast<std::size_t>(begin));
    KeysValues kv;
    load(shape, k, v, head / shape.headsKv, head % shape.headsKv, static_cast<int>(inner), kv);
    constexpr std::int64_t kRowsPerTask = 32;
    parallelFor((count + kRowsPerTask - 1) / kRowsPerTask, static_cast<int>(inner), [&](std::int64_t task) {
      RowBlock block(shape, scale, kv);
      const std::int64_t end = std::min(count, (task + 1) * kRowsPerTask);
      for (std::int64_t r = task * kRowsPerTask; r < end; r += kBlock) block.compute(q, rows, begin + r, std::min(kBlock, end - r), result);
    });
  });
  return result;
}

}  // namespace fattn::io
