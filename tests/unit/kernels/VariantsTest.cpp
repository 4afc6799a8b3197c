// SPDX-License-Identifier: Apache-2.0
// One kernel, many shapes: which variant a launch takes, and that it neither compiles, nor locks, nor allocates.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "kernels/attention/KernelCache.h"
#include "tests/support/Allocations.h"
#include "tests/unit/kernels/StandIn.h"

namespace fattn {
namespace {

using kernels::ShapeBucket;

constexpr std::int64_t kMostRows = 16384;

struct VariantsTest : testing::Test {
  std::atomic<int> compiles{0};
  std::function<void(const TileConfig&)> whileCompiling;
  /// Writes its BLOCK_M to the memory of lse.
  KernelTemplate marker = [this] {
    KernelTemplate made = test::standIn([](const ForwardArguments& args, const TileConfig& tile) { store(args.lse.base, tile.block_m); });
    made.progress = [this](const TemplateProgress& progress) {
      if (progress.done) return;
      ++compiles;
      if (whileCompiling) whileCompiling(progress.tile);
    };
    return made;
  }();
  kernels::KernelCache cache{marker};
  const AttentionConfig open{.dtype = DType::F32, .head_dim = 8, .target = "host"};

  AttentionConfig hinted(std::int64_t length) const {
    AttentionConfig config = open;
    config.shape = ShapeHint{.batch = 1, .heads = 1, .seq_q = length, .seq_k = length};
    return config;
  }
  void tune(std::int64_t q, std::int64_t k, TileConfig tile) {
    AttentionConfig config = open;
    config.shape = ShapeHint{.batch = 1, .heads = 1, .seq_q = q, .seq_k = k};
    test::recordTuned(marker, config, tile);
  }
  void tune(std::int64_t q, std::int64_t k, std::int32_t blockM) { tune(q, k, TileConfig{.block_m = blockM, .block_n = 64}); }
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
    return static_cast<std::int32_t>(lse[0]);
  }
};

TEST_F(VariantsTest, ALaunchTakesTheKernelOfItsBucketWhereThatIsAtHandElseTheNearest) {
  const Kernel kernel = cache.get(open);
  EXPECT_EQ(kernel.info().tile.block_m, 64);
  tune(512, 512, 16), tune(4096, 4096, 128);
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
  const Kernel kernel = cache.get(open);
  tune(1, 4096, 16);
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
  tune(512, 512, 16);
  cache.get(open);
  cache.get(hinted(512));
  EXPECT_EQ(ran(kernel, 512, 512), 32);
}

TEST_F(VariantsTest, AnotherConfigurationsKernelsAreNoVariants) {
  const Kernel kernel = cache.get(open);
  tune(512, 512, 16);
  AttentionConfig causal = hinted(512);
  causal.causal = true;
  cache.get(causal);
  EXPECT_EQ(ran(kernel, 512, 512), 64);
}

TEST_F(VariantsTest, AScheduleThatDoesNotFitGivesWayToTheCompilersFirstChoice) {
  const TileConfig ordered{.block_m = 16, .block_n = 64, .schedule = "A B1 a"};
  whileCompiling = [](const TileConfig& tile) {
    if (!tile.schedule.empty()) throw Error(ErrorCode::CompileError, "there is no node 'B'");
  };
  tune(512, 512, ordered);
  testing::internal::CaptureStderr();
  const Kernel kernel = cache.get(hinted(512));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "fattn: warning: the schedule of the configuration does not fit the loop, and the compiler's first choice takes its place: "
            "attention f32 head_dim 8 for host with BLOCK_M=16,BLOCK_N=64,SCHEDULE=A B1 a: there is no node 'B'\n");
  EXPECT_EQ(kernel.info().tile.toString(), "BLOCK_M=16,BLOCK_N=64");
  EXPECT_EQ(ran(kernel, 512, 512), 16);
  AttentionConfig chosen = open;
  chosen.tile = ordered;
  EXPECT_THROW(cache.get(chosen), Error) << "what the caller chose has to fit";
}

TEST_F(VariantsTest, ALaunchAllocatesNothing) {
  const Kernel kernel = cache.get(open);
  tune(512, 512, 16);
  cache.get(hinted(512));
  (void)ran(kernel, 512, 512);  // the first launch starts the threads of the host
  const long before = test::allocations();
  EXPECT_EQ(ran(kernel, 512, 512), 16);
  EXPECT_EQ(ran(kernel, 4096, 4096), 64);
  EXPECT_EQ(test::allocations(), before);
}

TEST_F(VariantsTest, ALaunchWaitsForNoCompilation) {
  const Kernel kernel = cache.get(open);
  tune(512, 512, 16);
  std::latch begun(1), launched(1);
  whileCompiling = [&](const TileConfig&) {
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
  tune(512, 512, 16);
  for (int round = 0; round < 50; ++round) {
    tune(std::int64_t{512} << round % 3, std::int64_t{4096} << round % 5, 64);  // what is at hand has more and more buckets
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
  EXPECT_EQ(ShapeBucket::of({6, 1, 1025}).log2, (Log2{3, 0, 11}));
  EXPECT_EQ(ShapeBucket::of({0, 0, 0}).log2, (Log2{0, 0, 0}));
  EXPECT_EQ(ShapeBucket::of({-1, -5, INT64_MIN}).log2, (Log2{64, 64, 63})) << "what is illegal is far";
  EXPECT_EQ(ShapeBucket::of({5, 4, 3, 2}).log2, (Log2{3, 2, 2, 1}));
}

}  // namespace
}  // namespace fattn
