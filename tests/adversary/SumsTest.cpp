// SPDX-License-Identifier: Apache-2.0
// Sums and maxima that a loop carries, whose parts meet behind it, are what the program means: of rows that lanes share, and that warps do.
#include <gtest/gtest.h>

#include "dsl/Internal.h"
#include "fattn/dsl/Dsl.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tests/adversary/CheckProgram.h"

using namespace mlir;

namespace fattn::adversary {
namespace {

using namespace dsl;

constexpr int64_t kTrips = 5;

/// Of x [rows, n], columns at a time: a sum that fades from block to block; a sum of the rare numbers, in which one counts at most 1 where
/// a block's are 1 together; and the greatest number.
void sums(Params& args, int64_t rows, int64_t columns) {
  Ptr x = args.ptr("x", DType::F32), out = args.ptr("out", DType::F32);
  Scalar n = args.scalar("n", DType::I64);
  BlockPtr window = make_block_ptr(x, {rows, n}, {n, 1}, {0, 0}, {rows, columns});
  auto [faded, few, most] = for_(0, n, columns, carry(zeros({rows}), zeros({rows}), full({rows}, -100, DType::F32)),
                                 [&](Scalar i, Tile faded, Tile few, Tile most) {
                                   Tile t = load(advance(window, {0, i}), {1});
                                   Tile rare = max(t - 1.95f, 0) * 32, sum = reduce_sum(rare, 1);
                                   Tile next = select_lazy(!(sum < 1), [&] { return few + reduce_sum(min(rare, 1), 1); }, few + sum);
                                   return carry(faded * 0.5f + reduce_sum(t, 1) * 0.25f, next, max(most, reduce_max(t, 1)));
                                 });
  Tile row = arange(0, rows);
  store(out + row, faded);
  store(out + (row + rows), few);
  store(out + (row + 2 * rows), most);
}

TileProgram programOf(ModuleOp module, int64_t rows, int64_t columns) {
  TileProgram program;
  program.module = OwningOpRef<ModuleOp>(module.clone());
  program.entry = (*program.module->getOps<func::FuncOp>().begin()).getName().str();
  Type type = Float32Type::get(module.getContext());
  int64_t n = kTrips * columns;
  program.arguments.emplace_back(generator::makeArray(type, rows * n, {.seed = 3}));
  generator::Array out = generator::makeArray(type, 3 * rows, {});
  out.tolerance = 1e-3;
  program.arguments.emplace_back(std::move(out));
  program.arguments.emplace_back(n);
  return program;
}

class Sums : public testing::TestWithParam<std::tuple<std::pair<int64_t, int64_t>, int64_t>> {};

TEST_P(Sums, OfALoopMeetBehindIt) {
  auto [shape, warps] = GetParam();
  auto [rows, columns] = shape;
  dsl::Program program = dsl::trace("sums", [&](Params& args) { sums(args, rows, columns); });
  ModuleOp module = dsl::internal::module(program);
  BlockProgram block = compileForBlock(module, {.target = "nvidia:sm_90", .warps = warps, .forced = {}});
  ASSERT_TRUE(block.module) << block.refused;
  int parts = 0;
  block.module->walk([&](scf::ForOp loop) {
    for (Type type : loop.getResultTypes())
      if (auto tile = dyn_cast<RankedTensorType>(type)) parts += tile.getRank() == 2;
  });
  EXPECT_GE(parts, 2) << "the loop carries whole sums";
  EXPECT_EQ(textOf(Reference(programOf(module, rows, columns)).check(*block.module)), "");
}

INSTANTIATE_TEST_SUITE_P(All, Sums,
                         testing::Combine(testing::Values(std::pair<int64_t, int64_t>{16, 32}, std::pair<int64_t, int64_t>{2, 256},
                                                          std::pair<int64_t, int64_t>{8, 96}),
                                          testing::Values(1, 2, 4)));

}  // namespace
}  // namespace fattn::adversary
