// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/Kernels.h"

namespace fattn::examples {

using namespace fattn::dsl;

namespace {

struct BandedArgs {
  MatrixArg a, b, c, out;
  Scalar rows, columns, band;
};

BandedArgs bandedArgs(Params& args, DType dtype, Form form) {
  MatrixArg a = matrixArg(args, "a", dtype, form), b = matrixArg(args, "b", dtype, form), c = matrixArg(args, "c", dtype, form);
  MatrixArg out = matrixArg(args, "out", DType::F32, Form::Strided);
  Scalar rows = args.scalar("rows", DType::I32), columns = args.scalar("columns", DType::I32);
  return {a, b, c, out, rows, columns, args.scalar("band", DType::I32)};
}

/// [m,n]: which columns a row sees.
Tile inBand(const BandedArgs& x, const Tile& row, const Tile& column) {
  return (column <= row) & (column > row - x.band) & (row < x.rows) & (column < x.columns);
}

}  // namespace

void bandedRows(Params& args, DType dtype, Blocks blocks) {
  const std::int64_t m = blocks.m, n = blocks.n, width = blocks.k;
  BandedArgs x = bandedArgs(args, dtype, blocks.form);
  Scalar first = program_id(0) * m;
  Tile a = load(x.a.block(x.rows, width, first, 0, {m, width}), {0, 1}), row = expand(arange(0, m) + first, 1);
  BlockPtr b_ptr = x.b.block(x.columns, width, 0, 0, {n, width}), c_ptr = x.c.block(x.columns, width, 0, 0, {n, width});

  Scalar count = cdiv(x.columns, n);
  auto [sum, acc] = for_(0, count, 1, carry(zeros({m}), zeros({m, width})), [&](Scalar i, Tile sum, Tile acc) {
    Scalar at = (count - 1 - i) * n;
    Tile column = expand(arange(0, n) + at, 0);
    Tile p = exp2(dot(a, trans(load(advance(b_ptr, {at, 0}), {0, 1}))));
    p = where(inBand(x, row, column), p, 0);
    return carry(sum + reduce_sum(p, 1), dot(cast(p, dtype), load(advance(c_ptr, {at, 0}), {0, 1}), acc));
  });
  store(x.out.block(x.rows, width, first, 0, {m, width}), acc / expand(where(sum == 0, 1, sum), 1), {0, 1});
}

void bandedColumns(Params& args, DType dtype, Blocks blocks) {
  const std::int64_t m = blocks.m, n = blocks.n, width = blocks.k;
  BandedArgs x = bandedArgs(args, dtype, blocks.form);
  Scalar first = program_id(0) * n;
  Tile b = load(x.b.block(x.columns, width, first, 0, {n, width}), {0, 1}), column = expand(arange(0, n) + first, 0);
  BlockPtr a_ptr = x.a.block(x.rows, width, 0, 0, {m, width}), c_ptr = x.c.block(x.rows, width, 0, 0, {m, width});

  auto [acc] = for_(0, x.rows, m, carry(zeros({n, width})), [&](Scalar at, Tile acc) {
    Tile row = expand(arange(0, m) + at, 1);
    Tile p = exp2(dot(load(advance(a_ptr, {at, 0}), {0, 1}), trans(b)));
    p = where(inBand(x, row, column), p, 0);
    return carry(dot(trans(cast(p, dtype)), load(advance(c_ptr, {at, 0}), {0, 1}), acc));
  });
  store(x.out.block(x.columns, width, first, 0, {n, width}), acc, {0, 1});
}

}  // namespace fattn::examples
