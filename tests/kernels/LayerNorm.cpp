// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/Kernels.h"

namespace fattn::examples {

using namespace fattn::dsl;

void layerNorm(Params& args, DType dtype, Blocks blocks) {
  Ptr x = args.ptr("x", dtype), gamma = args.ptr("gamma", dtype), beta = args.ptr("beta", dtype), out = args.ptr("out", dtype);
  Ptr mean_out = args.ptr("mean", DType::F32), rstd_out = args.ptr("rstd", DType::F32);
  Scalar rows = args.scalar("rows", DType::I32), columns = args.scalar("columns", DType::I32);
  Scalar x_row = args.scalar("x_row", DType::I64), x_column = args.scalar("x_column", DType::I64);
  Scalar out_row = args.scalar("out_row", DType::I64), out_column = args.scalar("out_column", DType::I64);
  Scalar eps = args.scalar("eps", DType::F32);

  Scalar row = program_id(0) * blocks.m;
  BlockPtr x_ptr = make_block_ptr(x, {rows, columns}, {x_row, x_column}, {row, 0}, {blocks.m, blocks.n});
  BlockPtr out_ptr = make_block_ptr(out, {rows, columns}, {out_row, out_column}, {row, 0}, {blocks.m, blocks.n});
  auto block = [&](Scalar i) { return cast(load(advance(x_ptr, {0, i}), {0, 1}), DType::F32); };
  auto inside = [&](Scalar i) { return arange(0, blocks.n) + i < columns; };
  Scalar count = cast(columns, DType::F32);
  Tile nothing = zeros({blocks.m});

  auto [sum] = for_(0, columns, blocks.n, carry(nothing), [&](Scalar i, Tile sum) { return sum + reduce_sum(block(i), 1); });
  Tile mean = sum / count;

  // In a pass of its own: the difference of two large sums would lose what a small variance is made of.
  auto [squares] = for_(0, columns, blocks.n, carry(nothing), [&](Scalar i, Tile squares) {
    Tile centered = where(expand(inside(i), 0), block(i) - expand(mean, 1), 0);
    return squares + reduce_sum(centered * centered, 1);
  });
  Tile rstd = rsqrt(squares / count + eps);

  Tile index = arange(0, blocks.m) + row;
  store(mean_out + index, mean, index < rows);
  store(rstd_out + index, rstd, index < rows);
  for_(0, columns, blocks.n, [&](Scalar i) {
    Tile column = arange(0, blocks.n) + i;
    Tile g = cast(load(gamma + column, inside(i)), DType::F32), b = cast(load(beta + column, inside(i)), DType::F32);
    Tile y = (block(i) - expand(mean, 1)) * expand(rstd, 1) * expand(g, 0) + expand(b, 0);
    store(advance(out_ptr, {0, i}), cast(y, dtype), {0, 1});
  });
}

}  // namespace fattn::examples
