// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/Kernels.h"

namespace fattn::examples {

using namespace fattn::dsl;

void fiveDots(Params& args, DType dtype, Blocks blocks) {
  const std::int64_t m = blocks.m, n = blocks.n, width = blocks.k;
  MatrixArg a = inputArg(args, "a", dtype, blocks.form), b = inputArg(args, "b", dtype, blocks.form);
  MatrixArg c = inputArg(args, "c", dtype, blocks.form), d = inputArg(args, "d", dtype, blocks.form);
  MatrixArg u = inputArg(args, "u", DType::F32, Form::Strided), v = inputArg(args, "v", DType::F32, Form::Strided);
  MatrixArg out_a = matrixArg(args, "out_a", DType::F32, blocks.form, Aliasing::None);
  MatrixArg out_b = matrixArg(args, "out_b", dtype, blocks.form, Aliasing::None);
  MatrixArg out_d = matrixArg(args, "out_d", dtype, blocks.form, Aliasing::None);
  Scalar rows = args.scalar("rows", DType::I32), columns = args.scalar("columns", DType::I32);

  Scalar column = program_id(0) * n;
  Tile b_tile = load(b.block(columns, width, column, 0, {n, width}), {0, 1});
  Tile d_tile = load(d.block(columns, width, column, 0, {n, width}), {0, 1});
  BlockPtr a_ptr = a.block(rows, width, 0, 0, {m, width}), c_ptr = c.block(rows, width, 0, 0, {m, width});
  BlockPtr out_ptr = out_a.block(rows, width, 0, 0, {m, width});
  Tile inside = expand(arange(0, n) + column < columns, 0);

  auto [sum_b, sum_d] = for_(0, rows, m, carry(zeros({n, width}), zeros({n, width})), [&](Scalar i, Tile sum_b, Tile sum_d) {
    Tile a_tile = load(advance(a_ptr, {i, 0}), {0, 1}), c_tile = load(advance(c_ptr, {i, 0}), {0, 1});
    Tile index = arange(0, m) + i, valid = index < rows, wide = cast(index, DType::I64);
    Tile u_tile = load(u.base + wide * u.column, valid, 0.0f), v_tile = load(v.base + wide * v.column, valid, 0.0f);
    Tile p = exp2(dot(a_tile, trans(b_tile)) - expand(u_tile, 1));
    p = where(inside & expand(valid, 1), p, 0);
    Tile t = p * (dot(c_tile, trans(d_tile)) - expand(v_tile, 1));
    Tile p_low = cast(p, dtype), t_low = cast(t, dtype);
    Tile next_d = dot(trans(p_low), c_tile, sum_d);
    Tile next_b = dot(trans(t_low), a_tile, sum_b);
    atomic_add(advance(out_ptr, {i, 0}), dot(t_low, b_tile), {0, 1});
    return carry(next_b, next_d);
  });
  store(out_b.block(columns, width, column, 0, {n, width}), cast(sum_b, dtype), {0, 1});
  store(out_d.block(columns, width, column, 0, {n, width}), cast(sum_d, dtype), {0, 1});
}

}  // namespace fattn::examples
