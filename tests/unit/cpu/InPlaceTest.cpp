// SPDX-License-Identifier: Apache-2.0
// Programs that store where they loaded: a tile is loaded whole before any of it is overwritten.
#include <numeric>
#include <vector>

#include "fattn/dsl/Dsl.h"
#include "tests/unit/cpu/Run.h"

namespace fattn {
namespace {

using namespace dsl;

class InPlace : public testing::TestWithParam<std::string> {};

std::vector<float> counting(std::size_t n) {
  std::vector<float> x(n);
  std::iota(x.begin(), x.end(), 0.0f);
  return x;
}

TEST_P(InPlace, AnArrayMovesUpByOneElement) {
  constexpr int N = 64;
  std::vector<float> x = counting(N + 1), before = x;
  Program program = trace("shift", [&](Params& params) {
    Ptr p = params.ptr("x", DType::F32);
    store(make_block_ptr(p, {N + 1}, {1}, {1}, {N}), load(make_block_ptr(p, {N + 1}, {1}, {0}, {N})));
  });
  const std::uint64_t args[] = {cpu_tests::slot(x.data())};
  FATTN_RUN_OR_SKIP(program, GetParam(), (Grid{1, 1, 1}), args);
  EXPECT_EQ(x[0], 0);
  for (int i = 0; i < N; ++i) EXPECT_EQ(x[i + 1], before[i]) << i;
}

TEST_P(InPlace, AnArrayMovesThroughASecondArgument) {
  constexpr int N = 64;
  std::vector<float> x = counting(N + 1), before = x;
  Program program = trace("through", [&](Params& params) {
    Ptr from = params.ptr("from", DType::F32), to = params.ptr("to", DType::F32);
    store(make_block_ptr(to, {N}, {1}, {0}, {N}), load(make_block_ptr(from, {N}, {1}, {0}, {N})) * 2.0f);
  });
  const std::uint64_t args[] = {cpu_tests::slot(x.data()), cpu_tests::slot(x.data() + 1)};
  FATTN_RUN_OR_SKIP(program, GetParam(), (Grid{1, 1, 1}), args);
  for (int i = 0; i < N; ++i) EXPECT_EQ(x[i + 1], before[i] * 2.0f) << i;
}

TEST_P(InPlace, ATransposedTileKeepsItsOldElements) {
  constexpr int A = 6, C = 16;
  std::vector<float> x = counting(A * A * C), before = x;
  Program program = trace("turn", [&](Params& params) {
    BlockPtr p = make_block_ptr(params.ptr("x", DType::F32), {A, A, C}, {A * C, C, 1}, {0, 0, 0}, {A, A, C});
    store(p, trans(load(p), {1, 0, 2}));
  });
  const std::uint64_t args[] = {cpu_tests::slot(x.data())};
  FATTN_RUN_OR_SKIP(program, GetParam(), (Grid{1, 1, 1}), args);
  for (int i = 0; i < A; ++i)
    for (int j = 0; j < A; ++j)
      for (int k = 0; k < C; ++k) EXPECT_EQ(x[(i * A + j) * C + k], before[(j * A + i) * C + k]) << i << " " << j << " " << k;
}

TEST_P(InPlace, ARowIsAddedToAllRowsItselfIncluded) {
  constexpr int R = 8, C = 16;
  std::vector<float> x = counting(R * C), before = x;
  Program program = trace("rows", [&](Params& params) {
    Ptr p = params.ptr("x", DType::F32);
    Tile row = load(make_block_ptr(p, {R, C}, {C, 1}, {3, 0}, {1, C}));
    store(make_block_ptr(p, {R, C}, {C, 1}, {0, 0}, {R, C}), broadcast(row, {R, C}) + 1.0f);
  });
  const std::uint64_t args[] = {cpu_tests::slot(x.data())};
  FATTN_RUN_OR_SKIP(program, GetParam(), (Grid{1, 1, 1}), args);
  for (int i = 0; i < R * C; ++i) EXPECT_EQ(x[i], before[3 * C + i % C] + 1.0f) << i;
}

INSTANTIATE_TEST_SUITE_P(Host, InPlace, testing::ValuesIn(cpu_tests::allTargets()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
});

}  // namespace
}  // namespace fattn
