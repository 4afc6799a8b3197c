// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/Kernels.h"

namespace fattn::examples {

using namespace fattn::dsl;

namespace {

/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
Tile gelu(const Tile& x) {
  Tile inner = (x + x * x * x * 0.044715) * 0.7978845608028654;
  return x * 0.5 * (tanh(inner) + 1);
}

}  // namespace

void gemm(Params& args, DType dtype, Blocks blocks) {
  Ptr a = args.ptr("a", dtype), b = args.ptr("b", dtype), bias = args.ptr("bias", dtype);
  Ptr residual = args.ptr("residual", dtype), out = args.ptr("out", dtype);
  Scalar m = args.scalar("m", DType::I32), n = args.scalar("n", DType::I32), k = args.scalar("k", DType::I32);
  Scalar a_m = args.scalar("a_m", DType::I64), a_k = args.scalar("a_k", DType::I64);
  Scalar b_k = args.scalar("b_k", DType::I64), b_n = args.scalar("b_n", DType::I64);
  Scalar residual_m = args.scalar("residual_m", DType::I64), residual_n = args.scalar("residual_n", DType::I64);
  Scalar out_m = args.scalar("out_m", DType::I64), out_n = args.scalar("out_n", DType::I64);

  Scalar row = program_id(0) * blocks.m, column = program_id(1) * blocks.n;
  BlockPtr a_ptr = make_block_ptr(a, {m, k}, {a_m, a_k}, {row, 0}, {blocks.m, blocks.k});
  BlockPtr b_ptr = make_block_ptr(b, {k, n}, {b_k, b_n}, {0, column}, {blocks.k, blocks.n});

  auto [acc] = for_(0, k, blocks.k, carry(zeros({blocks.m, blocks.n})), [&](Scalar i, Tile acc) {
    Tile left = load(advance(a_ptr, {0, i}), {0, 1});
    Tile right = load(advance(b_ptr, {i, 0}), {0, 1});
    return carry(dot(left, right, acc));
  });

  BlockPtr bias_ptr = make_block_ptr(bias, {n}, {1}, {column}, {blocks.n});
  BlockPtr residual_ptr = make_block_ptr(residual, {m, n}, {residual_m, residual_n}, {row, column}, {blocks.m, blocks.n});
  BlockPtr out_ptr = make_block_ptr(out, {m, n}, {out_m, out_n}, {row, column}, {blocks.m, blocks.n});
  Tile x = acc + expand(cast(load(bias_ptr, {0}), DType::F32), 0);
  Tile y = gelu(x) + cast(load(residual_ptr, {0, 1}), DType::F32);
  store(out_ptr, cast(y, dtype), {0, 1});
}

}  // namespace fattn::examples
