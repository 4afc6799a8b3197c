// SPDX-License-Identifier: Apache-2.0
// The fragments of matrix instructions against formulas written down from the vendors' documents, not from the products that make them.
#include "compiler/layout/Amd.h"
#include "compiler/layout/Nvidia.h"
#include "compiler/layout/Tiling.h"
#include "tests/unit/layout/Support.h"

namespace fattn::layout {
namespace {

using test::expectBijection;
using Formula = std::function<Coords(std::int64_t reg, std::int64_t lane, std::int64_t warp)>;

void expectFormula(const LinearLayout& layout, const Formula& formula) {
  test::forEach(layout, [&](const Coords& in, const Coords& out) {
    ASSERT_EQ(out, formula(in[0], in[1], in[2])) << "register " << in[0] << " of lane " << in[1] << " of warp " << in[2];
  });
}

// PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type": A, B and C.
TEST(Nvidia, M16N8K16OfHalf) {
  expectFormula(nvidia::mma(Operand::A, 16, 16), [](auto i, auto lane, auto) {
    auto row = (i < 2 || (i >= 4 && i < 6)) ? lane / 4 : lane / 4 + 8;
    auto column = lane % 4 * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    return Coords{row, column};
  });
  expectFormula(nvidia::mma(Operand::B, 16, 16),
                [](auto i, auto lane, auto) { return Coords{lane % 4 * 2 + (i & 1) + (i >= 2 ? 8 : 0), lane / 4}; });
  expectFormula(nvidia::mma(Operand::C, 16, 16),
                [](auto i, auto lane, auto) { return Coords{lane / 4 + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)}; });
}

// PTX ISA, figures of the fragments: some cells as they are printed there.
TEST(Nvidia, M16N8K16CellsOfTheFigures) {
  EXPECT_EQ(nvidia::mma(Operand::A, 16, 16).at({{"register", 0}, {"lane", 0}}), (Coords{0, 0}));
  EXPECT_EQ(nvidia::mma(Operand::A, 16, 16).at({{"register", 3}, {"lane", 31}}), (Coords{15, 7}));
  EXPECT_EQ(nvidia::mma(Operand::A, 16, 16).at({{"register", 4}, {"lane", 5}}), (Coords{1, 10}));
  EXPECT_EQ(nvidia::mma(Operand::B, 16, 16).at({{"register", 2}, {"lane", 6}}), (Coords{12, 1}));
  EXPECT_EQ(nvidia::mma(Operand::C, 16, 16).at({{"register", 2}, {"lane", 31}}), (Coords{15, 6}));
}

TEST(Nvidia, Tf32AndBytes) {
  // m16n8k8 of tf32: a0 (g, t), a1 (g + 8, t), a2 (g, t + 4), a3 (g + 8, t + 4); b0 (t, g), b1 (t + 4, g)
  expectFormula(nvidia::mma(Operand::A, 8, 32),
                [](auto i, auto lane, auto) { return Coords{lane / 4 + (i & 1) * 8, lane % 4 + i / 2 * 4}; });
  expectFormula(nvidia::mma(Operand::B, 8, 32), [](auto i, auto lane, auto) { return Coords{lane % 4 + i * 4, lane / 4}; });
  expectFormula(nvidia::mma(Operand::A, 4, 32), [](auto i, auto lane, auto) { return Coords{lane / 4 + i * 8, lane % 4}; });
  // m16n8k32 of bytes: row g for i < 4 and 8 <= i < 12, column 4t + i % 4 (+ 16 for i >= 8)
  expectFormula(nvidia::mma(Operand::A, 32, 8), [](auto i, auto lane, auto) {
    return Coords{(i < 4 || (i >= 8 && i < 12)) ? lane / 4 : lane / 4 + 8, lane % 4 * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
  });
  expectFormula(nvidia::mma(Operand::B, 32, 8),
                [](auto i, auto lane, auto) { return Coords{lane % 4 * 4 + (i & 3) + (i >= 4 ? 16 : 0), lane / 4}; });
  EXPECT_EQ(test::messageOf([] { nvidia::mma(Operand::A, 32, 16); }),
            "mma.m16n8k32 has no operands of 16 bits\n  hint: 8 bits: k16, k32; 16 bits: k8, k16; 32 bits (tf32): k4, k8");
}

// PTX ISA, "Register fragments for wgmma.mma_async.m64nNk16": D and A. N = 80 is 5 copies of 16 columns.
TEST(Nvidia, Wgmma) {
  for (int n : {8, 24, 64, 80, 96, 144, 176, 192, 256}) {
    LinearLayout layout = nvidia::wgmmaAccumulator(n);
    expectBijection(layout, {64, n});
    expectFormula(layout, [](auto i, auto lane, auto warp) {
      return Coords{16 * warp + lane / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (lane % 4) + i % 2};
    });
  }
  expectFormula(nvidia::wgmmaA(16), [](auto i, auto lane, auto warp) {
    return Coords{16 * warp + lane / 4 + 8 * (i / 2 % 2), 2 * (lane % 4) + i % 2 + 8 * (i / 4)};
  });
  EXPECT_EQ(test::messageOf([] { nvidia::wgmmaAccumulator(20); }), "wgmma.m64n20: n is a multiple of 8 from 8 to 256");
}

// The accumulator of one product is the A operand of the next: only packing is between them.
TEST(Nvidia, AccumulatorIsTheNextOperandA) {
  LinearLayout c = tileFragment(nvidia::mma(Operand::C, 16, 16), {16, 16}, {1, 1});
  EXPECT_EQ(c, nvidia::mma(Operand::A, 16, 16));
  EXPECT_EQ(nvidia::wgmmaAccumulator(16), nvidia::wgmmaA(16));
}

TEST(Nvidia, LdmatrixLeavesFragments) {
  // PTX ISA, ldmatrix: thread t gets row t/4, elements 2 (t%4) and the next of each matrix
  expectFormula(nvidia::ldmatrix(4, false), [](auto i, auto lane, auto) { return Coords{8 * (i / 2) + lane / 4, lane % 4 * 2 + i % 2}; });
  expectFormula(nvidia::ldmatrix(2, true), [](auto i, auto lane, auto) { return Coords{8 * (i / 2) + lane % 4 * 2 + i % 2, lane / 4}; });
}

TEST(Nvidia, MatrixAccess) {
  LinearLayout a = tileFragment(nvidia::mma(Operand::A, 16, 16), {64, 64}, {4, 1});
  auto access = nvidia::matrixAccess(a, 1, 16);
  ASSERT_TRUE(access);
  EXPECT_FALSE(access->transposed);
  EXPECT_EQ(access->count, 4);
  expectBijection(access->access, {64, 64});
  // Lane 9 gives the row of the second matrix (rows 8..15), the one with number 1; lane 16 the first of columns 8..15.
  EXPECT_EQ(access->access.at({{"lane", 9}}), (Coords{9, 0}));
  EXPECT_EQ(access->access.at({{"lane", 16}}), (Coords{0, 8}));
  EXPECT_EQ(access->access.at({{"register", 7}, {"lane", 1}}), (Coords{1, 7}));

  LinearLayout b = tileFragment(nvidia::mma(Operand::B, 16, 16), {64, 64}, {1, 1});
  EXPECT_FALSE(nvidia::matrixAccess(b, 0, 16)->transposed);
  EXPECT_TRUE(nvidia::matrixAccess(b, 1, 16)->transposed);
  EXPECT_EQ(nvidia::matrixAccess(b, 1, 16)->access.at({{"register", 3}, {"lane", 5}}), (Coords{5, 3}));
  EXPECT_FALSE(nvidia::matrixAccess(nvidia::mma(Operand::B, 8, 32), 1, 32)) << "there is no transposed form for words";
}

// AMD, MI300 ISA 7: 32x32 results have row 8 (r/4) + 4 (lane/32) + r%4, 16x16 ones 4 (lane/16) + r; column lane % mn.
TEST(Amd, Mfma) {
  expectFormula(amd::mfma(Operand::C, 32, 8, 16),
                [](auto i, auto lane, auto) { return Coords{8 * (i / 4) + 4 * (lane / 32) + i % 4, lane % 32}; });
  expectFormula(amd::mfma(Operand::C, 16, 16, 16), [](auto i, auto lane, auto) { return Coords{4 * (lane / 16) + i, lane % 16}; });
  expectFormula(amd::mfma(Operand::A, 32, 8, 16), [](auto i, auto lane, auto) { return Coords{lane % 32, 4 * (lane / 32) + i}; });
  expectFormula(amd::mfma(Operand::B, 16, 16, 16), [](auto i, auto lane, auto) { return Coords{4 * (lane / 16) + i, lane % 16}; });
  expectFormula(amd::mfma(Operand::A, 16, 32, 8), [](auto i, auto lane, auto) { return Coords{lane % 16, 8 * (lane / 16) + i}; });
  expectFormula(amd::mfma(Operand::A, 32, 16, 16), [](auto i, auto lane, auto) { return Coords{lane % 32, 8 * (lane / 32) + i}; });
  EXPECT_NE(test::messageOf([] { amd::mfma(Operand::A, 32, 32, 16); }).find("there is no mfma 32x32x32 with operands of 16 bits"),
            std::string::npos);
}

// The transposed product's result feeds the next product without a move: rows 8g + 4h + i of C are the k of the g-th operand B.
TEST(Amd, MfmaResultIsTheNextOperandB) {
  LinearLayout c = amd::mfma(Operand::C, 32, 8, 16);
  LinearLayout b = tileFragment(amd::mfma(Operand::B, 32, 8, 16), {32, 32}, {1, 1});
  EXPECT_EQ(c, b);
}

TEST(Amd, Wmma) {
  // gfx11: operands twice (wave32) or four times (wave64)
  for (int wave : {32, 64}) {
    expectFormula(amd::wmma(11, Operand::A, wave, 16), [](auto i, auto lane, auto) { return Coords{lane % 16, i}; });
    expectFormula(amd::wmma(11, Operand::B, wave, 8), [](auto i, auto lane, auto) { return Coords{i, lane % 16}; });
    expectFormula(amd::wmma(11, Operand::C, wave, 16),
                  [&](auto i, auto lane, auto) { return Coords{wave / 16 * i + lane / 16, lane % 16}; });
  }
  // gfx12, as the calculator prints v_wmma_f32_16x16x16_f16: k 0..3 lanes 0-15, 4..7 lanes 16-31, then (wave32) 8..11 lanes 0-15 again
  expectFormula(amd::wmma(12, Operand::A, 32, 16),
                [](auto i, auto lane, auto) { return Coords{lane % 16, i % 4 + 4 * (lane / 16) + 8 * (i / 4)}; });
  expectFormula(amd::wmma(12, Operand::B, 64, 16), [](auto i, auto lane, auto) { return Coords{i + 4 * (lane / 16), lane % 16}; });
  expectFormula(amd::wmma(12, Operand::C, 32, 16), [](auto i, auto lane, auto) { return Coords{8 * (lane / 16) + i, lane % 16}; });
  expectFormula(amd::wmma(12, Operand::C, 64, 16),
                [](auto i, auto lane, auto) { return Coords{i + 4 * (lane / 32) + 8 * (lane / 16 % 2), lane % 16}; });
  expectFormula(amd::wmma(12, Operand::A, 32, 8), [](auto i, auto lane, auto) { return Coords{lane % 16, i + 8 * (lane / 16)}; });
  expectFormula(amd::wmma(12, Operand::A, 64, 8),
                [](auto i, auto lane, auto) { return Coords{lane % 16, i + 4 * (lane / 32) + 8 * (lane / 16 % 2)}; });
  EXPECT_NE(test::messageOf([] { amd::wmma(10, Operand::A, 32, 16); }).find("there is no wmma for gfx10 in wave32"), std::string::npos);
}

TEST(Tiling, EverySizeIsABijection) {
  for (std::int64_t n : {16, 80, 96, 144, 176, 192}) {
    expectBijection(tileFragment(nvidia::mma(Operand::C, 16, 16), {64, n}, {4, 1}), {64, n});
    expectBijection(tileFragment(nvidia::mma(Operand::B, 16, 16), {n, 64}, {1, 1}), {n, 64});
    expectBijection(tileFragment(nvidia::wgmmaAccumulator(static_cast<int>(n)), {192, n}, {3, 1}), {192, n});  // three warp groups
    expectBijection(tileFragment(amd::mfma(Operand::C, 16, 16, 16), {32, n}, {2, 1}, WarpOrder::Blocks), {32, n});
    expectBijection(blocked({.shape = {64, n}}), {64, n});
    expectBijection(blocked({.shape = {n, 64}, .order = {0, 1}, .elementBits = 32}), {n, 64});
    if (n % 3 == 0) expectBijection(blocked({.shape = {n, 128}, .warps = 12}), {n, 128});
  }
}

// One warp group may hold two fragments of odd width, one below the other.
TEST(Tiling, FragmentsOfOddWidthBelowEachOther) {
  expectBijection(tileFragment(nvidia::wgmmaAccumulator(80), {128, 80}, {1, 1}), {128, 80});
  expectBijection(tileFragment(nvidia::wgmmaAccumulator(80), {128, 240}, {2, 1}), {128, 240});
  EXPECT_EQ(test::messageOf([] { tileFragment(nvidia::wgmmaAccumulator(80), {64, 160}, {1, 1}); }),
            "an even number of fragments of 80 along dimension 1 is not a linear layout\n  hint: fragments of 16 divide the same tile");
}

TEST(Tiling, RegistersOf64x80) {
  LinearLayout layout = tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 80}, {4, 1});
  EXPECT_EQ(layout.inputSize("register"), 40);
  EXPECT_EQ(layout.at({{"register", 39}, {"lane", 31}, {"warp", 3}}), (Coords{63, 79}));
  EXPECT_EQ(layout.at({{"register", 4}}), (Coords{0, 8}));
  EXPECT_EQ(layout.at({{"register", 8}}), (Coords{0, 16}));
}

TEST(Tiling, MoreWarpsThanFragmentsHoldCopies) {
  LinearLayout layout = tileFragment(nvidia::mma(Operand::C, 16, 16), {16, 16}, {4, 1});
  EXPECT_EQ(layout.freeBits("warp"), 3U);
  EXPECT_TRUE(layout.isSurjective());
}

TEST(Tiling, Blocked) {
  // 64 x 64 halves: 8 lanes a row with 16 bytes each, 4 rows a warp, 16 rows at once
  LinearLayout layout = blocked({.shape = {64, 64}});
  EXPECT_EQ(
      layout.str(),
      "register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (16,0), 16 -> (32,0); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (0,32), 8 -> (1,0), "
      "16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 64, dim1: 64");
}

// Four lanes of a row of mma's accumulator hold pairs, 8 columns apart; in vectors each holds 8 columns, and rows stay in their warps.
TEST(Tiling, LanesExchangeRegistersForVectors) {
  LinearLayout layout = tileFragment(nvidia::mma(Operand::C, 16, 16), {32, 64}, {2, 1}), vectors = withVectors(layout, 1, 8);
  expectBijection(vectors, {32, 64});
  EXPECT_EQ(
      vectors.str(),
      "register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,2), 8 -> (0,4), 16 -> (0,32); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (1,0), 8 -> (2,0), "
      "16 -> (4,0); warp: 1 -> (16,0) | dim0: 32, dim1: 64");
  EXPECT_EQ(withVectors(vectors, 1, 8), vectors);
  // A row of one fragment has nothing to exchange: pairs stay pairs.
  LinearLayout narrow = tileFragment(nvidia::mma(Operand::C, 16, 16), {32, 8}, {2, 1});
  EXPECT_EQ(withVectors(narrow, 1, 8), narrow);
}

TEST(Tiling, Errors) {
  EXPECT_EQ(test::messageOf([] { tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 20}, {4, 1}); }),
            "dimension 1 of the tile is 20, which is no multiple of the fragment's 8\n  hint: the nearest that is: 24");
  EXPECT_EQ(test::messageOf([] { tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 64}, {3, 1}); }),
            "3 warps along dimension 0 cannot share 4 copies of the fragment evenly");
  EXPECT_EQ(test::messageOf([] { tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 64}, {4}); }), "warps (4) for a tile of (64,64)");
  EXPECT_EQ(test::messageOf([] { blocked({.shape = {64, 64}, .order = {0, 0}}); }), "(0,0) is no order of the 2 dimensions of the tile");
  EXPECT_EQ(test::messageOf([] { blocked({.shape = {64, 64}, .lanes = 48}); }), "48 lanes in a warp; the number is a power of two");
  EXPECT_EQ(test::messageOf([] { blocked({.shape = {64, 0}}); }), "dimensions of (64,0): each has to be at least 1");
}

}  // namespace
}  // namespace fattn::layout
