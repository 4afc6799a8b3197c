// SPDX-License-Identifier: Apache-2.0
// What the IR proves about divisibility and alignment.
#include <gtest/gtest.h>

#include "compiler/dialect/Tile.h"
#include "compiler/transforms/Divisibility.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace fattn::transforms {
namespace {

struct DivisibilityTest : testing::Test {
  DialectRegistry registry;
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;

  DivisibilityTest() {
    tile::registerTileDialects(registry);
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  }

  /// What the function of this text returns.
  SmallVector<Value> returned(const std::string& text) {
    module = parseSourceString<ModuleOp>(text, context.get(), "test.mlir");
    EXPECT_TRUE(module) << text;
    SmallVector<Value> values;
    if (module) module->walk([&](func::ReturnOp last) { llvm::append_range(values, last.getOperands()); });
    return values;
  }
  std::vector<int64_t> divisors(const std::string& text) {
    std::vector<int64_t> result;
    for (Value v : returned(text)) result.push_back(divisibilityOf(v));
    return result;
  }
};

using Numbers = std::vector<int64_t>;

TEST_F(DivisibilityTest, FollowsArgumentsAssumptionsAndConstants) {
  EXPECT_EQ(divisors(R"(func.func @f(%a: i64 {tile.divisibility = 24 : i64}, %b: i32) -> (i64, i32, i32, i64, i64) {
    %c = tile.assume_divisible %b, 16 : i32
    %d = arith.constant 96 : i64
    %zero = arith.constant 0 : i64
    return %a, %b, %c, %d, %zero : i64, i32, i32, i64, i64
  })"),
            (Numbers{8, 1, 16, 32, kMostDivisible}));
}

TEST_F(DivisibilityTest, FollowsArithmetic) {
  EXPECT_EQ(
      divisors(R"(func.func @f(%a: i64 {tile.divisibility = 8 : i64}, %b: i64, %c: i1) -> (i64, i64, i64, i64, i64, i64, i64, i32, i64) {
    %c4 = arith.constant 4 : i64
    %c32 = arith.constant 32 : i64
    %product = arith.muli %a, %c4 : i64
    %sum = arith.addi %product, %a : i64
    %quotient = arith.divsi %product, %c4 : i64
    %unknown = arith.divsi %a, %c32 : i64
    %rounded = arith.muli %unknown, %c32 : i64
    %shifted = arith.shli %b, %c4 : i64
    %rest = arith.remsi %product, %c4 : i64
    %narrow = arith.trunci %product : i64 to i32
    %either = arith.select %c, %product, %c4 : i64
    return %product, %sum, %quotient, %unknown, %rounded, %shifted, %rest, %narrow, %either : i64, i64, i64, i64, i64, i64, i64, i32, i64
  })"),
      (Numbers{32, 8, 8, 1, 32, 16, 4, 32, 4}));
}

TEST_F(DivisibilityTest, FollowsLoopsToWhatAllTripsShare) {
  EXPECT_EQ(divisors(R"(func.func @f(%a: i64 {tile.divisibility = 64 : i64}, %n: i64) -> (i64, i64, i64) {
    %c16 = arith.constant 16 : i64
    %c24 = arith.constant 24 : i64
    %r:3 = scf.for %i = %a to %n step %c16 iter_args(%x = %a, %y = %a, %z = %a) -> (i64, i64, i64) : i64 {
      %next = arith.addi %x, %c24 : i64
      %sum = arith.addi %y, %i : i64
      scf.yield %next, %sum, %y : i64, i64, i64
    }
    return %r#0, %r#1, %r#2 : i64, i64, i64
  })"),
            (Numbers{8, 16, 16}));
}

TEST_F(DivisibilityTest, TakesTheWeakerSideOfABranch) {
  EXPECT_EQ(divisors(R"(func.func @f(%c: i1) -> i32 {
    %r = scf.if %c -> i32 {
      %x = arith.constant 64 : i32
      scf.yield %x : i32
    } else {
      %x = arith.constant 48 : i32
      scf.yield %x : i32
    }
    return %r : i32
  })"),
            Numbers{16});
}

/// A pointer to rows of `%stride` bf16 elements, whose window is at (%row, %column).
std::string window(const std::string& base, const std::string& stride, const std::string& row, const std::string& column) {
  return "func.func @f(%p: !tile.ptr<bf16> {tile.divisibility = " + base + " : i64}, %n: i64) -> !tile.block_ptr<64x32xbf16> {\n" +
         "  %one = arith.constant 1 : i64\n  %s0 = arith.constant " + stride + " : i64\n  %r0 = arith.constant " + row +
         " : i64\n  %c0 = arith.constant " + column + " : i64\n  %stride = arith.muli %n, %s0 : i64\n" +
         "  %w = tile.make_block_ptr %p, shape [%n, %stride], strides [%stride, %one], offsets [%r0, %c0] : !tile.ptr<bf16> -> "
         "!tile.block_ptr<64x32xbf16>\n  return %w : !tile.block_ptr<64x32xbf16>\n}";
}

TEST_F(DivisibilityTest, AlignsLinesByBaseStridesAndTheColumn) {
  auto alignment = [&](const std::string& text) { return alignmentOf(returned(text).front()); };
  EXPECT_EQ(alignment(window("64", "8", "3", "0")), 16) << "every row is 8 elements of 2 bytes further";
  EXPECT_EQ(alignment(window("4", "8", "0", "0")), 4) << "the base";
  EXPECT_EQ(alignment(window("64", "8", "0", "2")), 4) << "the column counts elements";
  EXPECT_EQ(alignment(window("64", "1", "0", "0")), 2) << "nothing is known of the stride, but elements are aligned";
}

TEST_F(DivisibilityTest, MovesWithAdvancesAndPointerArithmetic) {
  Value ptr =
      returned(
          R"(func.func @f(%p: !tile.ptr<f32> {tile.divisibility = 128 : i64}, %s: i64 {tile.divisibility = 16 : i64}, %n: i64) -> !tile.block_ptr<8x8xf32> {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c4 = arith.constant 4 : i64
    %head = arith.muli %s, %n : i64
    %q = tile.addptr %p, %head : !tile.ptr<f32>, i64
    %w = tile.make_block_ptr %q, shape [%n, %n], strides [%s, %c1], offsets [%n, %c0] : !tile.ptr<f32> -> !tile.block_ptr<8x8xf32>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%v = %w) -> (!tile.block_ptr<8x8xf32>) : i64 {
      %next = tile.advance %v, [%c1, %c4] : !tile.block_ptr<8x8xf32>
      scf.yield %next : !tile.block_ptr<8x8xf32>
    }
    return %r : !tile.block_ptr<8x8xf32>
  })")
          .front();
  EXPECT_EQ(alignmentOf(ptr), 16);
  EXPECT_TRUE(isContiguous(ptr));
}

TEST_F(DivisibilityTest, KnowsTheContiguousDimension) {
  auto values = returned(R"(func.func @f(%p: !tile.ptr<f16>, %s: i64) -> (!tile.block_ptr<8x8xf16>, !tile.block_ptr<8x8xf16>) {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %t = tile.make_block_ptr %p, shape [%s, %s], strides [%c1, %s], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<8x8xf16>
    %u = tile.make_block_ptr %p, shape [%s, %s], strides [%s, %s], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<8x8xf16>
    return %t, %u : !tile.block_ptr<8x8xf16>, !tile.block_ptr<8x8xf16>
  })");
  EXPECT_EQ(contiguousDim(values[0]), 0);
  EXPECT_FALSE(isContiguous(values[0]));
  EXPECT_EQ(contiguousDim(values[1]), std::nullopt);
  EXPECT_EQ(accessBytes(values[1]), 2) << "an element at a time where nothing is contiguous";
}

TEST_F(DivisibilityTest, TheArrayMayEndWithinAVectorOfACheckedDimension) {
  const std::string text =
      R"(func.func @f(%p: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %w: i64 {tile.divisibility = 4 : i64}, %s: i64 {tile.divisibility = 8 : i64}) -> !tile.block_ptr<8x32xf16> {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %t = tile.make_block_ptr %p, shape [%s, %w], strides [%s, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<8x32xf16>
    return %t : !tile.block_ptr<8x32xf16>
  })";
  Value ptr = returned(text).front();
  EXPECT_EQ(accessBytes(ptr), 16);
  EXPECT_EQ(accessBytes(ptr, {}, 4), 4);
  EXPECT_EQ(accessBytes(ptr, {8, 4}), 8) << "the part that is accessed";
  EXPECT_FALSE(mayEndWithin(ptr, {}, 16));
  EXPECT_FALSE(mayEndWithin(ptr, {0}, 16));
  EXPECT_TRUE(mayEndWithin(ptr, {0, 1}, 16));
  EXPECT_FALSE(mayEndWithin(ptr, {1}, 8)) << "4 elements divide the width";
}

}  // namespace
}  // namespace fattn::transforms
