// SPDX-License-Identifier: Apache-2.0
// A matrix product whose inner dimension several programs share, combined in the same launch by the last of them.
#include "tests/kernels/Kernels.h"

namespace fattn::examples {

using namespace fattn::dsl;

void splitProduct(Params& args, DType dtype, Blocks blocks) {
  const std::int64_t m = blocks.m, n = blocks.n, k = blocks.k;
  MatrixArg a = inputArg(args, "a", dtype, blocks.form), b = inputArg(args, "b", dtype, blocks.form);
  MatrixArg parts = matrixArg(args, "parts", DType::F32, Form::Strided, Aliasing::None);
  MatrixArg counters = matrixArg(args, "counters", DType::I32, Form::Strided, Aliasing::None);
  MatrixArg out = matrixArg(args, "out", DType::F32, Form::Strided, Aliasing::None);
  Scalar rows = args.scalar("rows", DType::I32), columns = args.scalar("columns", DType::I32), inner = args.scalar("inner", DType::I32);
  Scalar row = program_id(0) * m, column = program_id(1) * n, split = program_id(2), splits = num_programs(2);

  Scalar share = cdiv(cdiv(inner, splits), k) * k, begin = split * share, end = min(begin + share, inner);
  BlockPtr aPtr = a.block(rows, end, row, 0, {m, k}), bPtr = b.block(end, columns, 0, column, {k, n});
  auto [sum] = for_(begin, end, k, carry(zeros({m, n})), [&](Scalar i, Tile sum) {
    return carry(dot(load(advance(aPtr, {0, i}), {0, 1}), load(advance(bPtr, {i, 0}), {0, 1}), sum));
  });
  auto part = [&](const Scalar& s) {
    Ptr base = parts.base + cast(s, DType::I64) * cast(rows, DType::I64) * parts.row;
    return make_block_ptr(base, {rows, columns}, {parts.row, parts.column}, {row, column}, {m, n});
  };
  store(part(split), sum, {0, 1});

  Ptr counter = counters.base + (program_id(0) * num_programs(1) + program_id(1));
  Scalar before = atomic_add(counter, 1, MemoryOrder::AcquireRelease);
  if_(before == splits - 1, [&] {
    auto [all] = for_(0, splits, 1, carry(zeros({m, n})), [&](Scalar s, Tile all) { return carry(all + load(part(s), {0, 1})); });
    store(out.block(rows, columns, row, column, {m, n}), all, {0, 1});
    store(counter, 0);
  });
}

}  // namespace fattn::examples
