// SPDX-License-Identifier: Apache-2.0
// Figures of a kernel: what ptxas reports, and how many programs fit on an SM.
#include <gtest/gtest.h>

#include "fattn/Error.h"
#include "tools/fattn-dump/Facts.h"

namespace fattn::dump {
namespace {

TEST(Usage, IsReadFromTheAssemblersReport) {
  const auto usage = parseUsage(
      "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'f' for 'sm_90a'\nptxas info    : Function properties for f\n"
      "    16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 9 barriers, 16 bytes cumulative stack size, 1024 bytes smem\n");
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->registers, 168);
  EXPECT_EQ(usage->barriers, 9);
  EXPECT_EQ(usage->sharedBytes, 1024);
  EXPECT_EQ(usage->stackBytes, 16);
  EXPECT_EQ(usage->spillStores, 24);
  EXPECT_EQ(usage->spillLoads, 32);
  EXPECT_FALSE(parseUsage("ptxas fatal: no such file"));
}

// An SM of Hopper has 65536 registers, 227 KiB of shared memory for programs and 64 warps (CUDA Programming Guide, "Compute
// Capability 9.0").
TEST(OccupancyTest, NamesWhatLimitsIt) {
  const Occupancy registers = occupancyOf("nvidia:sm_90a", 128, 255, 1000);
  EXPECT_EQ(registers.programs, 2);  // 65536 / (256 * 128)
  EXPECT_EQ(registers.warps, 8);
  EXPECT_EQ(registers.limit, "registers");
  const Occupancy shared = occupancyOf("nvidia:sm_90a", 128, 32, 100 * 1024);
  EXPECT_EQ(shared.programs, 2);
  EXPECT_EQ(shared.limit, "shared memory");
  const Occupancy warps = occupancyOf("nvidia:sm_90a", 256, 16, 0);
  EXPECT_EQ(warps.programs, 8);
  EXPECT_EQ(warps.warps, warps.maxWarps);
  EXPECT_EQ(warps.limit, "warps");
  EXPECT_THROW(occupancyOf("nvidia:sm_12", 128, 32, 0), Error);
}

TEST(Facts, OfTheHostCountSpills) {
  Compilation compilation;
  compilation.stages = {
      {"host", "s", "\tmovups %xmm0, 8(%rsp) # 16-byte Spill\n\tvaddps %ymm1, %ymm2, %ymm3\n\tmovq (%rsp), %rax # 8-byte Reload\n", {}}};
  compilation.binary.scratchBytes = 20480;
  const std::vector<Fact> facts = collectFacts({}, compilation, {});
  ASSERT_GE(facts.size(), 3u);
  EXPECT_EQ(facts[0].label, "spills");
  EXPECT_EQ(facts[0].value, "1 / 1");
  EXPECT_EQ(facts[0].tone, Tone::Bad);
  EXPECT_EQ(facts[1].value, "256 bits");
  EXPECT_EQ(facts[2].value, "20 KiB");
  compilation.stages[0].text = "\tret\n";
  EXPECT_EQ(collectFacts({}, compilation, {})[0].value, "none");
}

TEST(Facts, OfAGpuHaveOccupancyOnceRegistersAreKnown) {
  Options options;
  options.target = "nvidia:sm_90a";
  Compilation compilation;
  compilation.binary.threads = 128;
  compilation.binary.sharedBytes = 65536;
  const auto labels = [&](const std::optional<Usage>& usage) {
    std::string text;
    for (const Fact& fact : collectFacts(options, compilation, usage)) text += fact.label + "=" + fact.value + ";";
    return text;
  };
  EXPECT_EQ(labels({}), "shared memory=64 KiB;threads=128;");
  EXPECT_EQ(labels(Usage{.registers = 128}),
            "registers a thread=128;shared memory=64 KiB;threads=128;spills=none;occupancy=12 of 64 warps;");
}

}  // namespace
}  // namespace fattn::dump
