// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/Programs.h"

#include "compiler/driver/Compile.h"
#include "dsl/Internal.h"

namespace fattn::conformance {

using namespace dsl;

namespace {

/// The indices that this program takes.
Tile indices() { return arange(0, kBlock) + program_id(0) * kBlock; }

}  // namespace

Program step() {
  return trace("step", [](Params& args) {
    const Ptr x = args.ptr("x", DType::I32);
    const Scalar length = args.scalar("length", DType::I32);
    const Tile at = indices(), inside = at < length;
    store(x + at, load(x + at, inside) * 2 + 1, inside);
  });
}

std::int32_t stepped(std::int32_t number, int launches) {
  for (int i = 0; i < launches; ++i) number = 2 * number + 1;
  return number;
}

void launchStep(const TileKernel& kernel, const Array<std::int32_t>& x, Stream stream) {
  kernel.launch(stream, {blocksOf(x.size())}, {{"x", x.data()}, {"length", x.size()}});
}

Program maskedScaledAdd() {
  return trace("masked_scaled_add", [](Params& args) {
    const Ptr x = args.ptr("x", DType::F32), y = args.ptr("y", DType::F32), out = args.ptr("out", DType::F32);
    const Scalar length = args.scalar("length", DType::I32), factor = args.scalar("factor", DType::F32);
    const Tile at = indices(), read = load(x + at, (at < length) & (at % 3 != 0), 0.5);
    const auto window = [&](const Ptr& base) { return make_block_ptr(base, {length}, {1}, {program_id(0) * kBlock}, {kBlock}); };
    store(window(out), read * factor + load(window(y), {0}), {0});
  });
}

Program gridIds() {
  return trace("grid_ids", [](Params& args) {
    const Ptr counts = args.ptr("counts", DType::I32), ids = args.ptr("ids", DType::I32);
    const Scalar values[] = {program_id(0), program_id(1), program_id(2), num_programs(0), num_programs(1), num_programs(2)};
    const Scalar at = (values[2] * values[4] + values[1]) * values[3] + values[0];
    atomic_add(counts + at, 1);
    for (int i = 0; i < 6; ++i) store(ids + (at * 6 + i), values[i]);
  });
}

Program nothing() {
  return trace("nothing", [](Params&) {});
}

Program scalars() {
  return trace("scalars", [](Params& args) {
    const Scalar byte = args.scalar("byte", DType::I8);
    const Ptr out = args.ptr("out", DType::I64);
    const Scalar number = args.scalar("number", DType::F32), truth = args.scalar("truth", DType::I1);
    const Ptr real = args.ptr("real", DType::F32);
    const Scalar wide = args.scalar("wide", DType::I64), narrow = args.scalar("narrow", DType::I32);
    const Scalar integers[] = {cast(byte, DType::I64), cast(truth, DType::I64), wide, cast(narrow, DType::I64)};
    for (int i = 0; i < 4; ++i) store(out + i, integers[i]);
    store(real, number);
  });
}

Program histogram() {
  return trace("histogram", [](Params& args) {
    const Ptr x = args.ptr("x", DType::I32), counts = args.ptr("counts", DType::I32);
    const Scalar length = args.scalar("length", DType::I32);
    const Tile at = indices(), inside = at < length;
    atomic_add(counts + load(x + at, inside), 1, inside);
  });
}

compiler::Binary binaryOf(const Program& program, const std::string& chip) {
  compiler::CompileOptions options;
  options.target = chip;
  options.verify = true;
  return compiler::compile(internal::module(program), options);
}

}  // namespace fattn::conformance
