// SPDX-License-Identifier: Apache-2.0
// What supports() says of a tile configuration for a GPU is what compile() does: near the limit of shared memory, which scratch memory of
// the compiler's choice crosses as well.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "compiler/gpu/Target.h"
#include "kernels/attention/AttentionSupport.h"

namespace fattn {
namespace {

// The same in every run, so that a failure can be repeated.
std::minstd_rand seeded(unsigned seed) { return std::minstd_rand(seed); }

template <typename T>
T oneOf(std::minstd_rand& random, std::initializer_list<T> choices) {
  return choices.begin()[random() % choices.size()];
}

AttentionConfig drawn(std::minstd_rand& random) {
  TileConfig tile;
  AttentionConfig config;
  tile.warps = oneOf<std::int32_t>(random, {1, 2, 4, 8, 12});
  tile.block_m = tile.warps * oneOf<std::int32_t>(random, {8, 16, 32});
  tile.block_n = oneOf<std::int32_t>(random, {8, 16, 32, 64, 80, 128});
  tile.stages = oneOf<std::int32_t>(random, {1, 2, 3, 4});
  config.dtype = oneOf(random, {DType::F32, DType::BF16, DType::F16});
  config.head_dim = config.head_dim_v = oneOf<std::int64_t>(random, {16, 64, 72, 128, 192, 256});
  config.causal = random() % 2 == 0;
  config.target = oneOf(random, {"nvidia:sm_80", "nvidia:sm_86", "nvidia:sm_90", "nvidia:sm_90a", "nvidia:sm_120"});
  config.tile = tile;
  return config;
}

// What is far from the limit is not drawn: nothing is open there.
bool isNearTheLimit(const AttentionConfig& config) {
  const std::int64_t bytes = kernels::plainSharedBytes(kernels::askedKind(config), *config.tile),
                     limit = gpu::findTarget(config.target).shared.bytesPerBlock;
  return bytes * 5 > limit * 3 && bytes * 5 < limit * 6;
}

// FATTN_CONFIGURATIONS: how many.
TEST(Supports, SaysOfATileConfigurationWhatTheCompilerDoes) {
  const char* text = std::getenv("FATTN_CONFIGURATIONS");
  const int count = text != nullptr ? static_cast<int>(std::strtol(text, nullptr, 10)) : 16;
  std::minstd_rand random = seeded(15);
  int compiled = 0;
  for (int i = 0; i < count;) {
    const AttentionConfig config = drawn(random);
    if (!isNearTheLimit(config)) continue;
    ++i;
    const auto verdict = supports(config);
    const auto kernel = try_compile(config);
    EXPECT_EQ(verdict.has_value(), kernel.has_value())
        << kernels::textOf(kernels::askedKind(config)) << " " << config.tile->toString() << "\n"
        << (verdict ? "" : verdict.error().what()) << (kernel ? "" : kernel.error().what());
    if (!verdict && !kernel) {
      EXPECT_STREQ(verdict.error().what(), kernel.error().what());
    }
    compiled += kernel ? 1 : 0;
  }
  fmt::print("{} of {} configurations fit\n", compiled, count);
  EXPECT_GT(compiled, 0);
  EXPECT_LT(compiled, count);
}

TEST(Supports, RefusesATileThatNoBlockHolds) {
  const auto verdict =
      supports({.head_dim = 128, .target = "nvidia:sm_90", .tile = TileConfig{.block_m = 1024, .block_n = 1024, .stages = 2, .warps = 8}});
  ASSERT_FALSE(verdict);
  EXPECT_NE(std::string(verdict.error().what()).find("bytes of shared memory, but a block of nvidia:sm_90 has at most 232448"),
            std::string::npos)
      << verdict.error().what();
}

}  // namespace
}  // namespace fattn
