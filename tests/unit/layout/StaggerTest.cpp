// SPDX-License-Identifier: Apache-2.0
// Registers in another order lane by lane: no conflicts are left, and every lane still holds what it held.
#include "compiler/layout/Parse.h"
#include "compiler/layout/Stagger.h"
#include "tests/unit/layout/Support.h"

namespace fattn::layout {
namespace {

// What one warp group has of a 64 x 128 tile of f32 when the matrix unit has computed it (PTX ISA 8.7, "wgmma", "Matrix fragments", D).
LinearLayout fragments() {
  return parseLayout(
      "register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32), 32 -> (0,64); "
      "lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 128");
}

/// Each lane's register r is the register of the old layout that the swaps bring there.
void expectSameElements(const LinearLayout& registers, const Staggered& order) {
  for (std::int64_t warp = 0; warp < registers.inputSize(kWarp); ++warp)
    for (std::int64_t lane = 0; lane < registers.inputSize(kLane); ++lane)
      for (std::int64_t r = 0; r < registers.inputSize(kRegister); ++r) {
        std::int64_t from = r;
        for (const Swap& swap : order.swaps)
          if (lane >> swap.laneBit & 1) from ^= std::int64_t{1} << swap.registerBit;
        ASSERT_EQ(order.layout.at({{kRegister, r}, {kLane, lane}, {kWarp, warp}}),
                  registers.at({{kRegister, from}, {kLane, lane}, {kWarp, warp}}));
      }
}

TEST(Stagger, FragmentsOfF32InTheEnginesRows) {
  const LinearLayout registers = fragments();
  const SharedLayout rows = swizzled({64, 128}, 32, 128);
  const BankReport before = bankConflicts(registers, rows, 32);
  EXPECT_EQ(before.vector, 2);
  EXPECT_EQ(before.passes, 2 * before.ideal);
  const Staggered order = staggered(registers, rows, 32);
  EXPECT_EQ(order.swaps.size(), 1U);
  EXPECT_EQ(bankConflicts(order.layout, rows, 32).conflicts(), 0);
  expectSameElements(registers, order);
}

TEST(Stagger, NothingIsSwappedWithoutConflicts) {
  const Staggered order = staggered(fragments(), swizzled({64, 128}, 32, 128, 32), 32);
  EXPECT_TRUE(order.swaps.empty());
  EXPECT_EQ(order.layout, fragments());
}

// Whatever the layout is: never more conflicts, the same vectors, and the same elements in every lane.
TEST(Stagger, RandomTiles) {
  std::mt19937 random = test::seeded(11);
  int better = 0;
  for (int i = 0; i < 200; ++i) {
    LinearLayout registers = test::randomTile(random, {32, 64}, 2);
    if (i % 4 == 0) registers = test::withCopies(random, registers, 1);
    const SharedLayout shared = i % 2 ? swizzled({32, 64}, 32, 128) : rowMajor({32, 64});
    const BankReport before = bankConflicts(registers, shared, 32);
    const Staggered order = staggered(registers, shared, 32);
    const BankReport after = bankConflicts(order.layout, shared, 32);
    EXPECT_EQ(after.vector, before.vector);
    EXPECT_EQ(order.swaps.empty(), after.passes == before.passes);
    EXPECT_LE(after.passes, before.passes);
    better += after.passes < before.passes;
    expectSameElements(registers, order);
  }
  EXPECT_GT(better, 50);
}

}  // namespace
}  // namespace fattn::layout
