// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/Kernels.h"

namespace fattn::examples {

using namespace fattn::dsl;

void rowSoftmax(Params& args, DType dtype, Blocks blocks) {
  MatrixArg x = inputArg(args, "x", dtype, blocks.form), out = matrixArg(args, "out", dtype, blocks.form);
  Scalar rows = args.scalar("rows", DType::I32), columns = args.scalar("columns", DType::I32);
  constexpr float kLog2E = 1.4426950408889634F;

  Scalar row = program_id(0) * blocks.m;
  BlockPtr x_ptr = x.block(rows, columns, row, 0, {blocks.m, blocks.n});
  BlockPtr out_ptr = out.block(rows, columns, row, 0, {blocks.m, blocks.n});
  auto block = [&](Scalar i) { return cast(load(advance(x_ptr, {0, i}), {0, 1}, -infinity), DType::F32) * kLog2E; };

  // Rows beyond the array are all -infinity and compute NaN, which is not stored.
  auto [largest, sum] =
      for_(0, columns, blocks.n, carry(full({blocks.m}, -infinity, DType::F32), zeros({blocks.m})), [&](Scalar i, Tile largest, Tile sum) {
        Tile y = block(i);
        Tile next = max(largest, reduce_max(y, 1));
        Tile scaled = sum * exp2(largest - next);
        return carry(next, scaled + reduce_sum(exp2(y - expand(next, 1)), 1));
      });

  Tile scale = expand(rcp(sum), 1);
  for_(0, columns, blocks.n, [&](Scalar i) {
    Tile y = exp2(block(i) - expand(largest, 1)) * scale;
    store(advance(out_ptr, {0, i}), cast(y, dtype), {0, 1});
  });
}

}  // namespace fattn::examples
