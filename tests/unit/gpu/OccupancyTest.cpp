// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "compiler/gpu/Occupancy.h"

namespace fattn::gpu {
namespace {

void expectOccupancy(const char* target, const BlockNeeds& needs, int blocks, std::string_view limit) {
  const Occupancy found = occupancyOf(findTarget(target), needs);
  EXPECT_EQ(found.blocks, blocks) << target;
  EXPECT_EQ(found.limit, limit) << target;
}

// An SM of Hopper has 65536 registers, 228 KiB of shared memory of which each block costs 1 KiB more, and 64 warps (CUDA Programming
// Guide, "Compute Capability 9.0").
TEST(Occupancy, IsWhatRunsOutFirst) {
  expectOccupancy("nvidia:sm_90", {.warps = 8}, 8, "warps");
  expectOccupancy("nvidia:sm_90", {.warps = 4, .registers = 255}, 2, "registers");
  expectOccupancy("nvidia:sm_90", {.warps = 4, .registers = 32, .sharedBytes = 100 * 1024}, 2, "shared memory");
  expectOccupancy("nvidia:sm_90", {.warps = 4, .registers = 255, .sharedBytes = 200 * 1024}, 1, "shared memory");
  expectOccupancy("nvidia:sm_90", {.warps = 4, .sharedBytes = 227 * 1024}, 1, "shared memory");
  expectOccupancy("nvidia:sm_90", {.warps = 4, .sharedBytes = 227 * 1024 + 1}, 0, "shared memory");
}

// RDNA hands out registers by 24 a lane: 256 of them take 264, of which 2 blocks of four waves fit into 2 x 1536 for 32 lanes.
TEST(Occupancy, CountsRegistersAsTheyAreHandedOut) { expectOccupancy("amd:gfx1100", {.warps = 4, .registers = 256}, 2, "registers"); }

// Four SIMDs of CDNA with 8 places each, and four of RDNA's work group processor with 16, which share 128 KiB.
TEST(Occupancy, SaysHowManyWarpsASimdGets) {
  const auto most = [](const char* target, const BlockNeeds& needs) { return mostWarpsOfSimd(findTarget(target), needs); };
  EXPECT_EQ(most("amd:gfx942", {.warps = 4}), 8);
  EXPECT_EQ(most("amd:gfx942", {.warps = 12}), 6) << "two blocks, 24 warps";
  EXPECT_EQ(most("amd:gfx942", {.warps = 1, .sharedBytes = 40 * 1024}), 1) << "one block, one warp";
  EXPECT_EQ(most("amd:gfx942", {.warps = 4, .sharedBytes = 32 * 1024}), 2);
  EXPECT_EQ(most("amd:gfx942", {.warps = 4, .registers = 129}), 3);
  EXPECT_EQ(most("amd:gfx1100", {.warps = 8}), 16);
  EXPECT_EQ(most("amd:gfx1100", {.warps = 4, .sharedBytes = 40 * 1024}), 3) << "three blocks in two compute units";
  EXPECT_EQ(most("nvidia:sm_90a", {.warps = 4}), 0);
}

TEST(Occupancy, SaysWhichBoundLetsOneMoreBlockIn) {
  const auto bound = [](const char* target, const BlockNeeds& needs) {
    const std::optional<WarpBound> found = boundForOneMore(findTarget(target), needs);
    return found ? std::pair(found->warps, found->registers) : std::pair(0, 0);
  };
  EXPECT_EQ(bound("amd:gfx942", {.warps = 4, .registers = 130}), std::pair(4, 128));
  EXPECT_EQ(bound("amd:gfx942", {.warps = 4, .registers = 238, .sharedBytes = 20 * 1024}), std::pair(3, 168));
  EXPECT_EQ(bound("amd:gfx942", {.warps = 4, .registers = 238, .sharedBytes = 32 * 1024}), std::pair(0, 0)) << "shared memory is full, too";
  EXPECT_EQ(bound("amd:gfx1100", {.warps = 8, .registers = 250, .sharedBytes = 32 * 1024}), std::pair(6, 240));
  EXPECT_EQ(bound("nvidia:sm_90a", {.warps = 4, .registers = 255}), std::pair(0, 0));
}

}  // namespace
}  // namespace fattn::gpu
