// SPDX-License-Identifier: Apache-2.0
// Attention as one needs it: scores are capped by cap * tanh(score / cap), and fall with the distance of the key.
#include <cmath>
#include <cstdio>
#include <vector>

#include "fattn/dsl/Dsl.h"
#include "fattn/fattn.h"

using namespace fattn::dsl;
using fattn::DType, fattn::TensorView;

constexpr std::int64_t M = 32, N = 32, D = 64;  // rows and keys of a block, elements of a head

void twisted(Params& args) {  // of one head: q, k, v, o [length, D]
  const TensorForm input{.alignment = 16, .aliasing = Aliasing::None};
  TensorArg q = args.tensor("q", DType::F32, 2, input), k = args.tensor("k", DType::F32, 2, input),
            v = args.tensor("v", DType::F32, 2, input);
  TensorArg o = args.tensor("o", DType::F32, 2, {.alignment = 16});
  Scalar cap = args.scalar("cap", DType::F32), slope = args.scalar("slope", DType::F32);
  Scalar length = cast(k.size[0], DType::I32), first = program_id(0) * M;
  Tile queries = load(q.block({first, 0}, {M, D}), {0}), row = expand(arange(0, M) + first, 1);

  auto [top, sum, out] = for_(0, min(length, first + M), N, carry(full({M}, -1e30, DType::F32), zeros({M}), zeros({M, D})),
                              [&](Scalar n, Tile top, Tile sum, Tile out) {
                                Tile column = expand(arange(0, N) + n, 0), visible = (column <= row) & (column < length);
                                Tile scores = dot(queries, trans(load(k.block({n, 0}, {N, D}), {0}))) * 0.125;
                                scores = tanh(scores / cap) * cap - cast(row - column, DType::F32) * slope;  // the twist
                                Tile next = max(top, reduce_max(where(visible, scores, -1e30), 1)), fade = exp(top - next);
                                Tile weights = where(visible, exp(scores - expand(next, 1)), 0);
                                return carry(next, sum * fade + reduce_sum(weights, 1),
                                             dot(weights, load(v.block({n, 0}, {N, D}), {0}), out * expand(fade, 1)));
                              });
  store(o.block({first, 0}, {M, D}), out / expand(sum, 1), {0});
}

int main() try {
  const std::int64_t length = 75;
  std::vector<float> q(length * D), k(q), v(q), o(q);
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = 3 * std::sin(0.7f * i), k[i] = 3 * std::cos(0.3f * i), v[i] = std::sin(0.1f * i);
  auto view = [&](std::vector<float>& x) { return TensorView(x.data(), DType::F32, {length, D}); };
  const TensorView qv = view(q), kv = view(k), vv = view(v), ov = view(o);
  fattn::TileKernel kernel = fattn::compile(trace("twisted", twisted), {.target = "host"});
  kernel.launch(fattn::Stream{}, {(length + M - 1) / M}, {{"q", qv}, {"k", kv}, {"v", vv}, {"o", ov}, {"cap", 5.0f}, {"slope", 0.1f}});

  double sum = 0, want = 0;  // the last row's first element, by the definition
  for (std::int64_t j = 0; j < length; ++j) {
    double score = 0;
    for (std::int64_t d = 0; d < D; ++d) score += 0.125 * q[(length - 1) * D + d] * k[j * D + d];
    const double weight = std::exp(5 * std::tanh(score / 5) - 0.1 * static_cast<double>(length - 1 - j));
    sum += weight, want += weight * v[j * D];
  }
  std::printf("%.6f, by the definition %.6f\n", o[(length - 1) * D], want / sum);
  return std::abs(o[(length - 1) * D] - want / sum) < 1e-5 ? 0 : 1;
} catch (const fattn::Error& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
