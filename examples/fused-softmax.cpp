// SPDX-License-Identifier: Apache-2.0
// out = softmax(scale * x + bias) over rows of up to 512 columns, read once and written once.
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "fattn/dsl/Dsl.h"
#include "fattn/fattn.h"

using namespace fattn::dsl;
using fattn::DType, fattn::TensorView;

void biased_softmax(Params& args) {
  // A tensor is its pointer, its extents and its strides; the launch takes them from a view.
  TensorArg x = args.tensor("x", DType::F32, 2), bias = args.tensor("bias", DType::F32, 1), out = args.tensor("out", DType::F32, 2);
  Scalar scale = args.scalar("scale", DType::F32), row = program_id(0) * 4;
  Tile inside = expand(cast(arange(0, 512), DType::I64) < x.size[1], 0);
  Tile scores = load(x.block({row, 0}, {4, 512}), {0, 1}) * scale + expand(load(bias.block({0}, {512}), {0}), 0);
  scores = where(inside, scores, -std::numeric_limits<float>::infinity());
  Tile weights = exp(scores - expand(reduce_max(scores, 1), 1));
  store(out.block({row, 0}, {4, 512}), weights / expand(reduce_sum(weights, 1), 1), {0, 1});
}

int main() try {
  const std::int64_t rows = 10, columns = 300;
  std::vector<float> x(rows * columns), bias(columns), out(rows * columns);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.1f * static_cast<float>(i));
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = std::cos(0.3f * static_cast<float>(i));

  fattn::TileKernel kernel = fattn::compile(trace("biased_softmax", biased_softmax), {.target = "host"});
  kernel.launch(fattn::Stream{}, {(rows + 3) / 4},
                {{"x", TensorView(x.data(), DType::F32, {rows, columns})},
                 {"bias", TensorView(bias.data(), DType::F32, {columns})},
                 {"out", TensorView(out.data(), DType::F32, {rows, columns})},
                 {"scale", 2.0f}});

  double sum = 0, want = 0;  // of row 1: all weights, and the first one's inverse
  for (std::int64_t j = 0; j < columns; ++j) sum += out[columns + j];
  for (std::int64_t j = 0; j < columns; ++j) want += std::exp(2.0 * (x[columns + j] - x[columns]) + bias[j] - bias[0]);
  std::printf("a row's sum is %.6f, its first weight %.6f of %.6f\n", sum, out[columns], 1 / want);
  return std::abs(sum - 1) < 1e-5 && std::abs(out[columns] * want - 1) < 1e-4 ? 0 : 1;
} catch (const fattn::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
