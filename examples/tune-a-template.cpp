// SPDX-License-Identifier: Apache-2.0
// A kernel that leaves its block sizes open, and the search for the best ones. Run it twice: the second process finds them on disk.
#include <cstdio>
#include <numeric>
#include <vector>

#include "fattn/dsl/Dsl.h"
#include "fattn/fattn.h"

using namespace fattn::dsl;
using fattn::DType, fattn::TileConfig, fattn::Parameters, fattn::Machine, fattn::Operand;

fattn::KernelTemplate rowSums() {
  fattn::KernelTemplate sums{.name = "row_sums", .parameters = {{"dtype", "f32"}}, .extents = {"rows", "columns"}, .typical = {1024, 1024}};
  sums.program = [](Params& args, const Parameters& parameters, const TileConfig& tile) {
    const std::int64_t m = tile.block_m, n = tile.block_n;
    TensorArg x = args.tensor("x", parameters.dtype("dtype"), 2), out = args.tensor("out", DType::F32, 1);
    Scalar row = program_id(0) * m, columns = cast(x.size[1], DType::I32);
    auto [sum] = for_(0, columns, n, carry(zeros({m})),
                      [&](Scalar i, Tile sum) { return sum + reduce_sum(cast(load(x.block({row, i}, {m, n}), {0, 1}), DType::F32), 1); });
    store(out.block({row}, {m}), sum, {0});
  };
  sums.grid = [](const Parameters&, const TileConfig& tile, auto extents) {
    return fattn::Grid{(extents[0] + tile.block_m - 1) / tile.block_m};
  };
  sums.tile = [](const Parameters&, const Machine&) { return TileConfig{.block_m = 1, .block_n = 16}; };  // right everywhere
  sums.space = [](const Parameters&, const Machine&) {
    std::vector<TileConfig> space;
    for (int m : {1, 4, 16})
      for (int n : {16, 64, 256}) space.push_back({.block_m = m, .block_n = n});
    return space;
  };
  sums.operands = [](const Parameters& parameters, auto extents) {
    return std::vector{Operand::input("x", parameters.dtype("dtype"), {extents[0], extents[1]}),
                       Operand::output("out", DType::F32, {extents[0]})};
  };
  return sums;
}

int main() try {
  const fattn::KernelTemplate sums = rowSums();
  const std::vector<std::vector<std::int64_t>> shapes = {{512, 4096}};
  std::printf("before: %s\n", fattn::explain(sums, {}, {.target = "host", .extents = shapes[0]}).c_str());
  for (const fattn::Tuned& tuned : fattn::tune(sums, {}, shapes, {.target = "host", .seconds = 5}))
    std::printf("tuned:  %s is %.1f times as fast as the default\n", tuned.tile ? tuned.tile->toString().c_str() : "nothing", tuned.gain);

  fattn::TemplateKernel kernel = fattn::compile(sums, {}, {.target = "host", .extents = shapes[0]});
  std::vector<float> x(512 * 4096, 0.5f), out(512);
  kernel.launch(fattn::Stream{}, {512, 4096},
                {{"x", fattn::TensorView(x.data(), DType::F32, {512, 4096})}, {"out", fattn::TensorView(out.data(), DType::F32, {512})}});
  std::printf("after:  %s, a sum of %g\n", kernel.info().tile.toString().c_str(), out[511]);
  return out[511] == 2048 ? 0 : 1;
} catch (const fattn::Error& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
