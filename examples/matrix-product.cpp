// SPDX-License-Identifier: Apache-2.0
// out = max(a b, 0), a program a block of out; and the library's call that does the like.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "fattn/dsl/Dsl.h"
#include "fattn/fattn.h"

using namespace fattn::dsl;
using fattn::DType, fattn::TensorView;

constexpr std::int64_t M = 64, N = 64, K = 32;  // a block of out, and the depth of a step

void product(Params& args) {
  const TensorForm input{.alignment = 16, .aliasing = Aliasing::None};  // nothing else leads to this memory: loads may run ahead
  TensorArg a = args.tensor("a", DType::F32, 2, input), b = args.tensor("b", DType::F32, 2, input);
  TensorArg out = args.tensor("out", DType::F32, 2, {.alignment = 16});
  Scalar row = program_id(0) * M, column = program_id(1) * N, depth = cast(a.size[1], DType::I32);
  auto [sums] = for_(0, depth, K, carry(zeros({M, N})), [&](Scalar k, Tile sums) {
    return carry(dot(load(a.block({row, k}, {M, K}), {0, 1}), load(b.block({k, column}, {K, N}), {0, 1}), sums));
  });
  store(out.block({row, column}, {M, N}), max(sums, 0), {0, 1});
}

int main() try {
  const std::int64_t m = 200, n = 100, k = 80;
  std::vector<float> a(m * k), b(k * n), out(m * n), library(m * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::sin(0.37f * static_cast<float>(i));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::cos(0.11f * static_cast<float>(i));
  const TensorView left(a.data(), DType::F32, {m, k}), right(b.data(), DType::F32, {k, n});

  fattn::TileKernel kernel = fattn::compile(trace("product", product), {.target = "host"});
  kernel.launch(fattn::Stream{}, {(m + M - 1) / M, (n + N - 1) / N},
                {{"a", left}, {"b", right}, {"out", TensorView(out.data(), DType::F32, {m, n})}});
  fattn::gemm(fattn::Stream{}, {.a = left, .b = right, .out = TensorView(library.data(), DType::F32, {m, n})}, "host");

  float difference = 0;
  for (std::size_t i = 0; i < out.size(); ++i) difference = std::max(difference, std::abs(out[i] - std::max(library[i], 0.0f)));
  std::printf("the largest difference from the library's product is %g\n", static_cast<double>(difference));
  return difference < 1e-4f ? 0 : 1;
} catch (const fattn::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
