// SPDX-License-Identifier: Apache-2.0
// An engine outside the repository: attention through the installed library, compared with a plain double-precision loop.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>
#include <vector>

#include "fattn/fattn.h"

namespace {

struct Problem {
  std::int64_t batch, heads, kvHeads, rows, keys, dim, dimV;
  bool causal;
};

std::vector<float> values(std::int64_t count, double step) {
  std::vector<float> result(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<float>(std::sin(step * static_cast<double>(i) + step));
  return result;
}

// One row of the result, and its log-sum-exp, from the definition.
double referenceRow(const Problem& p, const float* q, const float* k, const float* v, std::int64_t row, std::vector<double>& out) {
  std::int64_t visible = p.causal ? std::clamp<std::int64_t>(row + 1 + p.keys - p.rows, 0, p.keys) : p.keys;
  std::vector<double> weight(static_cast<std::size_t>(visible));
  double sum = 0;
  for (std::int64_t j = 0; j < visible; ++j) {
    double score = 0;
    for (std::int64_t d = 0; d < p.dim; ++d) score += static_cast<double>(q[d]) * static_cast<double>(k[j * p.dim + d]);
    sum += weight[static_cast<std::size_t>(j)] = std::exp(score / std::sqrt(static_cast<double>(p.dim)));
  }
  std::ranges::fill(out, 0.0);
  for (std::int64_t j = 0; j < visible; ++j)
    for (std::int64_t d = 0; d < p.dimV; ++d)
      out[static_cast<std::size_t>(d)] += weight[static_cast<std::size_t>(j)] / sum * static_cast<double>(v[j * p.dimV + d]);
  return visible == 0 ? -std::numeric_limits<double>::infinity() : std::log(sum);
}

// Relative Frobenius error of the result; the largest error of lse decides too.
bool check(const Problem& p) {
  auto q = values(p.batch * p.heads * p.rows * p.dim, 0.37), k = values(p.batch * p.kvHeads * p.keys * p.dim, 0.53),
       v = values(p.batch * p.kvHeads * p.keys * p.dimV, 0.11);
  std::vector<float> o(static_cast<std::size_t>(p.batch * p.heads * p.rows * p.dimV), NAN),
      lse(static_cast<std::size_t>(p.batch * p.heads * p.rows), NAN);
  fattn::Kernel kernel = fattn::compile({.dtype = fattn::DType::F32, .head_dim = p.dim, .head_dim_v = p.dimV, .causal = p.causal});
  kernel.launch({}, {.q = {q.data(), fattn::DType::F32, {p.batch, p.heads, p.rows, p.dim}},
                     .k = {k.data(), fattn::DType::F32, {p.batch, p.kvHeads, p.keys, p.dim}},
                     .v = {v.data(), fattn::DType::F32, {p.batch, p.kvHeads, p.keys, p.dimV}},
                     .o = {o.data(), fattn::DType::F32, {p.batch, p.heads, p.rows, p.dimV}},
                     .lse = fattn::TensorView(lse.data(), fattn::DType::F32, {p.batch, p.heads, p.rows})});
  double error = 0, norm = 0, lseError = 0;
  std::vector<double> row(static_cast<std::size_t>(p.dimV));
  for (std::int64_t bh = 0; bh < p.batch * p.heads; ++bh) {
    std::int64_t kv = bh / p.heads * p.kvHeads + bh % p.heads / (p.heads / p.kvHeads);
    for (std::int64_t i = 0; i < p.rows; ++i) {
      std::int64_t at = bh * p.rows + i;
      double expected = referenceRow(p, &q[static_cast<std::size_t>(at * p.dim)], &k[static_cast<std::size_t>(kv * p.keys * p.dim)],
                                     &v[static_cast<std::size_t>(kv * p.keys * p.dimV)], i, row);
      double got = static_cast<double>(lse[static_cast<std::size_t>(at)]);
      if (got != expected) lseError = std::max(lseError, std::abs(got - expected));
      for (std::int64_t d = 0; d < p.dimV; ++d) {
        double want = row[static_cast<std::size_t>(d)], have = static_cast<double>(o[static_cast<std::size_t>(at * p.dimV + d)]);
        error += (have - want) * (have - want);
        norm += want * want;
      }
    }
  }
  double relative = norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
  bool good = relative < 2e-6 && lseError < 1e-5;  // a NaN is not below anything
  std::printf("%s: relative error %.2e, largest error of lse %.2e\n", good ? "good" : "BAD", relative, lseError);
  return good;
}

}  // namespace

int main() {
  bool good = check({2, 4, 2, 70, 131, 64, 64, false}) & check({1, 2, 2, 65, 65, 40, 72, true}) & check({1, 1, 1, 9, 4, 8, 8, true});
  auto unsupported = fattn::try_compile({.dtype = fattn::DType::F32, .head_dim = 60});
  good &= !unsupported && std::string_view(unsupported.error().constraint()).starts_with("head_dim is 60");
  good &= fattn::version() == "0.1.0";
  std::puts(good ? "the installed library works" : "the installed library does NOT work");
  return good ? 0 : 1;
}
