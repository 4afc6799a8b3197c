// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/Kernels.h"

namespace fattn::examples {

using namespace fattn::dsl;

void copy(Params& args, DType dtype, Blocks blocks) {
  MatrixArg x = matrixArg(args, "x", dtype, blocks.form), out = matrixArg(args, "out", dtype, blocks.form);
  Scalar rows = args.scalar("rows", DType::I32), columns = args.scalar("columns", DType::I32);
  Scalar row = program_id(0) * blocks.m, column = program_id(1) * blocks.n;
  Tile block = load(x.block(rows, columns, row, column, {blocks.m, blocks.n}), {0, 1});
  store(out.block(rows, columns, row, column, {blocks.m, blocks.n}), block, {0, 1});
}

void rowSums(Params& args, DType dtype, Blocks blocks) {
  MatrixArg x = matrixArg(args, "x", dtype, blocks.form), out = matrixArg(args, "out", DType::F32, Form::Strided);
  Scalar rows = args.scalar("rows", DType::I32), columns = args.scalar("columns", DType::I32);
  Scalar row = program_id(0) * blocks.m;
  BlockPtr x_ptr = x.block(rows, columns, row, 0, {blocks.m, blocks.n});
  auto [sum] = for_(0, columns, blocks.n, carry(zeros({blocks.m})),
                    [&](Scalar i, Tile sum) { return sum + reduce_sum(cast(load(advance(x_ptr, {0, i}), {0, 1}), DType::F32), 1); });
  store(make_block_ptr(out.base, {rows}, {out.row}, {row}, {blocks.m}), sum, {0});
}

void columnSums(Params& args, DType dtype, Blocks blocks) {
  MatrixArg x = matrixArg(args, "x", dtype, blocks.form), out = matrixArg(args, "out", DType::F32, Form::Strided);
  Scalar rows = args.scalar("rows", DType::I32), columns = args.scalar("columns", DType::I32);
  Scalar column = program_id(0) * blocks.n;
  BlockPtr x_ptr = x.block(rows, columns, 0, column, {blocks.m, blocks.n});
  auto [sum] = for_(0, rows, blocks.m, carry(zeros({blocks.n})),
                    [&](Scalar i, Tile sum) { return sum + reduce_sum(cast(load(advance(x_ptr, {i, 0}), {0, 1}), DType::F32), 0); });
  store(make_block_ptr(out.base, {columns}, {out.column}, {column}, {blocks.n}), sum, {0});
}

}  // namespace fattn::examples
