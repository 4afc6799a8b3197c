// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/Kernels.h"

namespace fattn::examples {

using namespace fattn::dsl;

namespace {

Tile productOf(const BlockPtr& a, const BlockPtr& b, const Scalar& depth, Blocks blocks) {
  auto [acc] = for_(0, depth, blocks.k, carry(zeros({blocks.m, blocks.n})), [&](Scalar i, Tile acc) {
    Tile left = load(advance(a, {0, i}), {0, 1});
    Tile right = load(advance(b, {i, 0}), {0, 1});
    return carry(dot(left, right, acc));
  });
  return acc;
}

/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
Tile gelu(const Tile& x) {
  Tile inner = (x + x * x * x * 0.044715) * 0.7978845608028654;
  return x * 0.5 * (tanh(inner) + 1);
}

}  // namespace

void gemm(Params& args, DType dtype, Blocks blocks) {
  MatrixArg a = inputArg(args, "a", dtype, blocks.form), b = inputArg(args, "b", dtype, blocks.form);
  MatrixArg bias = inputArg(args, "bias", dtype, blocks.form), residual = inputArg(args, "residual", dtype, blocks.form);
  MatrixArg out = matrixArg(args, "out", dtype, blocks.form);
  Scalar m = args.scalar("m", DType::I32), n = args.scalar("n", DType::I32), k = args.scalar("k", DType::I32);

  Scalar row = program_id(0) * blocks.m, column = program_id(1) * blocks.n;
  BlockPtr a_ptr = a.block(m, k, row, 0, {blocks.m, blocks.k}), b_ptr = b.block(k, n, 0, column, {blocks.k, blocks.n});

  Tile acc = productOf(a_ptr, b_ptr, k, blocks);

  BlockPtr bias_ptr = make_block_ptr(bias.base, {n}, {bias.column}, {column}, {blocks.n});
  BlockPtr residual_ptr = residual.block(m, n, row, column, {blocks.m, blocks.n});
  Tile x = acc + expand(cast(load(bias_ptr, {0}), DType::F32), 0);
  Tile y = gelu(x) + cast(load(residual_ptr, {0, 1}), DType::F32);
  store(out.block(m, n, row, column, {blocks.m, blocks.n}), cast(y, dtype), {0, 1});
}

void matrixProduct(Params& args, DType dtype, Blocks blocks) {
  MatrixArg a = inputArg(args, "a", dtype, blocks.form), b = inputArg(args, "b", dtype, blocks.form);
  MatrixArg out = matrixArg(args, "out", DType::F32, Form::Strided);
  Scalar m = args.scalar("m", DType::I32), n = args.scalar("n", DType::I32), k = args.scalar("k", DType::I32);
  Scalar row = program_id(0) * blocks.m, column = program_id(1) * blocks.n;
  BlockPtr a_ptr = a.block(m, k, row, 0, {blocks.m, blocks.k}), b_ptr = b.block(k, n, 0, column, {blocks.k, blocks.n});
  store(out.block(m, n, row, column, {blocks.m, blocks.n}), productOf(a_ptr, b_ptr, k, blocks), {0, 1});
}

}  // namespace fattn::examples
