// SPDX-License-Identifier: Apache-2.0
// The model of time, on kernels whose clocks can be counted by hand.
#include <gtest/gtest.h>

#include <numeric>

#include "simulator/Estimate.h"
#include "simulator/Run.h"
#include "tests/simulator/MakeCodeObject.h"

namespace fattn::test {
namespace {

using namespace simulator;
using Place = std::array<std::uint32_t, 3>;

/// What one workgroup of `threads` threads executes.
Trace traceOf(const CodeObject& object, std::uint32_t threads) {
  std::vector<std::uint32_t> buffer(4096);
  Memory memory;
  const std::uint64_t address = memory.add("buffer", std::as_writable_bytes(std::span(buffer)), Memory::Use::ReadWrite);
  const std::array<std::uint64_t, 2> arguments = {address, address};
  Trace kept;
  const auto result = launch(object, "k", std::as_bytes(std::span(arguments)), {1, 1, 1}, {threads, 1, 1}, memory,
                             {.traced = [&](const Trace& trace, const Place&) { kept = trace; }});
  EXPECT_FALSE(result.fault) << result.fault->text();
  return kept;
}

Timing timeOf(const CodeObject& object, std::uint32_t threads, int groups = 1) {
  const Trace trace = traceOf(object, threads);
  const std::vector<const Trace*> all(static_cast<std::size_t>(groups), &trace);
  return timingOf(object.chip(), timedCode(object.code(), object.chip()), all, /*apart=*/0);
}

std::string times(int count, const std::string& line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line + "\n";
  return text;
}

TEST(Pace, KnowsMatrixInstructionsByTheirNames) {
  const Pace &cdna3 = paceOf(*findChip("gfx942")), &cdna4 = paceOf(*findChip("gfx950")), &rdna3 = paceOf(*findChip("gfx1100")),
             &rdna4 = paceOf(*findChip("gfx1201"));
  EXPECT_EQ(matrixClocks(cdna3, "v_mfma_f32_32x32x8_f16"), 32);
  EXPECT_EQ(matrixClocks(cdna3, "v_mfma_f32_16x16x16_bf16"), 16);
  EXPECT_EQ(matrixClocks(cdna3, "v_mfma_f32_32x32x2_f32"), 64);
  EXPECT_EQ(matrixClocks(cdna3, "v_mfma_f32_32x32x16_fp8_bf8"), 32);
  EXPECT_EQ(matrixClocks(cdna4, "v_mfma_f32_32x32x16_bf16"), 32);
  EXPECT_EQ(matrixClocks(rdna3, "v_wmma_f32_16x16x16_bf16"), 32);
  EXPECT_EQ(matrixClocks(rdna4, "v_wmma_f32_16x16x16_f16"), 16);
}

// A wave issues an instruction in 4 clocks; four waves go to four SIMDs, which do not disturb each other.
TEST(Timing, VectorInstructionsTakeAStepEach) {
  const auto object = makeKernels("gfx942", {{.name = "k", .body = "v_mov_b32 v1, 1.0\n" + times(100, "v_add_f32 v2, v1, v1")}});
  const Timing one = timeOf(*object, 64), four = timeOf(*object, 256), eight = timeOf(*object, 512);
  EXPECT_EQ(one.clocks, 102 * 4);
  EXPECT_EQ(four.clocks, one.clocks);
  EXPECT_NEAR(static_cast<double>(eight.clocks), 2.0 * 101 * 4, 8) << "two waves of a SIMD share its vector unit";
  EXPECT_EQ(one.instructions, 102);
  EXPECT_DOUBLE_EQ(four.vector, 101 * 4);
}

// Products that depend on each other follow without a gap, and vector instructions fit between them.
TEST(Timing, ProductsOfCdnaRunBesideVectorInstructions) {
  const std::string product = "v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], v[4:5], v[16:31]";
  std::string zeros;
  for (int r = 1; r < 32; ++r) zeros += "v_mov_b32 v" + std::to_string(r) + ", 0\n";
  const auto object = makeKernels("gfx942", {{.name = "k", .body = zeros + times(50, product + "\n" + times(5, "v_add_f32 v1, v2, v3"))}});
  const Timing timing = timeOf(*object, 64);
  EXPECT_NEAR(static_cast<double>(timing.clocks), 50 * 32 + 31 * 4, 40);
  EXPECT_DOUBLE_EQ(timing.matrix, 50 * 32 / 4.0) << "of four SIMDs one is at work";
}

TEST(Timing, ProductsOfRdnaKeepTheVectorUnit) {
  std::string zeros;
  for (int r = 1; r < 40; ++r) zeros += "v_mov_b32 v" + std::to_string(r) + ", 0\n";
  const std::string product = "v_wmma_f32_16x16x16_f16 v[32:39], v[8:15], v[16:23], v[32:39]";
  const auto object = makeKernels("gfx1100", {{.name = "k", .body = zeros + times(50, product + "\n" + times(5, "v_add_f32 v1, v2, v3"))}});
  EXPECT_NEAR(static_cast<double>(timeOf(*object, 32).clocks), 50 * (32 + 5) + 39, 40);
}

// A bank that serves 32 dwords keeps LDS for 32 clocks, and a wait for the latency besides.
TEST(Timing, BankConflictsAndWaitsTakeTime) {
  const auto kernel = [](const char* shift) {
    return makeKernels(
        "gfx942", {{.name = "k",
                    .body = std::string("v_mov_b32 v3, 0\nv_lshlrev_b32 v1, ") + shift +
                            ", v0\nds_write_b32 v1, v3\ns_waitcnt lgkmcnt(0)\n" + times(20, "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)"),
                    .ldsBytes = 16384}});
  };
  const std::int64_t plain = timeOf(*kernel("2"), 64).clocks, conflicts = timeOf(*kernel("7"), 64).clocks;
  EXPECT_GT(plain, 20 * 64) << "each read waits for LDS's latency";
  EXPECT_NEAR(static_cast<double>(conflicts - plain), 21 * (64 - 2), 90) << "64 lanes of one bank: 64 passes instead of 2";
}

TEST(Timing, WavesWaitForEachOtherAtBarriers) {
  // The first wave works between the barriers, the others wait for it.
  const auto object =
      makeKernels("gfx942", {{.name = "k",
                              .body = "v_mov_b32 v1, 1.0\nv_readfirstlane_b32 s4, v0\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 skip\n" +
                                      times(200, "v_add_f32 v2, v1, v1") + "skip:\ns_barrier\n" + times(100, "v_add_f32 v2, v1, v1")}});
  const Timing timing = timeOf(*object, 256);
  EXPECT_NEAR(static_cast<double>(timing.clocks), (300 + 6) * 4, 32);
  EXPECT_NEAR(static_cast<double>(std::accumulate(timing.waited.begin(), timing.waited.end(), std::int64_t{0})), 3 * 200 * 4, 60)
      << "three waves stand at the barrier for what one works";
}

TEST(Estimate, FollowsWhatWorkgroupsDifferBy) {
  const auto object = makeKernels("gfx942", {{.name = "k", .body = "v_mov_b32 v1, 1.0\n" + times(100, "v_add_f32 v2, v1, v1")}});
  const std::vector<TimedInstruction> code = timedCode(object->code(), object->chip());
  Trace trace = traceOf(*object, 64);
  const std::vector<Executed> once(trace.waves[0].begin() + 1, trace.waves[0].end() - 1);
  // As many as the grid's y says, as in a causal block whose loop is the longer the further down it lies.
  const std::array<std::uint32_t, 3> grid = {8, 100, 40};
  Estimate estimate(object->chip(), code, grid, /*resident=*/1);
  ASSERT_EQ(estimate.samples().size(), 5u);
  for (const Place& place : estimate.samples()) {
    Trace longer = trace;
    for (std::uint32_t i = 0; i < place[1]; ++i) longer.waves[0].insert(longer.waves[0].end() - 1, once.begin(), once.end());
    estimate.add(longer, place);
  }
  const double mean = (2 + 100 * (1 + 99 / 2.0)) * 4, groups = 8 * 100 * 40.0 / 304;
  EXPECT_NEAR(estimate.microseconds(), groups * mean / 2100, 0.05 * groups * mean / 2100);
}

TEST(Estimate, FewWorkgroupsDoNotShareComputeUnits) {
  const auto object = makeKernels("gfx942", {{.name = "k", .body = "v_mov_b32 v1, 1.0\n" + times(100, "v_add_f32 v2, v1, v1")}});
  const std::vector<TimedInstruction> code = timedCode(object->code(), object->chip());
  const Trace trace = traceOf(*object, 64);
  const auto timeWith = [&](std::uint32_t groups) {
    Estimate estimate(object->chip(), code, {groups, 1, 1}, /*resident=*/8);
    for (const Place& place : estimate.samples()) estimate.add(trace, place);
    return estimate.microseconds();
  };
  EXPECT_DOUBLE_EQ(timeWith(1), 102 * 4 / 2100.0);
  EXPECT_DOUBLE_EQ(timeWith(304), timeWith(1));
  EXPECT_GT(timeWith(305), timeWith(304));
}

// Eight dies of 38 compute units. The device deals workgroups to dies in turns, whatever they have to do.
TEST(Estimate, WorkgroupsAreDealtToDiesInTurns) {
  const auto object = makeKernels("gfx942", {{.name = "k", .body = "v_mov_b32 v1, 1.0\n" + times(100, "v_add_f32 v2, v1, v1")}});
  const std::vector<TimedInstruction> code = timedCode(object->code(), object->chip());
  Trace shorter = traceOf(*object, 64), longer = shorter;
  for (int i = 0; i < 99; ++i) longer.waves[0].insert(longer.waves[0].end() - 1, shorter.waves[0].begin() + 1, shorter.waves[0].end() - 1);
  // Programs of x = 1 are longer than those of x = 0, and a neighbour of these: each second die gets the former.
  const auto timeWith = [&](DieOrder order) {
    const Place grid = {2, 38 * 8, 1};
    Estimate estimate(object->chip(), code, grid, /*resident=*/1, order);
    for (const Place& place : estimate.samples()) estimate.add(order.programOf(place, grid)[0] == 1 ? longer : shorter, place);
    return estimate.microseconds();
  };
  const double once = 100 * 100 * 4 / 2100.0;
  EXPECT_NEAR(timeWith({}), 2 * once, 0.05 * once) << "four dies have two long ones a compute unit";
  EXPECT_NEAR(timeWith({.dies = 8}), 1 * once, 0.1 * once)
      << "each die has as many long ones as compute units, and short ones in front of the last";
}

TEST(Estimate, CountsWhatAComputeUnitHolds) {
  const Chip &cdna = *findChip("gfx942"), &rdna = *findChip("gfx1100");
  const auto small = makeKernels("gfx942", {{.name = "k", .body = ""}}),
             large = makeKernels("gfx942", {{.name = "k", .body = "", .ldsBytes = 32768}});
  EXPECT_EQ(residentGroups(cdna, small->kernel("k"), 4), 4) << "128 registers of 512 a SIMD, accumulation registers included";
  EXPECT_EQ(residentGroups(cdna, small->kernel("k"), 16), 1);
  EXPECT_EQ(residentGroups(cdna, large->kernel("k"), 4), 2) << "LDS";
  const auto other = makeKernels("gfx1100", {{.name = "k", .body = "", .ldsBytes = 32768}});
  EXPECT_EQ(residentGroups(rdna, other->kernel("k"), 8), 4) << "two compute units of 64 KiB each";
}

}  // namespace
}  // namespace fattn::test
