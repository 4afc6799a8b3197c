// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/Kernels.h"

namespace fattn::examples {

using namespace fattn::dsl;

void throughFloat8(Params& args, DType dtype, Blocks blocks) {
  MatrixArg x = inputArg(args, "x", dtype, blocks.form);
  MatrixArg e4m3 = matrixArg(args, "e4m3", DType::F32, Form::Strided), e5m2 = matrixArg(args, "e5m2", DType::F32, Form::Strided);
  Scalar rows = args.scalar("rows", DType::I32), columns = args.scalar("columns", DType::I32);
  Scalar row = program_id(0) * blocks.m, column = program_id(1) * blocks.n;
  Shape shape = {blocks.m, blocks.n};
  Tile block = load(x.block(rows, columns, row, column, shape), {0, 1});
  store(e4m3.block(rows, columns, row, column, shape), cast(cast(block, DType::F8E4M3), DType::F32), {0, 1});
  store(e5m2.block(rows, columns, row, column, shape), cast(cast(block, DType::F8E5M2), DType::F32), {0, 1});
}

}  // namespace fattn::examples
