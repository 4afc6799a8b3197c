// SPDX-License-Identifier: Apache-2.0
// Kernels that have nothing to do with what the project is known for, in the public language only: proof that the compiler is general, and
// examples to learn from.
//
// A matrix is three arguments: its pointer, its row stride and its column stride. Vectors are matrices of one row or one column.
#ifndef FATTN_TESTS_KERNELS_KERNELS_H
#define FATTN_TESTS_KERNELS_KERNELS_H

#include "fattn/dsl/Dsl.h"

namespace fattn::examples {

/// What a kernel is told of how its matrices lie in memory.
enum class Form : std::uint8_t {
  Strided,  ///< nothing
  Rows,     ///< the elements of a row lie side by side
  Aligned,  ///< and every row begins at a multiple of 16 bytes
};

struct Blocks {
  std::int64_t m = 32, n = 32, k = 32;
  Form form = Form::Strided;
};

/// out = gelu(a x b + bias) + residual, for a [m,k], b [k,n], bias [n], residual and out [m,n] of any size, with the tanh form of gelu. One
/// program computes one block; grid: (cdiv(m, blocks.m), cdiv(n, blocks.n)).
/// Arguments: a, b, bias, residual, out, m, n, k; out shares no memory with the others.
void gemm(dsl::Params& args, DType dtype, Blocks blocks);

/// out = a x b in f32, for a [m,k], b [k,n] and out [m,n]. Grid: (cdiv(m, blocks.m), cdiv(n, blocks.n)). Arguments: a, b, out, m, n, k.
void matrixProduct(dsl::Params& args, DType dtype, Blocks blocks);

/// x as f8E4M3 in e4m3 and as f8E5M2 in e5m2, both stored as f32. Grid: (cdiv(rows, blocks.m), cdiv(columns, blocks.n)). Arguments: x,
/// e4m3, e5m2, rows, columns.
void throughFloat8(dsl::Params& args, DType dtype, Blocks blocks);

/// Every row of out [rows, columns] is exp(x) / sum(exp(x)) of that row of x. One program takes blocks.m rows, in one pass over
/// blocks of columns for maximum and sum, one for the result; grid: (cdiv(rows, blocks.m)).
/// Arguments: x, out, rows, columns; out is not x.
void rowSoftmax(dsl::Params& args, DType dtype, Blocks blocks);

/// Every row of out is (x - mean) * rstd * gamma + beta, with mean and rstd = 1 / sqrt(variance + eps) of the row, which are stored in
/// f32 too. Grid: (cdiv(rows, blocks.m)).
/// Arguments: x, gamma, beta, out, mean, rstd, rows, columns, eps; no result shares memory with an input.
void layerNorm(dsl::Params& args, DType dtype, Blocks blocks);

/// Every row of x becomes x / sqrt(mean(x^2) + eps), in place: one pass reads the row, the next reads and writes it. Grid: (cdiv(rows,
/// blocks.m)). Arguments: x, rows, columns, eps.
void scaleRows(dsl::Params& args, DType dtype, Blocks blocks);

/// out = x. One program moves one block; grid: (cdiv(rows, blocks.m), cdiv(columns, blocks.n)). Arguments: x, out, rows, columns.
void copy(dsl::Params& args, DType dtype, Blocks blocks);

/// out [rows, 1] of f32 has the sum of each row of x. Grid: (cdiv(rows, blocks.m)). Arguments: x, out, rows, columns.
void rowSums(dsl::Params& args, DType dtype, Blocks blocks);

/// out [1, columns] of f32 has the sum of each column of x. Grid: (cdiv(columns, blocks.n)). Arguments: x, out, rows, columns.
void columnSums(dsl::Params& args, DType dtype, Blocks blocks);

/// Five dots in a chain, for a and c [rows, width], b and d [columns, width], u and v [1, rows] of f32:
///   p = exp2(a x b^T - u^T),  t = p * (c x d^T - v^T)
///   outD = p^T x c,  outB = t^T x a,  outA += t x b        (outA of f32, added to atomically)
/// with p and t rounded to the element type where a dot takes them. One program takes blocks.n columns, and the rows blocks.m at a time;
/// width is blocks.k. Grid: (cdiv(columns, blocks.n)). Arguments: a, b, c, d, u, v, outA, outB, outD, rows, columns; no result shares
/// memory with another argument.
void fiveDots(dsl::Params& args, DType dtype, Blocks blocks);

/// Of p = exp2(a x b^T), for a [rows, width] and b [columns, width], only row - band < column <= row counts: out [rows, width] = p x c
/// divided by the sums of p's rows, 0 where a row has no column, for c [columns, width]. p is rounded to the element type for the dot. One
/// program takes blocks.m rows, and the columns blocks.n at a time from the last ones on; width is blocks.k. Grid: (cdiv(rows, blocks.m)).
/// Arguments: a, b, c, out, rows, columns, band.
void bandedRows(dsl::Params& args, DType dtype, Blocks blocks);

/// The same p: out [columns, width] = p^T x c, for c [rows, width]. One program takes blocks.n columns, and the rows blocks.m at a time.
/// Grid: (cdiv(columns, blocks.n)). Arguments: as above.
void bandedColumns(dsl::Params& args, DType dtype, Blocks blocks);

/// A few rows against many keys, in splits: for rows a [rows, width] with rows <= blocks.m, keys b and values c [columns, width], the
/// program (0, s) takes the columns [s * part, (s + 1) * part) below columns, blocks.n at a time, and writes of x = a x b^T
///   largest[s, row] = max(x),  sum[s, row] = sum(exp2(x - largest)),  out[s * rows + row, :] = exp2(x - largest) x c
/// in f32; of a split without columns -infinity, 0 and 0. Grid: (1, splits). Arguments: a, b, c, largest, sum, out, rows, columns, part.
void splitKeys(dsl::Params& args, DType dtype, Blocks blocks);

/// What the splits give together: out [rows, width] = sum over s of exp2(largest[s] - m) * part[s] / sum over s of exp2(largest[s] - m) *
/// sum[s], m the greatest of largest. Grid: (cdiv(rows, blocks.m)). Arguments: largest, sum, part, out, rows, splits.
void joinSplits(dsl::Params& args, DType dtype, Blocks blocks);

/// out = a x b in f32, for a [rows, inner], b [inner, columns] and out [rows, columns], where `splits` programs share a block's inner
/// dimension. Each writes its part to parts [splits * rows, columns] of f32, and counts itself in counters, i32 [cdiv(rows, blocks.m) *
/// cdiv(columns, blocks.n)]; the last one of a block adds all parts, in the order of the splits, and puts the count back to zero, which it
/// has to be before the launch. Grid: (cdiv(rows, blocks.m), cdiv(columns, blocks.n), splits). Arguments: a, b, parts, counters, out,
/// rows, columns, inner; out and parts share no memory with the others.
void splitProduct(dsl::Params& args, DType dtype, Blocks blocks);

/// A matrix among the arguments of a kernel.
struct MatrixArg {
  dsl::Ptr base;
  dsl::Scalar row, column;  ///< strides in elements
  /// The block at (row, column) offsets of it, which has so many rows and columns.
  dsl::BlockPtr block(dsl::Scalar rows, dsl::Scalar columns, dsl::Scalar atRow, dsl::Scalar atColumn, const dsl::Shape& shape) const {
    return dsl::make_block_ptr(base, {rows, columns}, {row, column}, {atRow, atColumn}, shape);
  }
};
MatrixArg matrixArg(dsl::Params& args, std::string_view name, DType dtype, Form form, dsl::Aliasing aliasing = dsl::Aliasing::Possible);
/// One that the kernel only reads, and that nothing else of the launch leads to.
inline MatrixArg inputArg(dsl::Params& args, std::string_view name, DType dtype, Form form) {
  return matrixArg(args, name, dtype, form, dsl::Aliasing::None);
}

}  // namespace fattn::examples

#endif
