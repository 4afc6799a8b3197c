// SPDX-License-Identifier: Apache-2.0
// `persistent` and `dynamic` in a schedule: whose blocks take one program after another, and that others are as ever.
#include <gtest/gtest.h>

#include <iterator>
#include <regex>

#include "fattn/Error.h"
#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/core/CompileProgram.h"

namespace fattn {
namespace {

struct ScheduledCase {
  const char* target;
  std::string schedule = {};
  bool boxes = true;
  int32_t warps = 8;
  std::int64_t headDim = 128;
};

compiler::Binary binaryOf(const ScheduledCase& one) {
  const kernels::ForwardKind kind{
      .dtype = DType::BF16, .head_dim = one.headDim, .head_dim_v = one.headDim, .causal = true, .alignment = 16};
  const TileConfig tile{.block_m = 128, .block_n = 64, .stages = 2, .warps = one.warps, .schedule = one.schedule};
  return kernels::compileProgram({.target = one.target,
                                  .tile = tile,
                                  .folder = "",
                                  .trace = [&] { return traceAttentionForward(kind, tile); },
                                  .boxes = one.boxes})
      .binary;
}

/// How many of its arguments a kernel reads; that they are one parameter does not matter.
std::ptrdiff_t argumentsRead(const std::string& ptx) {
  const std::regex load(R"(ld\.param\.\w+\s)");
  return std::distance(std::sregex_iterator(ptx.begin(), ptx.end(), load), std::sregex_iterator());
}

TEST(Persistent, BlocksOfAKernelWithRolesTakeSeveralPrograms) {
  const compiler::Binary once = binaryOf({"nvidia:sm_90a", "A B1 a b"});
  EXPECT_FALSE(once.repeats);
  for (const char* schedule : {"A B1 a b persistent", "persistent"}) {
    const compiler::Binary binary = binaryOf({"nvidia:sm_90a", schedule});
    EXPECT_TRUE(binary.repeats) << schedule;
    EXPECT_FALSE(binary.counts) << schedule;
    EXPECT_EQ(binary.threads, once.threads);
    EXPECT_EQ(argumentsRead(binary.bytes), argumentsRead(once.bytes) + 3) << "the numbers of programs";
    EXPECT_EQ(binary.tensorMaps, once.tensorMaps);
  }
}

TEST(Persistent, BlocksMayBeHandedTheirProgramsWhileTheKernelRuns) {
  const compiler::Binary inTurns = binaryOf({"nvidia:sm_90a", "A B1 a b persistent"});
  for (const char* schedule : {"A B1 a b dynamic", "A B1 a b persistent dynamic", "A B1 a b dynamic persistent"}) {
    const compiler::Binary binary = binaryOf({"nvidia:sm_90a", schedule});
    EXPECT_TRUE(binary.repeats && binary.counts) << schedule;
    EXPECT_EQ(argumentsRead(binary.bytes), argumentsRead(inTurns.bytes) + 1) << "the counter";
    EXPECT_EQ(binary.tensorMaps, inTurns.tensorMaps);
  }
}

/// Barriers of a fixed number: turns have theirs in a register.
std::ptrdiff_t blockBarriers(const std::string& ptx) {
  const std::regex barrier(R"(bar\.sync\s+\d)");
  return std::distance(std::sregex_iterator(ptx.begin(), ptx.end(), barrier), std::sregex_iterator());
}

// 192 KB of operands leave 35 KB. The results need them, in two parts; so rows that are redone use no shared memory, and no warp waits for
// another one where a program ends.
TEST(Persistent, ProgramsOf256ColumnsEndByWarps) {
  const compiler::Binary binary = binaryOf({.target = "nvidia:sm_90a", .schedule = "A B1 a b dynamic", .headDim = 256});
  EXPECT_TRUE(binary.repeats && binary.counts);
  EXPECT_EQ(blockBarriers(binary.bytes), 1) << "behind the initialization of barrier objects";
  const compiler::Binary once = binaryOf({.target = "nvidia:sm_90a", .schedule = "A B1 a b", .headDim = 256});
  EXPECT_GT(blockBarriers(once.bytes), 1) << "all warps redo rows together, with more shared memory and fewer registers";
}

TEST(Persistent, WhereTheCompilerCannotABlockTakesOne) {
  for (const char* word : {"persistent", "dynamic"})
    for (const ScheduledCase& one : {ScheduledCase{"nvidia:sm_90", word}, ScheduledCase{"nvidia:sm_80", word},
                                     ScheduledCase{.target = "nvidia:sm_90a", .schedule = word, .boxes = false},
                                     ScheduledCase{.target = "nvidia:sm_90a", .schedule = word, .warps = 4}}) {
      const compiler::Binary binary = binaryOf(one);
      ScheduledCase plain = one;
      plain.schedule = "";
      EXPECT_FALSE(binary.repeats || binary.counts) << one.target;
      EXPECT_EQ(binary.bytes, binaryOf(plain).bytes) << one.target;
    }
}

/// Every block reads all keys, so that neighbours may share them; under a mask how many they read differs.
TEST(Clusters, NeighboursShareTheKeysThatBothRead) {
  for (const bool causal : {false, true}) {
    const kernels::ForwardKind kind{.dtype = DType::BF16, .head_dim = 128, .head_dim_v = 128, .causal = causal, .alignment = 16};
    const auto binaryOf = [&](const std::string& schedule, std::int32_t warps = 8) {
      const TileConfig tile{.block_m = 16 * warps, .block_n = 64, .stages = 2, .warps = warps, .schedule = schedule};
      return kernels::compileProgram(
                 {.target = "nvidia:sm_90a", .tile = tile, .folder = "", .trace = [&] { return traceAttentionForward(kind, tile); }})
          .binary;
    };
    const compiler::Binary alone = binaryOf("A B1 a b"), both = binaryOf("A B1 a b cluster");
    EXPECT_EQ(alone.cluster, 1);
    EXPECT_EQ(both.cluster, causal ? 1 : 2);
    EXPECT_EQ(argumentsRead(both.bytes), argumentsRead(alone.bytes) + (causal ? 0 : 1)) << "how many programs there are";
    EXPECT_EQ(both.bytes.find(".reqnctapercluster 2, 1, 1") != std::string::npos, !causal);
    EXPECT_EQ(both.bytes.find(".multicast::cluster") != std::string::npos, !causal);
    EXPECT_EQ(binaryOf("A B1 a b cluster persistent").cluster, 1) << "a block that takes several programs has no neighbour";
    EXPECT_EQ(binaryOf("A B1 a b cluster", 4).cluster, 1) << "no warps that only copy";
  }
}

TEST(Persistent, TheWordStandsAlone) { EXPECT_THROW(binaryOf({"nvidia:sm_90a", "A B1 a bpersistent"}), Error); }

}  // namespace
}  // namespace fattn
