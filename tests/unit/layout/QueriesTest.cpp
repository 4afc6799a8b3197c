// SPDX-License-Identifier: Apache-2.0
// Vector widths and reductions, the latter run on a model.
#include "compiler/layout/Amd.h"
#include "compiler/layout/Conversion.h"
#include "compiler/layout/Nvidia.h"
#include "compiler/layout/Queries.h"
#include "compiler/layout/Tiling.h"
#include "tests/unit/layout/Support.h"

namespace fattn::layout {
namespace {

TEST(Queries, VectorWidth) {
  LinearLayout rows = blocked({.shape = {64, 64}}), c = tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 80}, {4, 1});
  EXPECT_EQ(consecutive(rows, 1), 8);
  EXPECT_EQ(consecutive(rows, 0), 1);
  EXPECT_EQ(consecutive(c, 1), 2);
  EXPECT_EQ(vectorWidth(rows, 1, 16), 8);
  EXPECT_EQ(vectorWidth(rows, 1, 16, 4), 2) << "base aligned to 4 bytes";
  EXPECT_EQ(vectorWidth(rows, 1, 32), 4);
  EXPECT_EQ(vectorWidth(amd::mfma(Operand::C, 32, 8, 16), 0, 32), 4) << "four rows, for a column-major result";
  EXPECT_EQ(memoryVectors(c, 1, 2)[1], (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(test::messageOf([&] { consecutive(c, 2); }), "the layout has no dimension 2; it has 2");
}

TEST(Queries, VectorsAreConsecutiveInEveryLane) {
  for (const LinearLayout& layout : {blocked({.shape = {16, 80}}), amd::mfma(Operand::B, 16, 16, 16), nvidia::wgmmaAccumulator(24),
                                     blocked({.shape = {32, 16}, .order = {0, 1}, .elementBits = 8})}) {
    for (int d : {0, 1}) {
      int width = consecutive(layout, d);
      for (const auto& group : memoryVectors(layout, d, width)) {
        ASSERT_EQ(std::ssize(group), width);
        for (std::int64_t lane : {0, 1, 9, 31}) {
          Coords start = layout.at({{"register", group[0]}, {"lane", lane}});
          EXPECT_EQ(start[d] % width, 0);
          for (int i = 0; i < width; ++i) {
            Coords expected = start;
            expected[d] += i;
            EXPECT_EQ(layout.at({{"register", group[i]}, {"lane", lane}}), expected);
          }
        }
      }
    }
  }
}

/// Runs a plan on elements 2^(position along d) in exact integers (positions below 53), so that a sum says what was added how often.
void expectReduced(const LinearLayout& tile, int d) {
  ReductionPlan plan = planReduction(tile, d);
  LinearLayout layout = tile.asTile(static_cast<int>(tile.outputs().size()));
  RegisterFile file = symbolic(layout);
  test::forEach(layout, [&](const Coords& in, const Coords& out) { file.at(in[0], in[1], in[2]) = std::int64_t{1} << out[d]; });
  auto apply = [&](auto partners) {
    RegisterFile before = file;
    test::forEach(layout, [&](const Coords& in, const Coords&) {
      std::int64_t sum = 0;
      for (const Coords& partner : partners(in)) sum += before.at(partner[0], partner[1], partner[2]);
      file.at(in[0], in[1], in[2]) = sum;
    });
  };
  for (const auto* steps : {&plan.registers, &plan.shuffles, &plan.warps}) {
    for (const ReductionStep& step : *steps) {
      apply([&](const Coords& in) { return std::vector<Coords>{in, {in[0] ^ step.reg, in[1] ^ step.lane, in[2] ^ step.warp}}; });
    }
  }
  for (int input : {0, 2}) {
    for (const ReductionCopies& copies : input ? plan.warpCopies : plan.registerCopies) {
      apply([&](const Coords& in) {
        std::vector<Coords> partners;
        std::int64_t first = in[input] - in[input] / copies.stride % copies.count * copies.stride;
        for (std::int64_t i = 0; i < copies.count; ++i) {
          partners.push_back(in);
          partners.back()[input] = first + i * copies.stride;
        }
        return partners;
      });
    }
  }
  std::int64_t all = (std::int64_t{1} << layout.outputSize(dim(d))) - 1;
  for (std::int64_t value : file.values) ASSERT_EQ(value, all) << layout.str();
}

TEST(Queries, RowsOfWarps) {
  LinearLayout c = tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 80}, {4, 1});
  EXPECT_EQ(rowsOfWarps(c), 16);
  EXPECT_EQ(rowsOfWarps(tileFragment(nvidia::mma(Operand::C, 16, 16), {128, 48}, {4, 1})), 16) << "twice, 64 rows apart";
  EXPECT_EQ(rowsOfWarps(tileFragment(nvidia::mma(Operand::C, 16, 16), {192, 32}, {12, 1})), 16);
  EXPECT_EQ(rowsOfWarps(tileFragment(nvidia::mma(Operand::C, 16, 16), {32, 32}, {1, 1})), 32) << "one warp has all";
  EXPECT_FALSE(rowsOfWarps(tileFragment(nvidia::mma(Operand::C, 16, 16), {32, 48}, {2, 3}))) << "columns of several warps";
  EXPECT_FALSE(rowsOfWarps(c * LinearLayout::broadcast("warp", 2))) << "two warps with the same rows";
  EXPECT_FALSE(rowsOfWarps(blocked({.shape = {64}, .order = {0}}))) << "one dimension";
}

TEST(Queries, BoxOfWarps) {
  auto box = [](const LinearLayout& layout) {
    std::optional<WarpBox> found = boxOfWarps(layout);
    return found ? std::pair(found->rows, found->columns) : std::pair(std::int64_t{0}, std::int64_t{0});
  };
  const auto of = [](std::int64_t rows, std::int64_t columns) { return std::pair(rows, columns); };
  auto c = nvidia::mma(Operand::C, 16, 16);
  EXPECT_EQ(box(tileFragment(c, {64, 80}, {4, 1})), of(16, 80)) << "all columns, no power of two";
  EXPECT_EQ(box(tileFragment(c, {64, 128}, {4, 2})).first, 16);
  LinearLayout halves = tileFragment(c, {64, 64}, {4, 1}) * LinearLayout::identity("warp", 2, dim(1));
  EXPECT_EQ(box(halves), of(16, 64)) << "the upper half of the columns is other warps'";
  EXPECT_EQ(box(tileFragment(c, {32, 32}, {1, 1})), of(32, 32));
  EXPECT_EQ(box(c * LinearLayout::broadcast("warp", 2)), of(0, 0)) << "two warps with the same elements";
  EXPECT_EQ(box(blocked({.shape = {64}, .order = {0}})), of(0, 0)) << "one dimension";
}

TEST(Queries, FirstElements) {
  auto c = nvidia::mma(Operand::C, 16, 16);
  EXPECT_EQ(firstElements(tileFragment(c, {64, 64}, {4, 1}), 1, 32), tileFragment(c, {64, 32}, {4, 1}));
  EXPECT_EQ(firstElements(tileFragment(c, {64, 64}, {4, 1}), 0, 32), std::nullopt) << "warps hold the other rows";
  EXPECT_EQ(firstElements(tileFragment(c, {64, 64}, {4, 1}), 1, 48), std::nullopt) << "no power of two";
}

TEST(Queries, WarpsHoldSameRows) {
  LinearLayout c = tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 64}, {4, 1});
  EXPECT_TRUE(warpsHoldSameRows(c, tileFragment(nvidia::mma(Operand::A, 16, 16), {64, 64}, {4, 1})));
  EXPECT_FALSE(warpsHoldSameRows(c, blocked({.shape = {64, 64}}))) << "rows in another order";
  EXPECT_FALSE(warpsHoldSameRows(c, tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 64}, {2, 2})));
  EXPECT_TRUE(warpsHoldSameRows(c, tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 32}, {4, 1}))) << "half of the columns";
  EXPECT_FALSE(warpsHoldSameRows(c, tileFragment(nvidia::mma(Operand::C, 16, 16), {128, 64}, {4, 1}))) << "another tile";
}

TEST(Reduction, RowsOfTheAccumulator) {
  LinearLayout c = tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 48}, {4, 1});
  ReductionPlan plan = planReduction(c, 1);
  EXPECT_EQ(plan.registers, (std::vector<ReductionStep>{{1, 0, 0}, {4, 0, 0}}));
  EXPECT_EQ(plan.shuffles, (std::vector<ReductionStep>{{0, 1, 0}, {0, 2, 0}}));
  EXPECT_TRUE(plan.warps.empty());
  EXPECT_EQ(plan.registerCopies, (std::vector<ReductionCopies>{{8, 3}}));
  EXPECT_EQ(plan.result.inputSize("register"), 2) << "rows lane/4 and lane/4 + 8";
  EXPECT_EQ(plan.shuffleCount(), 4);
  expectReduced(c, 1);
}

TEST(Reduction, AcrossWarps) {
  LinearLayout c = tileFragment(nvidia::mma(Operand::C, 16, 16), {32, 48}, {2, 3});
  EXPECT_EQ(planReduction(c, 1).warpCopies, (std::vector<ReductionCopies>{{2, 3}}));
  EXPECT_EQ(planReduction(c, 0).warps, (std::vector<ReductionStep>{{0, 0, 1}}));
  expectReduced(c, 0);
  expectReduced(c, 1);
}

TEST(Reduction, RandomLayoutsWithCopies) {
  std::mt19937 random = test::seeded(13);
  for (int trial = 0; trial < 150; ++trial) {
    LinearLayout layout = test::randomTile(random, trial % 2 ? Coords{32, 48} : Coords{40, 4, 24}, 1);
    if (trial % 3) layout = test::withCopies(random, layout, 1 + trial % 2);
    for (int d = 0; d < static_cast<int>(layout.outputs().size()); ++d) expectReduced(layout, d);
  }
}

/// Runs a scan on the model: each digit adds what comes before in a block of the digits up to it.
void expectScanned(const LinearLayout& layout, int d) {
  auto digits = scanDigits(layout, d);
  ASSERT_TRUE(digits) << layout.str();
  auto valueOf = [](const Coords& at) {
    std::int64_t value = 1;
    for (std::int64_t coordinate : at) value = value * 31 + coordinate;
    return value;
  };
  RegisterFile totals = symbolic(layout), before = totals;
  test::forEach(layout, [&](const Coords& in, const Coords& at) {
    totals.at(in[0], in[1], in[2]) = valueOf(at);
    before.at(in[0], in[1], in[2]) = 0;
  });
  for (const ScanDigit& digit : *digits) {
    RegisterFile last = totals;
    test::forEach(layout, [&](const Coords& in, const Coords& at) {
      std::int64_t &sum = before.at(in[0], in[1], in[2]), &total = totals.at(in[0], in[1], in[2]);
      if (digit.lane) {
        std::int64_t other = last.at(in[0], in[1] ^ digit.lane, in[2]);
        if (in[1] & digit.lane) sum += other;
        total += other;
        return;
      }
      std::int64_t own = at[d] / digit.below % digit.count;
      total = 0;
      std::vector<bool> seen(digit.count);
      for (std::int64_t r = 0; r < totals.registers; ++r) {
        Coords other = layout.apply({r, in[1], in[2]});
        std::int64_t number = other[d] / digit.below % digit.count;
        other[d] += (own - number) * digit.below;
        if (other != at || seen[number]) continue;
        seen[number] = true;
        total += last.at(r, in[1], in[2]);
        if (number < own) sum += last.at(r, in[1], in[2]);
      }
    });
  }
  test::forEach(layout, [&](const Coords& in, const Coords& at) {
    std::int64_t expected = 0;
    Coords other = at;
    for (other[d] = 0; other[d] < at[d]; ++other[d]) expected += valueOf(other);
    ASSERT_EQ(before.at(in[0], in[1], in[2]), expected) << layout.str();
  });
}

TEST(Scan, RowsOfTheAccumulator) {
  LinearLayout c = tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 48}, {4, 1});
  EXPECT_EQ(scanDigits(c, 1), (std::vector<ScanDigit>{{1, 2, 0}, {2, 2, 1}, {4, 2, 2}, {8, 6, 0}}));
  EXPECT_FALSE(scanDigits(c, 0)) << "warps choose the upper rows";
  expectScanned(c, 1);
}

TEST(Scan, LinesOverLanesAndRegisters) {
  for (int vector : {4, 8, 16})
    for (const Coords& shape : {Coords{256}, Coords{8, 64}, Coords{64, 8}, Coords{3, 40}, Coords{4, 4, 12}}) {
      std::vector<int> order;
      for (int d = static_cast<int>(shape.size()) - 1; d >= 0; --d) order.push_back(d);
      LinearLayout layout = blocked({.shape = shape, .order = order, .elementBits = 32, .warps = 1, .vectorBytes = vector});
      for (int d = 0; d < static_cast<int>(shape.size()); ++d) expectScanned(layout, d);
    }
}

TEST(Scan, NeedsOneInputForEachBit) {
  LinearLayout twice = LinearLayout::identity("register", 4, "dim0") * LinearLayout::identity("lane", 32, "dim1");
  EXPECT_TRUE(scanDigits(twice.asTile(2), 0));
  LinearLayout mixed({{"register", {{1, 0}, {3, 0}}}, {"lane", {}}, {"warp", {}}}, {{"dim0", 2}, {"dim1", 0}});
  EXPECT_FALSE(scanDigits(mixed, 0)) << "the second register bit moves along both bits";
  LinearLayout copies({{"register", {{1, 0}}}, {"lane", {{1, 0}}}, {"warp", {}}}, {{"dim0", 1}, {"dim1", 0}});
  EXPECT_FALSE(scanDigits(copies, 0)) << "register and lane choose the same bit";
}

}  // namespace
}  // namespace fattn::layout
