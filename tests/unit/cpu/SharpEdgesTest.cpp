// SPDX-License-Identifier: Apache-2.0
// Shapes and uses that fit no vector: odd sizes, several lanes in one program, transposed stores, masks, snapshots before a store.
#include <cmath>
#include <vector>

#include "fattn/dsl/Dsl.h"
#include "tests/unit/cpu/Run.h"

namespace fattn {
namespace {

using namespace dsl;

class Edges : public testing::TestWithParam<std::string> {};

std::vector<float> ramp(std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = std::sin(static_cast<float>(i) * 0.7f) * 3.0f;
  return x;
}

TEST_P(Edges, ReductionsOfBothAxesAndATransposedStoreOfAnOddTile) {
  constexpr int R = 5, C = 40;
  std::vector<float> x = ramp(R * C), rows(R, -1), columns(C, -1), t(R * C, -1);
  Program program = trace("odd", [&](Params& params) {
    Ptr xp = params.ptr("x", DType::F32), rp = params.ptr("rows", DType::F32), cp = params.ptr("columns", DType::F32),
        tp = params.ptr("t", DType::F32);
    Tile v = exp2(load(make_block_ptr(xp, {R, C}, {C, 1}, {0, 0}, {R, C})));
    store(make_block_ptr(rp, {R}, {1}, {0}, {R}), reduce_max(v, 1));
    store(make_block_ptr(cp, {C}, {1}, {0}, {C}), reduce_sum(v, 0));
    store(make_block_ptr(tp, {C, R}, {R, 1}, {0, 0}, {C, R}), trans(v));
  });
  const std::uint64_t args[] = {cpu_tests::slot(x.data()), cpu_tests::slot(rows.data()), cpu_tests::slot(columns.data()),
                                cpu_tests::slot(t.data())};
  FATTN_RUN_OR_SKIP(program, GetParam(), (Grid{1, 1, 1}), args);
  for (int r = 0; r < R; ++r) {
    float top = 0;
    for (int c = 0; c < C; ++c) {
      top = std::max(top, std::exp2(x[r * C + c]));
      EXPECT_NEAR(t[c * R + r], std::exp2(x[r * C + c]), 1e-5);
    }
    EXPECT_NEAR(rows[r], top, 1e-5);
  }
  for (int c = 0; c < C; ++c) {
    double sum = 0;
    for (int r = 0; r < R; ++r) sum += std::exp2(static_cast<double>(x[r * C + c]));
    EXPECT_NEAR(columns[c], sum, 1e-4);
  }
}

TEST_P(Edges, AStoreAtTheEdgeLeavesTheRestOfMemoryAlone) {
  constexpr int N = 21;
  std::vector<float> x = ramp(N), y(64, 7.0f);
  Program program = trace("edge", [&](Params& params) {
    Ptr xp = params.ptr("x", DType::F32), yp = params.ptr("y", DType::F32);
    Scalar n = params.scalar("n", DType::I64);
    store(make_block_ptr(yp, {n}, {1}, {0}, {32}), load(make_block_ptr(xp, {n}, {1}, {0}, {32}), {0}) * 2.0f, {0});
  });
  const std::uint64_t args[] = {cpu_tests::slot(x.data()), cpu_tests::slot(y.data()), N};
  FATTN_RUN_OR_SKIP(program, GetParam(), (Grid{1, 1, 1}), args);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(y[i], i < N ? x[i] * 2.0f : 7.0f) << i;
}

TEST_P(Edges, AValueIsReadBeforeItsMemoryIsOverwritten) {
  constexpr int N = 48;
  std::vector<float> x = ramp(N), before = x, y(N);
  Program program = trace("overwrite", [&](Params& params) {
    BlockPtr xp = make_block_ptr(params.ptr("x", DType::F32), {N}, {1}, {0}, {N});
    BlockPtr yp = make_block_ptr(params.ptr("y", DType::F32), {N}, {1}, {0}, {N});
    Tile v = load(xp);
    store(xp, v + 1.0f);
    store(yp, v);
  });
  const std::uint64_t args[] = {cpu_tests::slot(x.data()), cpu_tests::slot(y.data())};
  FATTN_RUN_OR_SKIP(program, GetParam(), (Grid{1, 1, 1}), args);
  for (int i = 0; i < N; ++i) {
    EXPECT_EQ(x[i], before[i] + 1.0f);
    EXPECT_EQ(y[i], before[i]);
  }
}

TEST_P(Edges, CarriedTilesMaySwapPlaces) {
  constexpr int N = 16;
  std::vector<float> x = ramp(N), y = ramp(2 * N), a(N), b(N);
  y.erase(y.begin(), y.begin() + N);
  Program program = trace("swap", [&](Params& params) {
    auto block = [&](const char* name) { return make_block_ptr(params.ptr(name, DType::F32), {N}, {1}, {0}, {N}); };
    BlockPtr xp = block("x"), yp = block("y"), ap = block("a"), bp = block("b");
    Tile first = load(xp), second = load(yp);
    auto [u, v] = for_(0, 3, 1, carry(first, second), [&](Scalar, Tile u, Tile v) { return carry(v, u); });
    store(ap, u);
    store(bp, v);
  });
  const std::uint64_t args[] = {cpu_tests::slot(x.data()), cpu_tests::slot(y.data()), cpu_tests::slot(a.data()), cpu_tests::slot(b.data())};
  FATTN_RUN_OR_SKIP(program, GetParam(), (Grid{1, 1, 1}), args);
  EXPECT_EQ(a, y);
  EXPECT_EQ(b, x);
}

TEST_P(Edges, ADotOfOddSizesInEveryType) {
  constexpr int M = 7, N = 24, K = 20;
  for (DType type : {DType::F32, DType::F16, DType::BF16}) {
    std::vector<float> c(M * N, -1);
    Program program = trace("dot", [&](Params& params) {
      Ptr ap = params.ptr("a", DType::F32), bp = params.ptr("b", DType::F32), cp = params.ptr("c", DType::F32);
      Tile at = cast(load(make_block_ptr(ap, {M, K}, {K, 1}, {0, 0}, {M, K})), type);
      Tile bt = cast(load(make_block_ptr(bp, {K, N}, {N, 1}, {0, 0}, {K, N})), type);
      store(make_block_ptr(cp, {M, N}, {N, 1}, {0, 0}, {M, N}), dot(at, bt));
    });
    // Small integers: every product and sum is exact in every type.
    std::vector<float> af(M * K), bf(K * N);
    for (int i = 0; i < M * K; ++i) af[i] = static_cast<float>(i % 5 - 2);
    for (int i = 0; i < K * N; ++i) bf[i] = static_cast<float>(i % 7 - 3);
    const std::uint64_t args[] = {cpu_tests::slot(af.data()), cpu_tests::slot(bf.data()), cpu_tests::slot(c.data())};
    FATTN_RUN_OR_SKIP(program, GetParam(), (Grid{1, 1, 1}), args);
    for (int m = 0; m < M; ++m)
      for (int n = 0; n < N; ++n) {
        float want = 0;
        for (int k = 0; k < K; ++k) want += af[m * K + k] * bf[k * N + n];
        ASSERT_EQ(c[m * N + n], want) << name(type) << " at " << m << ", " << n;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Host, Edges, testing::ValuesIn(cpu_tests::allTargets()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
});

}  // namespace
}  // namespace fattn
