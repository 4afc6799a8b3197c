// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/Kernels.h"

namespace fattn::examples {

using namespace fattn::dsl;

void layerNorm(Params& args, DType dtype, Blocks blocks) {
  MatrixArg x = inputArg(args, "x", dtype, blocks.form), gamma = inputArg(args, "gamma", dtype, blocks.form);
  MatrixArg beta = inputArg(args, "beta", dtype, blocks.form), out = matrixArg(args, "out", dtype, blocks.form);
  MatrixArg mean_out = matrixArg(args, "mean", DType::F32, Form::Strided), rstd_out = matrixArg(args, "rstd", DType::F32, Form::Strided);
  Scalar rows = args.scalar("rows", DType::I32), columns = args.scalar("columns", DType::I32);
  Scalar eps = args.scalar("eps", DType::F32);

  Scalar row = program_id(0) * blocks.m;
  BlockPtr x_ptr = x.block(rows, columns, row, 0, {blocks.m, blocks.n});
  BlockPtr out_ptr = out.block(rows, columns, row, 0, {blocks.m, blocks.n});
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
  store(mean_out.base + index, mean, index < rows);
  store(rstd_out.base + index, rstd, index < rows);
  for_(0, columns, blocks.n, [&](Scalar i) {
    Tile column = arange(0, blocks.n) + i;
    Tile g = cast(load(gamma.base + column, inside(i)), DType::F32), b = cast(load(beta.base + column, inside(i)), DType::F32);
    Tile y = (block(i) - expand(mean, 1)) * expand(rstd, 1) * expand(g, 0) + expand(b, 0);
    store(advance(out_ptr, {0, i}), cast(y, dtype), {0, 1});
  });
}

}  // namespace fattn::examples
