// SPDX-License-Identifier: Apache-2.0
// Three kernels that have nothing to do with what the project is known for, in the public language only: proof that the
// compiler is general, and examples to learn from.
#ifndef FATTN_TESTS_KERNELS_KERNELS_H
#define FATTN_TESTS_KERNELS_KERNELS_H

#include "fattn/dsl/Dsl.h"

namespace fattn::examples {

struct Blocks {
  std::int64_t m = 32, n = 32, k = 32;
};

/// out = gelu(a x b + bias) + residual, for a [m,k], b [k,n], bias [n], residual and out [m,n] of any size and strides, with the
/// tanh form of gelu. One program computes one block; grid: (cdiv(m, blocks.m), cdiv(n, blocks.n)).
/// Arguments: a, b, bias, residual, out, m, n, k, then the two strides each of a, b, residual and out.
void gemm(dsl::Params& args, DType dtype, Blocks blocks);

/// Every row of out [rows, columns] is exp(x) / sum(exp(x)) of that row of x. One program takes blocks.m rows, in one pass over
/// blocks of columns for maximum and sum, one for the result; grid: (cdiv(rows, blocks.m)).
/// Arguments: x, out, rows, columns, row and column stride of x, the same of out.
void rowSoftmax(dsl::Params& args, DType dtype, Blocks blocks);

/// Every row of out is (x - mean) * rstd * gamma + beta, with mean and rstd = 1 / sqrt(variance + eps) of the row, which are stored in
/// f32 too. Grid: (cdiv(rows, blocks.m)).
/// Arguments: x, gamma, beta, out, mean, rstd, rows, columns, row and column stride of x, the same of out, eps.
void layerNorm(dsl::Params& args, DType dtype, Blocks blocks);

}  // namespace fattn::examples

#endif
