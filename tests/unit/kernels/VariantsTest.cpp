// SPDX-License-Identifier: Apache-2.0
// One kernel, many shapes: which variant a launch takes, and that it neither compiles, nor locks, nor allocates.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <latch>
#include <thread>
#include <vector>

#include "kernels/attention/AttentionLaunch.h"
#include "kernels/attention/KernelCache.h"
#include "tests/support/Allocations.h"
#include "tests/unit/kernels/AttentionArgs.h"
#include "tests/unit/runtime/TestObject.h"

namespace fattn {
namespace {

using kernels::ShapeBucket;
using kernels::TunedShape;

// Writes its BLOCK_M to the memory of lse.
compiler::Binary marker(std::int32_t blockM) {
  const std::string ir = R"(
define void @kernel(ptr %args, ptr %grid, ptr %scratch) {
  %p = getelementptr i64, ptr %args, i64 )" +
                         std::to_string(test::attentionSlot("lse")) + R"(
  %out = load ptr, ptr %p
  store i32 )" + std::to_string(blockM) +
                         R"(, ptr %out
  ret void
})";
  return test::forAttention(test::hostBinary(ir.c_str(), 0), {.dtype = DType::F32});
}

TunedShape tuned(std::int64_t q, std::int64_t k, std::int32_t blockM) {
  return {.bucket = ShapeBucket::of({1, q, k}), .name = std::to_string(q), .tile = {.block_m = blockM, .block_n = 64}};
}

constexpr std::int64_t kMostRows = 16384;

struct VariantsTest : testing::Test {
  std::atomic<int> compiles{0};
  std::function<void(const AttentionConfig&)> whileCompiling;
  std::vector<TunedShape> shapes = {tuned(512, 512, 16), tuned(4096, 4096, 128)};
  kernels::KernelCache cache{[this](const AttentionConfig& resolved) {
                               ++compiles;
                               if (whileCompiling) whileCompiling(resolved);
                               return marker(resolved.tile->block_m);
                             },
                             [this](const AttentionConfig& config) {
                               std::optional<TileConfig> tile;
                               for (const TunedShape& shape : shapes)
                                 if (config.shape && ShapeBucket::of({1, config.shape->seq_q, config.shape->seq_k}) == shape.bucket)
                                   tile = shape.tile;
                               return kernels::TileChoice(tile, shapes);
                             }};
  const AttentionConfig open{.dtype = DType::F32, .head_dim = 8, .target = "host"};

  AttentionConfig hinted(std::int64_t length) const {
    AttentionConfig config = open;
    config.shape = ShapeHint{.batch = 1, .heads = 1, .seq_q = length, .seq_k = length};
    return config;
  }
  /// BLOCK_M of the kernel that a launch runs.
  static std::int32_t ran(const Kernel& kernel, std::int64_t q, std::int64_t k) {
    static std::vector<float> data(kMostRows * 8), out(kMostRows * 8);
    thread_local std::vector<float> lse(kMostRows);
    const AttentionArgs args{.q = {data.data(), DType::F32, {1, 1, q, 8}},
                             .k = {data.data(), DType::F32, {1, 1, k, 8}},
                             .v = {data.data(), DType::F32, {1, 1, k, 8}},
                             .o = {out.data(), DType::F32, {1, 1, q, 8}},
                             .lse = TensorView(lse.data(), DType::F32, {1, 1, q})};
    kernel.launch({}, args);
    std::int32_t blockM = 0;
    std::memcpy(&blockM, lse.data(), sizeof blockM);
    return blockM;
  }
};

TEST_F(VariantsTest, ALaunchTakesTheKernelOfItsBucketWhereThatIsAtHandElseTheNearest) {
  const Kernel kernel = cache.get(open);
  EXPECT_EQ(kernel.info().tile.block_m, 64);
  EXPECT_EQ(ran(kernel, 512, 512), 64) << "nothing else is at hand";
  cache.get(hinted(512));
  EXPECT_EQ(ran(kernel, 512, 512), 16) << "handles that were there before have it, too";
  EXPECT_EQ(ran(kernel, 300, 500), 16) << "the same bucket";
  EXPECT_EQ(ran(kernel, 1024, 2048), 16) << "two doublings away";
  EXPECT_EQ(ran(kernel, 512, 4096), 64) << "three are far";
  EXPECT_EQ(ran(kernel, 2048, 2048), 64) << "two each are far together";
  cache.get(hinted(4096));
  EXPECT_EQ(ran(kernel, 4096, 4096), 128);
  EXPECT_EQ(ran(kernel, 2048, 2048), 128) << "the nearer one";
  EXPECT_EQ(ran(kernel, 1024, 1024), 16);
  EXPECT_EQ(ran(kernel, 8192, 8192), 128);
  EXPECT_EQ(compiles, 3) << "no launch compiles";
}

// Tuning one query against 4096 keys made prefill at 1024 1.5 times slower.
TEST_F(VariantsTest, OneQueryAgainstManyKeysIsFarFromAPrefill) {
  shapes = {tuned(1, 4096, 16)};
  const Kernel kernel = cache.get(open);
  AttentionConfig decode = open;
  decode.shape = ShapeHint{.batch = 1, .heads = 1, .seq_q = 1, .seq_k = 4096};
  cache.get(decode);
  EXPECT_EQ(ran(kernel, 1, 4096), 16);
  EXPECT_EQ(ran(kernel, 1024, 1024), 64);
  EXPECT_EQ(ran(kernel, 1024, 4096), 64);
}

TEST_F(VariantsTest, WhatTheCallerChoseIsTheCallers) {
  AttentionConfig chosen = open;
  chosen.tile = TileConfig{.block_m = 32};
  const Kernel kernel = cache.get(chosen);
  cache.get(open);
  cache.get(hinted(512));
  EXPECT_EQ(ran(kernel, 512, 512), 32);
}

TEST_F(VariantsTest, AnotherConfigurationsKernelsAreNoVariants) {
  const Kernel kernel = cache.get(open);
  AttentionConfig causal = hinted(512);
  causal.causal = true;
  cache.get(causal);
  EXPECT_EQ(ran(kernel, 512, 512), 64);
}

TEST_F(VariantsTest, AScheduleThatDoesNotFitGivesWayToTheCompilersFirstChoice) {
  shapes[0].tile.schedule = "A B1 a";
  whileCompiling = [](const AttentionConfig& resolved) {
    if (!resolved.tile->schedule.empty()) throw Error(ErrorCode::CompileError, "there is no node 'B'");
  };
  testing::internal::CaptureStderr();
  const Kernel kernel = cache.get(hinted(512));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "fattn: warning: the schedule of the configuration does not fit the loop, and the compiler's first choice takes its place: "
            "attention f32 head_dim 8 for host with BLOCK_M=16,BLOCK_N=64,SCHEDULE=A B1 a: there is no node 'B'\n");
  EXPECT_EQ(kernel.info().tile.toString(), "BLOCK_M=16,BLOCK_N=64");
  EXPECT_EQ(ran(kernel, 512, 512), 16);
  AttentionConfig chosen = open;
  chosen.tile = shapes[0].tile;
  EXPECT_THROW(cache.get(chosen), Error) << "what the caller chose has to fit";
}

TEST_F(VariantsTest, ALaunchAllocatesNothing) {
  const Kernel kernel = cache.get(open);
  cache.get(hinted(512));
  (void)ran(kernel, 512, 512);  // the first launch starts the threads of the host
  const long before = test::allocations();
  EXPECT_EQ(ran(kernel, 512, 512), 16);
  EXPECT_EQ(ran(kernel, 4096, 4096), 64);
  EXPECT_EQ(test::allocations(), before);
}

TEST_F(VariantsTest, ALaunchWaitsForNoCompilation) {
  const Kernel kernel = cache.get(open);
  std::latch begun(1), launched(1);
  whileCompiling = [&](const AttentionConfig&) {
    begun.count_down();
    launched.wait();
  };
  std::jthread compiling([&] { cache.get(hinted(512)); });
  begun.wait();
  EXPECT_EQ(ran(kernel, 512, 512), 64);
  launched.count_down();
  compiling.join();
  EXPECT_EQ(ran(kernel, 512, 512), 16);
}

TEST_F(VariantsTest, LaunchesBesideCompilationsTakeOneOfTheKernels) {
  const Kernel kernel = cache.get(open);
  std::atomic<bool> done{false};
  std::vector<std::jthread> launching;
  for (int i = 0; i < 3; ++i)
    launching.emplace_back([&] {
      while (!done) {
        const std::int32_t blockM = ran(kernel, 512, 512);
        EXPECT_TRUE(blockM == 64 || blockM == 16) << blockM;
      }
    });
  for (int round = 0; round < 50; ++round) {
    shapes = {tuned(512, 512, 16), tuned(4096 << round % 3, 4096, 128)};
    AttentionConfig other = hinted(512);
    other.shape->batch = round + 1;
    cache.get(other);
  }
  done = true;
  launching.clear();
  EXPECT_EQ(ran(kernel, 512, 512), 16);
  EXPECT_EQ(compiles, 2);
}

TEST(ShapeBucket, IsThePowerOfTwoThatIsNotBelow) {
  using Log2 = std::array<std::int8_t, kernels::kMostExtents>;
  EXPECT_EQ(kernels::attentionBucket(2, 3, 1, 1025).log2, (Log2{3, 0, 11}));
  EXPECT_EQ(kernels::attentionBucket(0, 0, 0, 0).log2, (Log2{0, 0, 0}));
  EXPECT_EQ(kernels::attentionBucket(-1, 1, -5, INT64_MIN).log2, (Log2{64, 64, 63})) << "what is illegal is far";
  EXPECT_EQ(ShapeBucket::of({5, 4, 3, 2}).log2, (Log2{3, 2, 2, 1}));
}

}  // namespace
}  // namespace fattn
