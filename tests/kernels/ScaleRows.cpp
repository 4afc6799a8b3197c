// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/Kernels.h"

namespace fattn::examples {

using namespace fattn::dsl;

void scaleRows(Params& args, DType dtype, Blocks blocks) {
  MatrixArg x = matrixArg(args, "x", dtype, blocks.form);
  Scalar rows = args.scalar("rows", DType::I32), columns = args.scalar("columns", DType::I32), eps = args.scalar("eps", DType::F32);
  BlockPtr x_ptr = x.block(rows, columns, program_id(0) * blocks.m, 0, {blocks.m, blocks.n});
  auto block = [&](Scalar i) { return cast(load(advance(x_ptr, {0, i}), {0, 1}), DType::F32); };

  auto [squares] = for_(0, columns, blocks.n, carry(zeros({blocks.m})), [&](Scalar i, Tile squares) {
    Tile y = block(i);
    return squares + reduce_sum(y * y, 1);
  });
  Tile scale = expand(rsqrt(squares / cast(columns, DType::F32) + eps), 1);
  for_(0, columns, blocks.n, [&](Scalar i) { store(advance(x_ptr, {0, i}), cast(block(i) * scale, dtype), {0, 1}); });
}

}  // namespace fattn::examples
