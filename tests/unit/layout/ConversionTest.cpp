// SPDX-License-Identifier: Apache-2.0
// Conversions: every plan is run on symbolic data, and every register has to end up with its element.
#include "compiler/layout/Amd.h"
#include "compiler/layout/Conversion.h"
#include "compiler/layout/Nvidia.h"
#include "compiler/layout/Tiling.h"
#include "tests/unit/layout/Support.h"

namespace fattn::layout {
namespace {

Conversion expectDelivered(const LinearLayout& source, const LinearLayout& destination, int bits) {
  Conversion plan = planConversion(source, destination, bits);
  EXPECT_EQ(execute(plan, symbolic(plan.source)).values, symbolic(plan.destination).values)
      << plan.str() << "\nfrom " << source.str() << "\nto " << destination.str();
  return plan;
}

TEST(Conversion, Identity) {
  LinearLayout c = tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 80}, {4, 1});
  EXPECT_EQ(expectDelivered(c, c, 16).kind, ConversionKind::Identity);
  EXPECT_EQ(classify(c, c), ConversionKind::Identity);
}

// P of one product as A of the next: nothing, in wide tiles the order of registers at most.
TEST(Conversion, AccumulatorToOperandIsRenaming) {
  LinearLayout c = tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 80}, {4, 1});
  LinearLayout a = tileFragment(nvidia::mma(Operand::A, 16, 16), {64, 80}, {4, 1});
  EXPECT_EQ(expectDelivered(c, a, 16).kind, ConversionKind::Identity);
  // Warps side by side instead of one below the other would be another matter.
  EXPECT_EQ(classify(c, tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 80}, {2, 2})), ConversionKind::Shared);
}

TEST(Conversion, BytesNeedShuffles) {
  // The accumulator has 2 neighbours a lane, A of bytes 4: lanes of a quad exchange.
  LinearLayout c = tileFragment(nvidia::mma(Operand::C, 16, 16), {16, 32}, {1, 1}), a = nvidia::mma(Operand::A, 32, 8);
  EXPECT_EQ(classify(c, a), ConversionKind::Shuffles);
  Conversion plan = expectDelivered(c, a, 8);
  EXPECT_EQ(plan.kind, ConversionKind::Shuffles);
  EXPECT_LE(plan.cost.shuffles, 16);
}

TEST(Conversion, WarpsNeedSharedMemory) {
  LinearLayout c = tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 64}, {4, 1});
  LinearLayout rows = blocked({.shape = {64, 64}});
  EXPECT_EQ(classify(c, rows), ConversionKind::Shared);
  Conversion plan = expectDelivered(c, rows, 16);
  EXPECT_EQ(plan.kind, ConversionKind::Shared);
  EXPECT_TRUE(plan.cost.blockBarrier);
  EXPECT_EQ(plan.shared->read.conflicts() + plan.shared->write.conflicts(), 0);
  EXPECT_EQ(plan.str(), "shared: 16 stores of 2 element(s) and 4 loads of 8 a lane, 0 conflicts; a barrier of the block");
}

TEST(Conversion, LaneAndRegisterBitSwapTakesAsManyShufflesAsRegisters) {
  LinearLayout a = (LinearLayout::identity("register", 2, "dim0") * LinearLayout::identity("lane", 32, "dim0")).asTile(1);
  LinearLayout b = (LinearLayout::identity("lane", 2, "dim0") * LinearLayout::identity("register", 2, "dim0") *
                    LinearLayout::identity("lane", 16, "dim0"))
                       .asTile(1);
  Conversion plan = expectDelivered(a, b, 32);
  EXPECT_EQ(plan.kind, ConversionKind::Shuffles);
  EXPECT_EQ(plan.rounds.size(), 2U);
}

TEST(Conversion, SizesThatAreNoPowersOfTwo) {
  for (std::int64_t n : {80, 96, 144, 176, 192}) {
    LinearLayout c = tileFragment(nvidia::mma(Operand::C, 16, 16), {64, n}, {4, 1});
    expectDelivered(c, blocked({.shape = {64, n}}), 16);
    expectDelivered(blocked({.shape = {64, n}}), c, 32);
    expectDelivered(nvidia::wgmmaAccumulator(static_cast<int>(n)), c, 16);
    LinearLayout groups = tileFragment(nvidia::wgmmaAccumulator(static_cast<int>(n)), {192, n}, {3, 1});
    expectDelivered(groups, blocked({.shape = {192, n}, .warps = 12}), 16);
    LinearLayout mfma = tileFragment(amd::mfma(Operand::C, 16, 16, 16), {64, n}, {4, 1});
    expectDelivered(mfma, blocked({.shape = {64, n}, .lanes = 64}), 16);
  }
}

TEST(Conversion, WmmaAccumulatorToOperandExchangesHalves) {
  for (int gfx : {11, 12}) {
    Conversion plan = expectDelivered(amd::wmma(gfx, Operand::C, 32, 16), amd::wmma(gfx, Operand::B, 32, 16), 16);
    EXPECT_EQ(plan.kind, ConversionKind::Shuffles);
  }
}

TEST(Conversion, RandomLayouts) {
  std::mt19937 random = test::seeded(3);
  const std::vector<Coords> shapes = {{32, 32}, {16, 48}, {64, 16}, {8, 8, 24}, {1024}, {48, 80}};
  std::map<ConversionKind, int> seen;
  for (int trial = 0; trial < 300; ++trial) {
    const Coords& shape = shapes[random() % shapes.size()];
    LinearLayout source = test::randomTile(random, shape, 2), destination = test::randomTile(random, shape, 2);
    if (source.inputSize("warp") != destination.inputSize("warp")) continue;
    if (random() % 2) source = test::withCopies(random, source, 1 + random() % 2);
    if (random() % 2) destination = test::withCopies(random, destination, 1 + random() % 2);
    ++seen[expectDelivered(source, destination, 8 << random() % 3).kind];
  }
  EXPECT_GT(seen[ConversionKind::Shared], 50);
}

// Within a warp: any two bijections need shuffles only, and no more rounds than registers.
TEST(Conversion, RandomLayoutsOfOneWarp) {
  std::mt19937 random = test::seeded(5);
  std::map<ConversionKind, int> seen;
  for (int trial = 0; trial < 300; ++trial) {
    Coords shape = trial % 2 ? Coords{16, 8} : Coords{8, 48};
    LinearLayout source = test::randomTile(random, {shape[0], shape[1]}, 0), destination = test::randomTile(random, shape, 0);
    if (source.inputSize("warp") != destination.inputSize("warp")) continue;
    bool copies = trial % 3 == 0;
    if (copies) source = test::withCopies(random, source, 1);
    if (copies && random() % 2) destination = test::withCopies(random, destination, 1);
    Conversion plan = expectDelivered(source, destination, 32);
    ++seen[plan.kind];
    if (plan.kind == ConversionKind::Shuffles) {
      EXPECT_LE(std::ssize(plan.rounds) * plan.word, destination.inputSize("register"));
    }
    if (!copies) {
      EXPECT_NE(classify(source, destination), ConversionKind::Shared);
    }
  }
  EXPECT_GT(seen[ConversionKind::Shuffles], 100);
}

// Registers in another order, the same lanes and warps.
TEST(Conversion, RandomRenamings) {
  std::mt19937 random = test::seeded(9);
  for (int trial = 0; trial < 100; ++trial) {
    LinearLayout source = test::randomTile(random, {64, 48}, 1);
    f2::Columns columns = source.columns();
    std::shuffle(columns.begin(), columns.begin() + source.inputBits("register"), random);
    columns[0] ^= columns[1];
    LinearLayout destination = LinearLayout::fromColumns(source.inputs(), source.outputs(), columns, source.repeats());
    EXPECT_EQ(expectDelivered(source, destination, 16).kind, ConversionKind::Registers);
  }
}

TEST(Conversion, Errors) {
  LinearLayout c = tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 64}, {4, 1});
  EXPECT_EQ(test::messageOf([&] { planConversion(c, blocked({.shape = {64, 32}}), 16); }),
            "a tile of (64,64) cannot become one of (64,32)");
  EXPECT_EQ(test::messageOf([&] { planConversion(c, blocked({.shape = {64, 64}, .warps = 8}), 16); }),
            "the source has 4 warps, the destination 8\n  hint: give the smaller one copies: layout * LinearLayout::broadcast(...)");
}

}  // namespace
}  // namespace fattn::layout
