// SPDX-License-Identifier: Apache-2.0
// Which accesses may touch the same memory.
#include <gtest/gtest.h>

#include "compiler/dialect/Tile.h"
#include "compiler/transforms/Aliasing.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace fattn::transforms {
namespace {

struct AliasingTest : testing::Test {
  DialectRegistry registry;
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  Aliasing aliasing;

  AliasingTest() {
    tile::registerTileDialects(registry);
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  }

  /// The accesses of a function with this body, in the order of the text. %a and %b are pointers, %own one without alias,
  /// %place one in place of others; %p0 is a window
  /// of 16 x 8 at the begin of the array at %a.
  SmallVector<MemoryAccess> accesses(const std::string& body) {
    aliasing = Aliasing();
    std::string text = R"(func.func @f(%a: !tile.ptr<f32>, %b: !tile.ptr<f32>, %own: !tile.ptr<f32> {tile.noalias},
                                       %place: !tile.ptr<f32> {tile.in_place}, %n: i32, %m: i64,
                                       %if: i1, %v: tensor<16x8xf32>) {
      %c0 = arith.constant 0 : i64
      %c1 = arith.constant 1 : i64
      %c8 = arith.constant 8 : i64
      %c16 = arith.constant 16 : i64
      %i0 = arith.constant 0 : i32
      %i1 = arith.constant 1 : i32
      %i16 = arith.constant 16 : i32
      %p0 = tile.make_block_ptr %a, shape [%m, %m], strides [%m, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<16x8xf32>
      )" + body + "\n return }";
    module = parseSourceString<ModuleOp>(text, context.get(), "test.mlir");
    EXPECT_TRUE(module) << text;
    SmallVector<MemoryAccess> result;
    if (module) llvm::append_range(result, accessesIn(*module));
    return result;
  }
  /// What the first two accesses have in common.
  Overlap overlap(const std::string& body) {
    auto all = accesses(body);
    Overlap one = aliasing.overlap(all[0], all[1]), other = aliasing.overlap(all[1], all[0]);
    EXPECT_EQ(one, other) << body;
    return one;
  }
  /// The distances below 6 at which the second access may meet the first.
  std::vector<int> distances(const std::string& body) {
    auto all = accesses(body);
    std::vector<int> result;
    auto loop = all[0].op->getParentOfType<scf::ForOp>();
    for (int distance = 0; distance < 6; ++distance)
      if (aliasing.mayOverlap(all[0], all[1], loop, distance)) result.push_back(distance);
    return result;
  }
  /// A loop that stores at row %s and loads at row %l.
  std::vector<int> inLoop(const std::string& counter, const std::string& body) {
    return distances("scf.for %i = " + counter + " {\n" + body + R"(
      %ps = tile.advance %p0, [%s, %c0] : !tile.block_ptr<16x8xf32>
      tile.store %ps, %v : !tile.block_ptr<16x8xf32>, tensor<16x8xf32>
      %pl = tile.advance %p0, [%l, %c0] : !tile.block_ptr<16x8xf32>
      %x = tile.load %pl : !tile.block_ptr<16x8xf32> -> tensor<16x8xf32>
    })");
  }
};

using Distances = std::vector<int>;

TEST_F(AliasingTest, KnowsWhatOperationsDo) {
  auto all = accesses(R"(
    %x = tile.load %p0 : !tile.block_ptr<16x8xf32> -> tensor<16x8xf32>
    tile.store %p0, %x : !tile.block_ptr<16x8xf32>, tensor<16x8xf32>
    %y = tile.gather %b : !tile.ptr<f32> -> f32
    tile.scatter %b, %y : !tile.ptr<f32>, f32
    %z = tile.atomic_add %b, %y : !tile.ptr<f32>, f32 -> f32
    tile.device_print "z", %z : f32)");
  std::vector<std::pair<bool, bool>> effects;
  for (const MemoryAccess& access : all) effects.emplace_back(access.reads, access.writes);
  EXPECT_EQ(effects, (std::vector<std::pair<bool, bool>>{{true, false}, {false, true}, {true, false}, {false, true}, {true, true}}));
}

TEST_F(AliasingTest, ArgumentsMayLeadToOneArrayUnlessOneHasNoAlias) {
  auto pair = [&](const std::string& first, const std::string& second) {
    return overlap("%x = tile.gather " + first + " : !tile.ptr<f32> -> f32\n tile.scatter " + second + ", %x : !tile.ptr<f32>, f32");
  };
  EXPECT_EQ(pair("%a", "%b"), Overlap::Maybe);
  EXPECT_EQ(pair("%a", "%own"), Overlap::Never);
  EXPECT_EQ(pair("%own", "%own"), Overlap::Maybe);
  EXPECT_EQ(overlap(R"(%q = tile.addptr %a, %m : !tile.ptr<f32>, i64
    %x = tile.gather %q : !tile.ptr<f32> -> f32
    tile.scatter %own, %x : !tile.ptr<f32>, f32)"),
            Overlap::Never);
}

TEST_F(AliasingTest, WindowsInPlaceAreTheSameOrApart) {
  auto pair = [&](const std::string& first, const std::string& second) {
    return overlap("%x = tile.gather " + first + " : !tile.ptr<f32> -> f32\n tile.scatter " + second + ", %x : !tile.ptr<f32>, f32");
  };
  EXPECT_EQ(pair("%a", "%place"), Overlap::SameOrNever);
  EXPECT_EQ(pair("%place", "%own"), Overlap::Never);
  EXPECT_EQ(pair("%place", "%place"), Overlap::Maybe);
  EXPECT_EQ(overlap(R"(%q = arith.select %if, %a, %place : !tile.ptr<f32>
    %x = tile.gather %q : !tile.ptr<f32> -> f32
    tile.scatter %place, %x : !tile.ptr<f32>, f32)"),
            Overlap::Maybe);
}

TEST_F(AliasingTest, FollowsPointersThatAreChosenOrCarried) {
  EXPECT_EQ(overlap(R"(%q = arith.select %if, %a, %own : !tile.ptr<f32>
    %x = tile.gather %q : !tile.ptr<f32> -> f32
    tile.scatter %own, %x : !tile.ptr<f32>, f32)"),
            Overlap::Maybe);
  // Two pointers that change places in every trip.
  EXPECT_EQ(overlap(R"(%r:2 = scf.for %i = %c0 to %m step %c1 iter_args(%p = %a, %q = %own) -> (!tile.ptr<f32>, !tile.ptr<f32>) : i64 {
    %x = tile.gather %p : !tile.ptr<f32> -> f32
    tile.scatter %q, %x : !tile.ptr<f32>, f32
    scf.yield %q, %p : !tile.ptr<f32>, !tile.ptr<f32> })"),
            Overlap::Maybe);
  EXPECT_EQ(overlap(R"(%r:2 = scf.for %i = %c0 to %m step %c1 iter_args(%p = %a, %q = %own) -> (!tile.ptr<f32>, !tile.ptr<f32>) : i64 {
    %x = tile.gather %p : !tile.ptr<f32> -> f32
    tile.scatter %q, %x : !tile.ptr<f32>, f32
    %next = tile.addptr %p, %c1 : !tile.ptr<f32>, i64
    scf.yield %next, %q : !tile.ptr<f32>, !tile.ptr<f32> })"),
            Overlap::Never);
}

TEST_F(AliasingTest, WindowsOfOneArrayMeetWhereTheirIndicesDo) {
  auto at = [&](const std::string& row, const std::string& column) {
    return overlap("%q = tile.advance %p0, [" + row + ", " + column + R"(] : !tile.block_ptr<16x8xf32>
      %x = tile.load %p0 : !tile.block_ptr<16x8xf32> -> tensor<16x8xf32>
      tile.store %q, %x : !tile.block_ptr<16x8xf32>, tensor<16x8xf32>)");
  };
  EXPECT_EQ(at("%c0", "%c0"), Overlap::SameOrNever);
  EXPECT_EQ(at("%c8", "%c0"), Overlap::Maybe);
  EXPECT_EQ(at("%c16", "%c0"), Overlap::Never);
  EXPECT_EQ(at("%c0", "%c8"), Overlap::Never);
  EXPECT_EQ(at("%m", "%c0"), Overlap::Maybe);
  EXPECT_EQ(at("%m", "%c8"), Overlap::Never);
}

TEST_F(AliasingTest, ArraysOfOtherStridesAreOthers) {
  EXPECT_EQ(overlap(R"(%q = tile.make_block_ptr %a, shape [%m, %m], strides [%c8, %c1], offsets [%c16, %c0]
      : !tile.ptr<f32> -> !tile.block_ptr<16x8xf32>
    %x = tile.load %p0 : !tile.block_ptr<16x8xf32> -> tensor<16x8xf32>
    tile.store %q, %x : !tile.block_ptr<16x8xf32>, tensor<16x8xf32>)"),
            Overlap::Maybe);
}

TEST_F(AliasingTest, DistancesOfALoop) {
  const std::string counter = "%c0 to %m step %c16";
  EXPECT_EQ(inLoop(counter + " : i64", "%s = arith.addi %i, %c0 : i64\n %l = arith.addi %i, %c0 : i64"), (Distances{0}));
  EXPECT_EQ(inLoop(counter + " : i64", "%s = arith.addi %i, %c16 : i64\n %l = arith.addi %i, %c0 : i64"), (Distances{1}));
  EXPECT_EQ(inLoop(counter + " : i64", "%s = arith.addi %i, %c8 : i64\n %l = arith.addi %i, %c0 : i64"), (Distances{0, 1}));
  EXPECT_EQ(inLoop(counter + " : i64", "%s = arith.addi %i, %m : i64\n %l = arith.addi %i, %c0 : i64"), (Distances{0, 1, 2, 3, 4, 5}));
  // Downwards through the array.
  EXPECT_EQ(inLoop(counter + " : i64", "%d = arith.subi %m, %i : i64\n %s = arith.subi %d, %c16 : i64\n %l = arith.addi %d, %c16 : i64"),
            (Distances{2}));
  // The number of the trip, as FoldAdvances writes it.
  EXPECT_EQ(inLoop(counter + " : i64", "%t = arith.divsi %i, %c16 : i64\n %l = arith.muli %t, %c16 : i64\n %s = arith.addi %l, %c16 : i64"),
            (Distances{1}));
  // 2^30 rows a trip wrap round after four.
  EXPECT_EQ(inLoop("%i0 to %n step %i1 : i32", R"(%c30 = arith.constant 1073741824 : i32
      %r = arith.muli %i, %c30 : i32
      %s = arith.extsi %r : i32 to i64
      %l = arith.addi %s, %c0 : i64)"),
            (Distances{0, 4}));
  // What is computed from memory may be anything in another trip, and the same in this one.
  EXPECT_EQ(inLoop(counter + " : i64", R"(%f = arith.index_cast %i : i64 to index
      %g = arith.muli %f, %f : index
      %l = arith.index_cast %g : index to i64
      %s = arith.addi %l, %c16 : i64)"),
            (Distances{1, 2, 3, 4, 5}));
}

TEST_F(AliasingTest, WindowsOnAGridAreTheSameOrApartInAllTrips) {
  auto stepping = [&](const std::string& step) {
    return overlap("scf.for %i = %c0 to %m step " + step + R"( : i64 {
      %q = tile.advance %p0, [%i, %c0] : !tile.block_ptr<16x8xf32>
      %x = tile.load %q : !tile.block_ptr<16x8xf32> -> tensor<16x8xf32>
      tile.store %q, %x : !tile.block_ptr<16x8xf32>, tensor<16x8xf32> })");
  };
  EXPECT_EQ(stepping("%c16"), Overlap::SameOrNever);
  EXPECT_EQ(stepping("%c8"), Overlap::Maybe);
  EXPECT_EQ(stepping("%m"), Overlap::Maybe);
}

}  // namespace
}  // namespace fattn::transforms
