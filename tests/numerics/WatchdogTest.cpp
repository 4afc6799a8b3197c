// SPDX-License-Identifier: Apache-2.0
// Kernels whose waits on barrier objects end with an error when they last (FATTN_WATCHDOG), for each number of warp groups and stages, each
// way of handing programs to blocks, with the mask and without, and lengths around the edges of tiles: none hangs, and all are right. Where
// the device under test is no GPU they are skipped, saying why.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>

#include "fattn/fattn.h"
#include "tests/numerics/ForwardCase.h"

namespace fattn::numerics {
namespace {

using WatchedCase = std::tuple<int, int, const char*, bool>;  // warp groups, stages, how programs are handed out, causal

std::string watchedName(const testing::TestParamInfo<WatchedCase>& info) {
  const auto& [groups, stages, word, causal] = info.param;
  return fmt::format("groups{}_stages{}_{}_{}", groups, stages, *word == 0 ? "one" : word + 1, causal ? "causal" : "full");
}

class Watchdog : public testing::TestWithParam<WatchedCase> {
 protected:
  void SetUp() override {
    if (!testedTarget().starts_with("cuda")) GTEST_SKIP() << "FATTN_NUMERICS_TARGET names no NVIDIA GPU";
    if (std::string why = missingDevice(); !why.empty()) GTEST_SKIP() << why;
    setenv("FATTN_WATCHDOG", "2000", /*overwrite=*/1);
  }
  void TearDown() override { unsetenv("FATTN_WATCHDOG"); }
};

TEST_P(Watchdog, NoWaitLasts) {
  constexpr std::int64_t kKeys = 64, kRowsOfAGroup = 64;
  const auto& [groups, stages, word, causal] = GetParam();
  // A tile of 64 columns is one box, which neighbours cannot share out.
  const bool shares = std::string_view(word) == " cluster";
  const std::int64_t dim = shares ? 128 : 64;
  const std::int64_t rows = kRowsOfAGroup * groups;
  const TileConfig tile{.block_m = static_cast<std::int32_t>(rows),
                        .block_n = kKeys,
                        .stages = stages,
                        .warps = 4 * groups,
                        .schedule = fmt::format("A B1 a b{}", word)};
  const Kernel kernel = compile({.dtype = DType::BF16, .head_dim = dim, .causal = causal, .target = testedTarget(), .tile = tile});
  ForwardWorst worst;
  std::uint64_t stream = 0;
  const auto check = [&](std::int64_t heads, std::int64_t queries, std::int64_t keys) {
    const ForwardCase problem({1, heads, heads, queries, keys, dim, dim, causal}, DType::BF16, stream += 3);
    problem.launch(openDevice(testedTarget()), kernel, kPlacements[0], worst);
  };
  for (const std::int64_t queries : {std::int64_t{1}, rows - 1, rows, rows + 1, 2 * rows + 1})
    for (const std::int64_t keys : {1, 63, 64, 65, 129, 64 * stages, 64 * stages + 1}) check(2, queries, keys);
  // More programs than blocks, so that blocks take several.
  constexpr std::int64_t kManyHeads = 140;
  for (const std::int64_t keys : {1, 65, 64 * stages + 65}) check(kManyHeads, rows + 1, keys);
}

INSTANTIATE_TEST_SUITE_P(Grid, Watchdog,
                         testing::Combine(testing::Values(1, 2, 3, 4), testing::Values(2, 3, 4),
                                          testing::Values("", " persistent", " dynamic"), testing::Bool()),
                         watchedName);
// 128 columns leave registers for two groups.
INSTANTIATE_TEST_SUITE_P(Clusters, Watchdog,
                         testing::Combine(testing::Values(1, 2), testing::Values(2, 3, 4), testing::Values(" cluster"), testing::Bool()),
                         watchedName);

}  // namespace
}  // namespace fattn::numerics
