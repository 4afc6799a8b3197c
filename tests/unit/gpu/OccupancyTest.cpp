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

}  // namespace
}  // namespace fattn::gpu
