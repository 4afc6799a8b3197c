// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/Kernels.h"

namespace fattn::examples {

using namespace fattn::dsl;

void splitKeys(Params& args, DType dtype, Blocks blocks) {
  const std::int64_t m = blocks.m, n = blocks.n, width = blocks.k;
  MatrixArg a = matrixArg(args, "a", dtype, blocks.form), b = matrixArg(args, "b", dtype, blocks.form);
  MatrixArg c = matrixArg(args, "c", dtype, blocks.form);
  MatrixArg largest_out = matrixArg(args, "largest", DType::F32, Form::Strided),
            sum_out = matrixArg(args, "sum", DType::F32, Form::Strided);
  MatrixArg out = matrixArg(args, "out", DType::F32, Form::Strided);
  Scalar rows = args.scalar("rows", DType::I32), columns = args.scalar("columns", DType::I32), part = args.scalar("part", DType::I32);

  Scalar split = program_id(1), begin = split * part, end = min(begin + part, columns);
  Tile a_tile = load(a.block(rows, width, 0, 0, {m, width}), {0, 1});
  BlockPtr b_ptr = b.block(end, width, 0, 0, {n, width}), c_ptr = c.block(end, width, 0, 0, {n, width});

  auto [largest, sum, acc] = for_(begin, end, n, carry(full({m}, -infinity, DType::F32), zeros({m}), zeros({m, width})),
                                  [&](Scalar i, Tile largest, Tile sum, Tile acc) {
                                    Tile x = dot(a_tile, trans(load(advance(b_ptr, {i, 0}), {0, 1})));
                                    x = where(expand(arange(0, n) + i < end, 0), x, -infinity);
                                    Tile next = max(largest, reduce_max(x, 1)), scale = exp2(largest - next), p = exp2(x - expand(next, 1));
                                    Tile weighted = dot(cast(p, dtype), load(advance(c_ptr, {i, 0}), {0, 1}), acc * expand(scale, 1));
                                    return carry(next, sum * scale + reduce_sum(p, 1), weighted);
                                  });

  Tile row = arange(0, m), valid = row < rows, wide = cast(row, DType::I64);
  Scalar place = cast(split, DType::I64);
  store(largest_out.base + (wide * largest_out.column + place * largest_out.row), largest, valid);
  store(sum_out.base + (wide * sum_out.column + place * sum_out.row), sum, valid);
  BlockPtr out_ptr =
      make_block_ptr(out.base + place * cast(rows, DType::I64) * out.row, {rows, width}, {out.row, out.column}, {0, 0}, {m, width});
  store(out_ptr, acc, {0, 1});
}

void joinSplits(Params& args, DType dtype, Blocks blocks) {
  const std::int64_t m = blocks.m, width = blocks.k;
  MatrixArg largest_in = matrixArg(args, "largest", DType::F32, Form::Strided), sum_in = matrixArg(args, "sum", DType::F32, Form::Strided);
  MatrixArg part = matrixArg(args, "part", DType::F32, Form::Strided), out = matrixArg(args, "out", dtype, blocks.form);
  Scalar rows = args.scalar("rows", DType::I32), splits = args.scalar("splits", DType::I32);

  Scalar first = program_id(0) * m;
  Tile row = arange(0, m) + first, valid = row < rows, wide = cast(row, DType::I64);
  auto at = [&](const MatrixArg& x, Scalar s) { return x.base + (wide * x.column + cast(s, DType::I64) * x.row); };
  auto [largest] = for_(0, splits, 1, carry(full({m}, -infinity, DType::F32)),
                        [&](Scalar s, Tile largest) { return max(largest, load(at(largest_in, s), valid, -infinity)); });
  auto [sum, acc] = for_(0, splits, 1, carry(zeros({m}), zeros({m, width})), [&](Scalar s, Tile sum, Tile acc) {
    Tile weight = exp2(load(at(largest_in, s), valid, -infinity) - largest);
    BlockPtr ptr = make_block_ptr(part.base + cast(s, DType::I64) * cast(rows, DType::I64) * part.row, {rows, width},
                                  {part.row, part.column}, {first, 0}, {m, width});
    return carry(sum + weight * load(at(sum_in, s), valid), acc + expand(weight, 1) * load(ptr, {0, 1}));
  });
  store(out.block(rows, width, first, 0, {m, width}), cast(acc / expand(sum, 1), dtype), {0, 1});
}

}  // namespace fattn::examples
