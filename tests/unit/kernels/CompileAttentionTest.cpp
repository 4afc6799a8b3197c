// SPDX-License-Identifier: Apache-2.0
// fattn::compile from end to end on the host. The numbers themselves are checked in tests/numerics.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <vector>

#include "fattn/fattn.h"

namespace fattn {
namespace {

// With all scores equal a row of the result is the mean of the values, and lse the logarithm of their number plus the score.
TEST(CompileAttention, EqualScoresGiveTheMean) {
  Kernel kernel = compile({.dtype = DType::F32, .head_dim = 16, .head_dim_v = 8, .target = "host"});
  const std::int64_t rows = 3, keys = 70;
  std::vector<float> q(rows * 16, 1), k(keys * 16, 0.5f), v(keys * 8), o(rows * 8, NAN), lse(rows, NAN);
  for (std::int64_t j = 0; j < keys; ++j)
    for (std::int64_t d = 0; d < 8; ++d) v[static_cast<std::size_t>(j * 8 + d)] = static_cast<float>(j + 100 * d);
  kernel.launch({}, {.q = {q.data(), DType::F32, {1, 1, rows, 16}},
                     .k = {k.data(), DType::F32, {1, 1, keys, 16}},
                     .v = {v.data(), DType::F32, {1, 1, keys, 8}},
                     .o = {o.data(), DType::F32, {1, 1, rows, 8}},
                     .lse = TensorView(lse.data(), DType::F32, {1, 1, rows})});
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t d = 0; d < 8; ++d)
      EXPECT_NEAR(o[static_cast<std::size_t>(i * 8 + d)], 34.5f + 100 * static_cast<float>(d), 1e-3f) << i << " " << d;
    EXPECT_NEAR(lse[static_cast<std::size_t>(i)], std::log(70.0f) + 2.0f, 1e-5f);
  }
}

TEST(CompileAttention, RowsWithoutKeysAreZero) {
  Kernel kernel = compile({.dtype = DType::F32, .head_dim = 8, .causal = true, .target = "host"});
  std::vector<float> q(4 * 8, 1), k(2 * 8, 1), v(2 * 8, 3), o(4 * 8, NAN), lse(4, NAN);
  auto launch = [&](std::int64_t keys) {
    kernel.launch({}, {.q = {q.data(), DType::F32, {1, 1, 4, 8}},
                       .k = {k.data(), DType::F32, {1, 1, keys, 8}},
                       .v = {v.data(), DType::F32, {1, 1, keys, 8}},
                       .o = {o.data(), DType::F32, {1, 1, 4, 8}},
                       .lse = TensorView(lse.data(), DType::F32, {1, 1, 4})});
  };
  const float nothing = -std::numeric_limits<float>::infinity();
  launch(2);  // four rows, two keys: rows 0 and 1 lie above the diagonal
  for (std::size_t i = 0; i < 32; ++i) EXPECT_FLOAT_EQ(o[i], i < 16 ? 0.0f : 3.0f) << i;
  EXPECT_EQ(lse[0], nothing);
  EXPECT_EQ(lse[1], nothing);
  EXPECT_GT(lse[2], 0);
  o.assign(32, NAN);
  launch(0);
  for (float value : o) EXPECT_EQ(value, 0);
  for (float value : lse) EXPECT_EQ(value, nothing);
}

// What a thread keeps of its last launches is for the same operands of the same kernel only.
TEST(CompileAttention, OtherOperandsInTheSameMemoryAreLookedAtAgain) {
  const std::int64_t width = 8, most = 6;
  Kernel kernel = compile({.dtype = DType::F32, .head_dim = width, .target = "host"});
  Kernel other = compile({.dtype = DType::F32, .head_dim = width, .causal = true, .target = "host"});
  std::vector<float> q(most * width, 1), k(most * width, 1), v(most * width), o(most * width), lse(most);
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::size_t row = i / width;
    v[i] = static_cast<float>(row);
  }
  auto args = [&](std::int64_t rows, std::int64_t keys) {
    return AttentionArgs{.q = {q.data(), DType::F32, {1, 1, rows, width}},
                         .k = {k.data(), DType::F32, {1, 1, keys, width}},
                         .v = {v.data(), DType::F32, {1, 1, keys, width}},
                         .o = {o.data(), DType::F32, {1, 1, rows, width}}};
  };
  auto mean = [&](const Kernel& of, const AttentionArgs& given) {
    o.assign(o.size(), NAN);
    of.launch({}, given);
    return o[0];
  };
  AttentionArgs wide = args(1, 4);
  EXPECT_FLOAT_EQ(mean(kernel, wide), 1.5f);
  EXPECT_FLOAT_EQ(mean(kernel, wide), 1.5f) << "the same again";
  EXPECT_FLOAT_EQ(mean(kernel, args(1, 2)), 0.5f) << "fewer keys";
  EXPECT_FLOAT_EQ(mean(kernel, wide), 1.5f);
  EXPECT_FLOAT_EQ(mean(other, args(4, 4)), 0.0f) << "another kernel: row 0 sees key 0";
  EXPECT_FLOAT_EQ(mean(kernel, args(4, 4)), 1.5f);
  wide.scale = -INFINITY;
  EXPECT_TRUE(std::isnan(mean(kernel, wide))) << "another scale";
  AttentionArgs wrong = args(1, 4);
  wrong.v.shape[2] = 3;
  EXPECT_THROW(kernel.launch({}, wrong), Error);
  EXPECT_THROW(kernel.launch({}, wrong), Error) << "what was refused is not kept";
  wrong = args(1, 4);
  wrong.lse = TensorView(lse.data(), DType::F32, {1, 1, 1});
  EXPECT_FLOAT_EQ(mean(kernel, wrong), 1.5f);
  EXPECT_FLOAT_EQ(lse[0], std::log(4.0f) + std::sqrt(8.0f)) << "the same operands with one more";
}

TEST(CompileAttention, FailuresComeAsValues) {
  std::expected<Kernel, Error> result = try_compile({.dtype = DType::F32, .head_dim = 12, .target = "host"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::Unsupported);
}

TEST(CompileAttention, WarmupFillsTheCacheAndReportsFailures) {
  std::vector<AttentionConfig> configs = {{.dtype = DType::F32, .head_dim = 24, .target = "host"},
                                          {.dtype = DType::BF16, .head_dim = 24, .target = "host"}};
  warmup(configs);
  int compiles = 0;
  setCompileCallback([&](const CompileProgress&) { ++compiles; });
  for (const AttentionConfig& config : configs) compile(config);
  EXPECT_EQ(compiles, 0);
  configs[1].head_dim = 25;
  EXPECT_THROW(warmup(configs), Error);
  setCompileCallback({});
}

TEST(CompileAttention, DumpDirectoryReceivesTheStages) {
  std::filesystem::path root = std::filesystem::path(testing::TempDir()) / ("fattn-dump-" + std::to_string(getpid()));
  setenv("FATTN_DUMP_DIR", root.c_str(), 1);
  compile({.dtype = DType::F32, .head_dim = 32, .causal = true, .target = "host", .tile = TileConfig{.block_m = 16, .block_n = 32}});
  unsetenv("FATTN_DUMP_DIR");
  std::filesystem::path folder = root / "attention-f32-d32-causal-host-BLOCK_M-16-BLOCK_N-32";
  ASSERT_TRUE(std::filesystem::is_directory(folder));
  bool tile = false, assembly = false;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    tile |= file.path().filename().string().ends_with("tile.mlir") && file.file_size() > 0;
    assembly |= file.path().extension() == ".s" && file.file_size() > 0;
  }
  std::filesystem::remove_all(root);
  EXPECT_TRUE(tile);
  EXPECT_TRUE(assembly);
}

TEST(CompileAttention, ExplainSaysWhatWouldRun) {
  EXPECT_EQ(explain({.head_dim = 64, .target = "host", .tile = TileConfig{.block_m = 32, .block_n = 96}}),
            "supported on host with BLOCK_M=32,BLOCK_N=96");
  EXPECT_EQ(explain({.dtype = DType::I8, .head_dim = 64}), "dtype is i8; it must be f32, f16 or bf16");
}

TEST(CompileAttention, ASecondCompileTakesLessThanFiveMicroseconds) {
  AttentionConfig config{.dtype = DType::F32, .head_dim = 64, .causal = true, .target = "host"};
  Kernel first = compile(config);
  std::printf("cold compile: %.0f ms\n", first.info().compile_ms);
  double best = 1e9;
  for (int round = 0; round < 100; ++round) {
    auto begin = std::chrono::steady_clock::now();
    Kernel again = compile(config);
    best = std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    ASSERT_EQ(&again.info(), &first.info());
  }
  EXPECT_LT(best, 5);
}

}  // namespace
}  // namespace fattn
