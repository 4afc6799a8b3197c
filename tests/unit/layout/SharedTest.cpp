// SPDX-License-Identifier: Apache-2.0
// Layouts of shared memory, bank conflicts, and the choice of a swizzle: no conflicts, whatever the two sides are.
#include "compiler/layout/Nvidia.h"
#include "compiler/layout/Swizzle.h"
#include "compiler/layout/Tiling.h"
#include "tests/unit/layout/Support.h"

namespace fattn::layout {
namespace {

/// Lanes read 16 bytes each of one column of vectors: 32 rows.
LinearLayout columnOfVectors() {
  return (LinearLayout::identity("register", 8, "dim1") * LinearLayout::identity("lane", 32, "dim0") *
          LinearLayout::identity("register", 8, "dim1"))
      .asTile(2);
}

TEST(Shared, Swizzle128IsTheXorOfTheDocument) {
  // PTX ISA, "Tensor swizzling modes", 128 bytes: 16-byte chunk c of row r of 128 bytes lies at chunk c ^ (r % 8)
  SharedLayout layout = swizzled({32, 64}, 16, 128);
  for (std::int64_t row = 0; row < 32; ++row) {
    for (std::int64_t column = 0; column < 64; ++column) {
      ASSERT_EQ(layout.offsetOf({row, column}), row * 64 + ((column / 8) ^ (row % 8)) * 8 + column % 8);
    }
  }
}

TEST(Shared, Swizzle64And32) {
  // 64 bytes: address bits 4, 5 ^= bits 7, 8; 32 bytes: bit 4 ^= bit 7
  SharedLayout by64 = swizzled({16, 32}, 16, 64), by32 = swizzled({16, 16}, 16, 32);
  for (std::int64_t row = 0; row < 16; ++row) {
    for (std::int64_t column = 0; column < 32; ++column) {
      std::int64_t address = row * 64 + column * 2;
      ASSERT_EQ(by64.offsetOf({row, column}) * 2, address ^ (address >> 7 & 3) << 4);
      address = row * 32 + column * 2;
      if (column < 16) {
        ASSERT_EQ(by32.offsetOf({row, column}) * 2, address ^ (address >> 7 & 1) << 4);
      }
    }
  }
}

TEST(Shared, AtomsOfFurtherColumnsFollow) {
  SharedLayout layout = swizzled({80, 128}, 16, 128);  // two atoms of 80 rows
  std::set<std::int64_t> offsets;
  for (std::int64_t row = 0; row < 80; ++row) {
    for (std::int64_t column = 0; column < 128; ++column) offsets.insert(layout.offsetOf({row, column}));
  }
  EXPECT_EQ(offsets.size(), 80U * 128);
  EXPECT_EQ(*offsets.rbegin(), 80 * 128 - 1);
}

TEST(Shared, RowMajorWithPadding) {
  SharedLayout layout = rowMajor({48, 64}, 64, 8);
  EXPECT_EQ(layout.offsetOf({3, 5}), 3 * 72 + 5);
  EXPECT_EQ(layout.offsetOf({47, 63}), 47 * 72 + 63);
  EXPECT_EQ(layout.size(), 48 * 72 - 8);
}

TEST(BankConflicts, Counted) {
  BankReport plain = bankConflicts(columnOfVectors(), rowMajor({32, 64}), 16);
  EXPECT_EQ(plain.vector, 8);
  EXPECT_EQ(plain.passes, 32) << "each of 32 lanes alone: rows are 128 bytes apart";
  EXPECT_EQ(plain.ideal, 4);
  EXPECT_EQ(plain.instructions, 8);
  EXPECT_EQ(bankConflicts(columnOfVectors(), swizzled({32, 64}, 16, 128), 16).conflicts(), 0);
  EXPECT_EQ(bankConflicts(columnOfVectors(), rowMajor({32, 64}, 64, 8), 16).conflicts(), 0) << "padding by 16 bytes";
  // A row of 32 floats, then a column of them
  LinearLayout row = (LinearLayout::identity("lane", 32, "dim1") * LinearLayout::identity("register", 32, "dim0")).asTile(2);
  EXPECT_EQ(bankConflicts(row, rowMajor({32, 32}), 32).conflicts(), 0);
  EXPECT_EQ(bankConflicts(row.transpose(std::vector{1, 0}), rowMajor({32, 32}), 32, 1).passes, 32);
  EXPECT_EQ(bankConflicts(row.transpose(std::vector{1, 0}), rowMajor({32, 32}, 32, 1), 32, 1).passes, 1);
  // All lanes read one word: it is broadcast
  LinearLayout same = (LinearLayout::broadcast("lane", 32) * LinearLayout::identity("register", 32, "dim0")).asTile(1);
  EXPECT_EQ(bankConflicts(same, rowMajor({32}), 32, 1).passes, 1);
}

TEST(BankConflicts, VectorsNeedAlignmentAndOneLane) {
  EXPECT_EQ(sharedVector(columnOfVectors(), rowMajor({32, 64}), 16), 8);
  EXPECT_EQ(sharedVector(columnOfVectors(), rowMajor({32, 64}, 64, 4), 16), 4) << "rows are only 8 bytes aligned";
  EXPECT_EQ(sharedVector(columnOfVectors(), rowMajor({32, 64}), 16, 4), 2);
  LinearLayout c = tileFragment(nvidia::mma(Operand::C, 16, 16), {16, 64}, {1, 1});
  EXPECT_EQ(sharedVector(c, rowMajor({16, 64}), 32), 2);
  EXPECT_EQ(vectorGroups(c, rowMajor({16, 64}), 2)[1], (std::vector<std::int64_t>{2, 3}));
}

// The shortcut for xor layouts, one register group of one warp for all, against every group of every warp.
TEST(BankConflicts, EveryWarpAndRegisterOfAXorLayoutIsAlike) {
  std::mt19937 random = test::seeded(7);
  for (int trial = 0; trial < 40; ++trial) {
    LinearLayout registers = test::randomTile(random, {64, 32}, 2);
    LinearLayout offsets = test::randomTile(random, {64, 32}, 0, 0).canonical().renamed("register", "offset").withOutputs({"dim0", "dim1"});
    SharedLayout shared{offsets}, enumerated{offsets, std::int64_t{1} << 20, 0};  // padding of nothing turns the shortcut off
    EXPECT_EQ(bankConflicts(registers, shared, 32, 1).passes, bankConflicts(registers, enumerated, 32, 1).passes);
  }
}

void expectFree(const LinearLayout& read, const LinearLayout& write, int bits, int trial = 0) {
  SwizzleChoice choice = chooseSwizzle(read, write, bits);
  test::expectBijection(choice.layout.elements(), read.outputShape());
  EXPECT_EQ(choice.read.conflicts(), 0) << trial << " read " << read.str() << "\nwrite " << write.str() << "\nshared "
                                        << choice.layout.elements().str();
  EXPECT_EQ(choice.write.conflicts(), 0) << trial << " read " << read.str() << "\nwrite " << write.str() << "\nshared "
                                         << choice.layout.elements().str();
}

TEST(Swizzle, LoadedByVectorsReadByLdmatrix) {
  for (std::int64_t n : {64, 80, 96, 128, 144, 176, 192}) {
    LinearLayout write = blocked({.shape = {n, 64}});
    LinearLayout b = tileFragment(nvidia::mma(Operand::B, 16, 16).transpose(std::vector{1, 0}), {n, 64}, {1, 1});
    auto read = nvidia::matrixAccess(b, 1, 16);
    ASSERT_TRUE(read);
    LinearLayout addresses = tileFragment(nvidia::matrixAccess(nvidia::mma(Operand::A, 16, 16), 1, 16)->access, {n, 64}, {4, 1});
    SwizzleChoice choice = chooseSwizzle(n % 64 ? read->access * LinearLayout::broadcast("warp", 4) : addresses, write, 16);
    EXPECT_EQ(choice.read.vector, 8);
    EXPECT_EQ(choice.write.vector, 8);
    EXPECT_EQ(choice.read.conflicts() + choice.write.conflicts(), 0);
  }
}

TEST(Swizzle, AccumulatorsWrittenReadForCoalescedStores) {
  for (std::int64_t n : {64, 80, 128, 176}) {
    LinearLayout c = tileFragment(nvidia::mma(Operand::C, 16, 16), {64, n}, {4, 1});
    for (int bits : {8, 16, 32}) expectFree(blocked({.shape = {64, n}, .elementBits = bits}), c, bits);
  }
}

TEST(Swizzle, RandomLayoutsHaveNoConflicts) {
  std::mt19937 random = test::seeded(11);
  const std::vector<Coords> shapes = {{64, 64}, {32, 32}, {16, 80}, {128, 32}, {8, 8, 16}, {2048}};
  for (int trial = 0; trial < 300; ++trial) {
    const Coords& shape = shapes[random() % shapes.size()];
    int bits = 8 << random() % 3;
    int wave = random() % 3 ? 5 : 6;
    LinearLayout read = test::randomTile(random, shape, shape[0] == 16 ? 1 : 2, wave), write = test::randomTile(random, shape, 2, wave);
    expectFree(read, write, bits, trial);
  }
}

TEST(Swizzle, TransposedTilesUseWideVectorsOnOneSide) {
  LinearLayout rows = blocked({.shape = {64, 64}}), columns = blocked({.shape = {64, 64}, .order = {0, 1}});
  SwizzleChoice choice = chooseSwizzle(columns, rows, 16);
  EXPECT_EQ(choice.read.conflicts() + choice.write.conflicts(), 0);
  EXPECT_EQ(std::max(choice.read.vector, choice.write.vector), 8);
}

// Two warps share the columns of a product, which becomes the first operand of a further one: 16 bytes of its writer would be halves of two
// fragments, and each word would be moved to the three beside which the instruction takes it.
TEST(Swizzle, WordsComeInTheOrderOfRegisters) {
  const LinearLayout write = tileFragment(nvidia::mma(Operand::C, 16, 16), {128, 64}, {4, 2});
  const LinearLayout read = tileFragment(nvidia::mma(Operand::A, 16, 16), {128, 64}, {4, 1}) * LinearLayout::broadcast("warp", 2);
  const SwizzleChoice choice = chooseSwizzle(read, write, 16);
  EXPECT_EQ(choice.moves, 0);
  EXPECT_EQ(choice.read.conflicts() + choice.write.conflicts(), 0);
  EXPECT_GE(choice.read.vector, 4);

  const auto row = [](f2::Vector r) { return r; };
  const auto column = [](f2::Vector c) { return c << 7; };
  const f2::Columns places = {column(1), row(8),  column(16), column(2), column(4), row(1),    row(2),
                              row(4),    row(16), row(32),    row(64),   column(8), column(32)};
  const SharedLayout wide(LinearLayout::fromColumns({{"offset", 13}}, read.outputs(), places));
  EXPECT_EQ(movesBehind(read, wide, 16, 8), 32);  // as many as a thread has words
  EXPECT_EQ(movesBehind(read, wide, 16, 2), 0);   // one word is in order
}

// Rows of keys that a dot wants as columns of 32 bits: alone the reader would have 16 bytes of four rows side by side.
TEST(Swizzle, ACopyEngineKeepsItsElementsInOrder) {
  LinearLayout write = blocked({.shape = {16, 128}, .elementBits = 32}),
               read = tileFragment(nvidia::mma(Operand::B, 8, 32), {16, 128}, {1, 1});
  SwizzleChoice free = chooseSwizzle(read, write, 32), kept = chooseSwizzle(read, write, 32, {}, 4);
  EXPECT_FALSE(keepsOrder(free.layout, write, 4));
  EXPECT_TRUE(keepsOrder(kept.layout, write, 4));
  for (const SwizzleChoice& choice : {free, kept}) EXPECT_EQ(choice.read.conflicts() + choice.write.conflicts(), 0);
  EXPECT_EQ(kept.write.vector, 4);
  // The same for rows of 128 bytes that stay together.
  SharedLayout rows = swizzled({16, 128}, 32, 128, 32);
  EXPECT_TRUE(keepsOrder(rows, write, 4));
  EXPECT_EQ(bankConflicts(read, rows, 32).conflicts() + bankConflicts(write, rows, 32).conflicts(), 0);
  EXPECT_GT(bankConflicts(read, swizzled({16, 128}, 32, 128), 32).conflicts(), 0);
}

TEST(Swizzle, CopiesStayInOrderWhateverTheReader) {
  std::mt19937 random = test::seeded(13);
  const std::vector<Coords> shapes = {{64, 64}, {32, 32}, {16, 80}, {128, 32}};
  for (int trial = 0; trial < 200; ++trial) {
    const Coords& shape = shapes[random() % shapes.size()];
    int bits = 8 << random() % 3, inOrder = 128 / bits;
    LinearLayout read = test::randomTile(random, shape, shape[0] == 16 ? 1 : 2), write = blocked({.shape = shape, .elementBits = bits});
    SwizzleChoice choice = chooseSwizzle(read, write, bits, {}, inOrder);
    EXPECT_TRUE(keepsOrder(choice.layout, write, inOrder)) << trial << " read " << read.str();
    EXPECT_EQ(choice.write.conflicts(), 0) << trial << " read " << read.str();
  }
}

TEST(Swizzle, BulkCopiesGetTheWidestThatTheReaderLikes) {
  LinearLayout a = nvidia::matrixAccess(tileFragment(nvidia::mma(Operand::A, 16, 16), {64, 64}, {4, 1}), 1, 16)->access;
  SwizzleChoice choice = chooseBulkSwizzle(a, 16);
  EXPECT_EQ(choice.layout, swizzled({64, 64}, 16, 128));
  EXPECT_EQ(choice.read.conflicts(), 0);
  EXPECT_EQ(test::messageOf([] { chooseBulkSwizzle(blocked({.shape = {64, 4}, .elementBits = 16}), 16); }),
            "a bulk copy moves rows of a multiple of 16 bytes, not 4 elements of 16 bits");
}

TEST(Shared, Errors) {
  EXPECT_EQ(test::messageOf([] { swizzled({64, 64}, 16, 48); }), "there is no 48-byte swizzle; legal are 0, 32, 64 and 128");
  EXPECT_EQ(test::messageOf([] { swizzled({64, 64}, 16, 128, 8); }), "pieces of 8 bytes; legal are 16, 32 and 64");
  EXPECT_EQ(test::messageOf([] { swizzled({64, 64}, 16, 32, 64); }), "pieces of 64 bytes do not fit into a 32-byte swizzle");
  EXPECT_EQ(test::messageOf([] { swizzled({64, 80}, 16, 128); }), "80 columns of 16 bits are no multiple of the atom's 64");
  EXPECT_EQ(test::messageOf([] { swizzled({64}, 16, 128); }), "a swizzled tile has rows and columns, not 1 dimensions");
  EXPECT_EQ(test::messageOf([] { rowMajor({4, 4}, 3, 1); }), "padding of 1 after every 3 elements; the interval is a power of two");
  EXPECT_EQ(test::messageOf([] { chooseSwizzle(blocked({.shape = {64, 64}}), blocked({.shape = {64, 32}}), 16); }),
            "the tile is written as (64,32) and read as (64,64)");
}

}  // namespace
}  // namespace fattn::layout
