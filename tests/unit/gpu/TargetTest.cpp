// SPDX-License-Identifier: Apache-2.0
// The machine table: lookups, and that each row is consistent in itself.
#include <gtest/gtest.h>

#include "compiler/gpu/Fragments.h"
#include "compiler/gpu/Target.h"
#include "compiler/gpu/schedule/LoopModel.h"
#include "compiler/layout/Nvidia.h"
#include "compiler/layout/Tiling.h"
#include "fattn/Error.h"
#include "tests/unit/gpu/Loops.h"

namespace fattn::gpu {
namespace {

TEST(Target, EveryNameFindsItsRow) {
  const std::vector<std::string_view> names = {"nvidia:sm_80",  "nvidia:sm_86",  "nvidia:sm_89",  "nvidia:sm_90",
                                               "nvidia:sm_90a", "nvidia:sm_100", "nvidia:sm_120", "amd:gfx942",
                                               "amd:gfx950",    "amd:gfx1100",   "amd:gfx1201"};
  EXPECT_EQ(targetNames(), names);
  for (const auto name : targetNames()) EXPECT_EQ(findTarget(name).name, name);
}

TEST(Target, AnUnknownNameListsTheLegalOnes) {
  try {
    findTarget("nvidia:sm_75");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.constraint(), "there is no GPU target 'nvidia:sm_75'");
    EXPECT_EQ(error.hint(),
              "legal targets are nvidia:sm_80, nvidia:sm_86, nvidia:sm_89, nvidia:sm_90, nvidia:sm_90a, nvidia:sm_100, nvidia:sm_120, "
              "amd:gfx942, amd:gfx950, amd:gfx1100, amd:gfx1201");
  }
}

TEST(Target, RowsAreConsistent) {
  for (const auto name : targetNames()) {
    SCOPED_TRACE(name);
    const Target& t = findTarget(name);
    EXPECT_LE(t.shared.bytesPerBlock, t.shared.bytesPerSM);
    EXPECT_TRUE(t.warpSize == 32 || t.warpSize == 64);
    EXPECT_GT(t.rates.issue, 0);
    EXPECT_GE(t.dies, 1);
    EXPECT_EQ(t.simds == 0, name.starts_with("nvidia:")) << "AMD's code generator bounds registers by the waves of a SIMD";
    EXPECT_EQ(t.simds == 0 ? 0 : t.maxWarps % t.simds, 0);
    EXPECT_GE(t.registers.perSM / t.registers.perThread, 128);
    EXPECT_EQ(t.shared.bytesPerCycle.value_or(t.shared.banks * t.shared.bankBytes), t.shared.banks * t.shared.bankBytes);
    EXPECT_EQ((1 << t.shared.wideGroup.size()) * 16, t.shared.banks * t.shared.bankBytes) << "lanes of 16 bytes that all banks serve";
    EXPECT_NE(t.copy(CopyKind::Register), nullptr);
    ASSERT_NE(t.matrixFor(DType::BF16), nullptr);
    for (const MatrixInstruction& row : t.matrix) {
      EXPECT_FALSE(row.layout.empty());
      EXPECT_GT(row.stepN, 0);
      EXPECT_EQ(row.maxN % row.stepN, 0);
      EXPECT_LE(row.minN, row.maxN);
      for (const Homes homes : {row.a, row.b, row.accumulator}) EXPECT_NE(homes.bits, 0);
      EXPECT_EQ(row.asynchronous, row.inOrder) << "the schedule model knows in-order queues only";
    }
  }
}

TEST(Target, WgmmaCyclesAreTheMeasuredOnes) {
  const MatrixInstruction& wgmma = *findTarget("nvidia:sm_90a").matrixFor(DType::BF16);
  EXPECT_EQ(wgmma.cyclesOf(128, true), 64);
  EXPECT_EQ(wgmma.cyclesOf(64, true), 32);
  EXPECT_EQ(wgmma.cyclesOf(32, true), 24);
  EXPECT_EQ(wgmma.cyclesOf(32, false), 16);
  EXPECT_FALSE(findTarget("nvidia:sm_100").matrixFor(DType::BF16)->cyclesOf(128, true).has_value());
}

// What setmaxnreg leaves the computing groups of the hand-written kernels: 24/240, 32/160, 24/112.
TEST(Target, RegistersOfTheComputingGroupsAsProvenKernelsHaveThem) {
  const Target& hopper = findTarget("nvidia:sm_90a");
  EXPECT_EQ(registerLimit(hopper, 2, 128), 240);
  EXPECT_EQ(registerLimit(hopper, 3, 128), 160);
  EXPECT_EQ(registerLimit(hopper, 4, 128), 112);
  EXPECT_EQ(registerLimit(findTarget("nvidia:sm_80"), 2, 128), 255);
  EXPECT_EQ(registerLimit(findTarget("nvidia:sm_80"), 4, 128), 128);
  EXPECT_EQ(registerLimit(findTarget("amd:gfx942"), 1, 256), 512);
}

TEST(Target, DotsOfEveryVendorHaveTheirPeak) {
  // A 128 x 128 x 128 product is 2^21 FMA: divided by what an SM does in a cycle.
  LoopModel loop{.name = "dot"};
  loop.nodes = {dotNode("C", 128, 128, false, 0)};
  loop.nodes[0].dot.m = 128;
  const auto cycles = [&](const char* target) { return cost(loop, findTarget(target)).nodes[0].cycles; };
  EXPECT_EQ(cycles("nvidia:sm_90a"), 1024);  // 2048
  EXPECT_EQ(cycles("nvidia:sm_80"), 2048);   // 1024
  EXPECT_EQ(cycles("nvidia:sm_86"), 4096);   // 512
  EXPECT_EQ(cycles("amd:gfx942"), 2048);     // 1024
  EXPECT_EQ(cycles("amd:gfx950"), 1024);     // 2048
  EXPECT_EQ(cycles("amd:gfx1100"), 8192);    // 256
  EXPECT_EQ(cycles("amd:gfx1201"), 4096);    // 512
}

// The accumulator of a mirrored instruction is, transposed, the first operand of the next one: what the table says of every chip.
TEST(Target, FragmentsOfEveryRowInRegisters) {
  for (const auto name : targetNames())
    for (const MatrixInstruction& row : findTarget(name).matrix) {
      if (!row.isInRegisters()) continue;
      SCOPED_TRACE(std::string(name) + " " + std::string(row.name));
      const int bits = static_cast<int>(sizeInBytes(row.types.front())) * 8;
      const auto shape = [&](layout::Operand operand, int depth) { return fragmentOf(row, operand, depth, bits).outputShape(); };
      for (const int depth : {row.k, row.shallowest()}) {
        EXPECT_EQ(shape(layout::Operand::A, depth), (layout::Coords{row.m, depth}));
        EXPECT_EQ(shape(layout::Operand::B, depth), (layout::Coords{depth, row.stepN}));
        EXPECT_EQ(shape(layout::Operand::C, depth), (layout::Coords{row.m, row.stepN}));
      }
      EXPECT_EQ(isMirrored(row, row.k, bits), name.starts_with("amd:"));
    }
}

// Tiles of 384 rows on 12 warps: 128 rows a group. (Once they were refused by the lowering, in terms of the compiler.)
TEST(Target, RowsOfWarpGroups) {
  const layout::LinearLayout fragment = layout::nvidia::mma(layout::Operand::C, 16, 16);
  const auto step = [&](int64_t rows, int64_t warps) -> std::optional<int64_t> {
    const auto grid = groupGridOf(layout::tileFragment(fragment, {rows, 16}, {warps, 1}), 64, 4);
    EXPECT_EQ(grid ? grid->columns : 1, 1);
    return grid ? std::optional(grid->rowStep) : std::nullopt;
  };
  EXPECT_EQ(step(64, 4), 64);
  EXPECT_EQ(step(256, 8), 64);
  EXPECT_EQ(step(192, 12), 64);
  EXPECT_EQ(step(384, 12), 128);
  EXPECT_EQ(step(768, 24), std::nullopt);  // from 0 to 64, 256 and 320
  EXPECT_FALSE(groupGridOf(layout::tileFragment(fragment, {64, 32}, {2, 2}), 64, 4));
}

TEST(Target, ColumnsOfWarpGroups) {
  const layout::LinearLayout fragment = layout::nvidia::mma(layout::Operand::C, 16, 16);
  const auto grid = [&](int64_t rows, int64_t columns, int64_t rowGroups, int64_t columnGroups) {
    return groupGridOf((layout::tileFragment(fragment, {rows, columns / columnGroups}, {4 * rowGroups, 1}) *
                        layout::LinearLayout::identity(layout::kWarp, columnGroups, layout::dim(1)))
                           .asTile(2),
                       64, 4);
  };
  const auto beside = grid(64, 128, 1, 2), both = grid(128, 256, 2, 2);
  ASSERT_TRUE(beside && both);
  EXPECT_EQ(std::pair(beside->rows, beside->columns), std::pair(int64_t{1}, int64_t{2}));
  EXPECT_EQ(std::pair(beside->rowStep, beside->columnStep), std::pair(int64_t{64}, int64_t{64}));
  EXPECT_EQ(std::pair(both->rows, both->columns), std::pair(int64_t{2}, int64_t{2}));
  EXPECT_EQ(std::pair(both->rowStep, both->columnStep), std::pair(int64_t{64}, int64_t{128}));
  EXPECT_EQ(std::pair(beside->columnParts, both->columnParts), std::pair(int64_t{1}, int64_t{1}));
  // Columns that do not lie side by side: every second fragment belongs to the other group, and every second part of three.
  const auto fragments = groupGridOf(layout::tileFragment(fragment, {64, 128}, {4, 2}), 64, 4);
  ASSERT_TRUE(fragments);
  EXPECT_EQ(std::pair(fragments->columnStep, fragments->columnParts), std::pair(int64_t{8}, int64_t{8}));
  const auto parts =
      groupGridOf((layout::tileFragment(fragment, {64, 32}, {4, 1}) * layout::LinearLayout::identity(layout::kWarp, 2, layout::dim(1)) *
                   layout::LinearLayout::identity(layout::kRegister, 3, layout::dim(1)))
                      .asTile(2),
                  64, 4);
  ASSERT_TRUE(parts);
  EXPECT_EQ(std::pair(parts->columns, parts->columnParts), std::pair(int64_t{2}, int64_t{3}));
  EXPECT_EQ(parts->columnStep, 32);
}

}  // namespace
}  // namespace fattn::gpu
