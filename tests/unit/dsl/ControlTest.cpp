// SPDX-License-Identifier: Apache-2.0
// Loops, branches and other operations with a body.
#include <gtest/gtest.h>

#include "tests/unit/dsl/Support.h"

namespace fattn::dsl::testing {
namespace {

TEST(Control, ForCarriesValuesOfEveryKind) {
  expectIr(
      [](Values& v) {
        auto [tile, scalar, ptr, block] =
            for_(0, v.n, 16, carry(v.f, 1, v.p, v.bp), [&](Scalar i, Tile tile, Scalar scalar, Ptr ptr, BlockPtr block) {
              return carry(tile + load(block), scalar + i, ptr + 1, advance(block, {16, 0}));
            });
        store(block, tile);
        store(ptr, cast(scalar, DType::F32));
      },
      {"scf.for %arg8 = %c0_i32", "to %arg3 step %c16_i32", "iter_args(",
       "tensor<16x64xf32>, i32, !tile.ptr<f32>, !tile.block_ptr<16x64xf32>)", "tile.load", "arith.addf", "scf.yield", "tile.store"});
}

TEST(Control, ForBoundsPromote) {
  expectIr([](Values& v) { for_(0, v.w, v.n, [&](Scalar i) { EXPECT_EQ(i.dtype(), DType::I64); }); },
           {"arith.extsi %arg3 : i32 to i64", "scf.for", ": i64"});
}

TEST(Control, ForWithoutCarriedValues) {
  expectIr([](Values& v) { for_(0, v.n, 1, [&](Scalar i) { store(v.ip + i, i); }); }, {"scf.for", "tile.scatter", "}"});
  expectIr([](Values& v) { for_(0, v.n, 1, carry(), [&](Scalar i) { store(v.ip + i, i); }); }, {"scf.for", "tile.scatter", "}"});
}

TEST(Control, ForMayReturnItsOneValueAsItIs) {
  expectIr(
      [](Values& v) {
        auto [sum] = for_(0, v.n, 1, carry(v.s), [&](Scalar, Scalar sum) { return sum + 1; });
        store(v.p, sum);
      },
      {"scf.for", "arith.addf", "scf.yield", "tile.scatter %arg0"});
}

TEST(Control, NestedLoops) {
  expectIr(
      [](Values& v) {
        auto [sum] = for_(0, v.n, 1, carry(v.f), [&](Scalar, Tile outer) {
          return for_(0, v.n, 1, carry(outer), [&](Scalar, Tile inner) { return carry(inner + outer); });
        });
        store(v.bp, sum);
      },
      {"scf.for", "scf.for", "arith.addf", "scf.yield", "scf.yield", "tile.store"});
}

TEST(Control, ForErrors) {
  expectError([](Values& v) { for_(0, v.n, 1, carry(v.s, v.f), [&](Scalar, Scalar s, Tile) { return carry(s, v.h); }); },
              "for_: value 1 of 2 carried is f32[16,64], but the body returns f16[16,64]",
              "types and shapes stay the same from turn to turn; cast, or broadcast the value before the loop");
  expectError([](Values& v) { for_(0, v.n, 1, carry(v.f), [&](Scalar, Tile x) { return carry(reduce_max(x, 1)); }); },
              "for_: value 0 of 1 carried is f32[16,64], but the body returns f32[16]",
              "types and shapes stay the same from turn to turn; cast, or broadcast the value before the loop");
  expectError([](Values& v) { for_(0, v.n, 1, carry(v.f, v.s), [&](Scalar, Tile x, Scalar) { return carry(x); }); },
              "for_: the body returns 1 values, but 2 are carried", "return carry(...) with one value for each, in the same order");
  expectError([](Values& v) { for_(0, v.n, 0, [](Scalar) {}); }, "for_: the step must be at least 1; got 0",
              "count upwards and compute a falling index from it");
  expectError([](Values& v) { for_(0, v.s, 1, [](Scalar) {}); }, "for_: the bounds and the step must be i32 or i64; got f32");
}

TEST(Control, If) {
  expectIr([](Values& v) { if_(v.t, [&] { store(v.ip, 1); }); }, {"scf.if %arg6 {", "tile.scatter", "}"});
  expectIr([](Values& v) { if_(v.t, [&] { store(v.ip, 1); }, [&] { store(v.ip, 2); }); },
           {"scf.if", "tile.scatter", "else", "tile.scatter"});
  expectIr(
      [](Values& v) {
        auto [x, n] = if_(v.n > 3, [&] { return carry(v.f + 1, v.n); }, [&] { return carry(v.f, 7); });
        store(v.bp, x);
        store(v.ip, n);
      },
      {"arith.cmpi sgt", "scf.if", "-> (tensor<16x64xf32>, i32) {", "arith.addf", "scf.yield", "else", "scf.yield", "tile.store"});
}

TEST(Control, IfErrors) {
  expectError([](Values& v) { if_(v.n, [] {}); }, "if_: the condition must be an i1 scalar; got i32", "compare with 0");
  expectError([](Values& v) { if_(v.t, [&] { return carry(v.f); }, [&] { return carry(v.row); }); },
              "if_: value 0 of 1 of the then branch is f32[16,64], but the else branch returns f32[16]",
              "both branches return the same number and types of values");
  expectError([](Values& v) { if_(v.t, [&] { return carry(v.f); }, [&] {}); },
              "if_: the else branch returns 0 values, but the then branch returns 1",
              "both branches return the same number and types of values");
  expectError([](Values& v) { if_(v.t, [&] { return carry(v.f); }); },
              "if_: returns 1 values where the condition holds, and nothing where it does not",
              "give a second function that returns the values of the other case");
}

TEST(Control, While) {
  expectIr(
      [](Values& v) {
        auto [n, x] = while_(carry(v.n, v.f), [&](Scalar n, Tile) { return n > 1; }, [&](Scalar n, Tile x) { return carry(n / 2, x); });
        store(v.ip, n);
        store(v.bp, x);
      },
      {"scf.while", "arith.cmpi sgt", "scf.condition", "do {", "arith.divsi", "scf.yield", "tile.scatter", "tile.store"});
  expectError([](Values& v) { while_(carry(v.n), [&](Scalar n) { return n; }, [&](Scalar n) { return n; }); },
              "while_: the condition must return an i1 scalar; it returns i32");
  expectError([](Values& v) { while_(carry(v.n), [&](Scalar n) { return carry(n > 0, n); }, [&](Scalar n) { return n; }); },
              "while_: the condition must return one i1 scalar; it returns 2 values");
  expectError([](Values& v) { while_(carry(v.n), [&](Scalar n) { return n > 0; }, [&](Scalar) { return v.w; }); },
              "while_: value 0 of 1 carried is i32, but the body returns i64",
              "types and shapes stay the same from turn to turn; cast, or broadcast the value before the loop");
}

TEST(Control, ReduceWithAnyCombineFunction) {
  expectIr([](Values& v) { reduce(v.f, 1, [](Scalar a, Scalar b) { return a * b; }); }, {"tile.reduce", "arith.mulf", "tile.yield"});
  // The largest element and where it is: all of the left side comes first.
  expectIr(
      [](Values& v) {
        auto [best, at] = reduce(carry(v.f, v.i), 1, [](Scalar a, Scalar ai, Scalar b, Scalar bi) {
          Scalar left = (a > b) | ((a == b) & (ai < bi));
          return carry(where(left, a, b), where(left, ai, bi));
        });
        EXPECT_EQ(best.typeName(), "f32[16]");
        EXPECT_EQ(at.typeName(), "i32[16]");
      },
      {"tile.reduce", "axis 1 : tensor<16x64xf32>, tensor<16x64xi32> -> tensor<16xf32>, tensor<16xi32>", ": f32, %", ": i32, %", ": f32, %",
       ": i32):", "arith.cmpf ogt", "arith.select", "tile.yield"});
  expectError([](Values& v) { reduce(v.f, 1, [](Scalar a, Scalar b) { return a > b; }); },
              "reduce: value 0 of 1 combined is f32, but the combine function returns i1",
              "the combine function returns what it is given: one value for each tile, of its element type");
  expectError([](Values& v) { reduce(carry(v.f, v.row), 0, [](Scalar a, Scalar b, Scalar, Scalar) { return carry(a, b); }); },
              "reduce: all tiles must have the same shape; got f32[16,64] and f32[16]");
}

TEST(Control, SelectLazy) {
  expectIr(
      [](Values& v) {
        Tile x = select_lazy(v.row > 3, [&] { return carry(exp2(v.f)); }, v.f);
        store(v.bp, x);
      },
      {"arith.cmpf ogt", "tile.select_lazy", "usual", "math.exp2", "tile.yield", "tile.store"});
  expectIr(
      [](Values& v) {
        auto [x, y] = select_lazy(v.t, [&] { return carry(exp2(v.f), v.row); }, v.f, v.row);
        EXPECT_EQ(y.typeName(), "f32[16]");
        store(v.bp, x);
      },
      {"tile.select_lazy %arg6", "tile.yield", "tensor<16x64xf32>, tensor<16xf32>"});
  expectError([](Values& v) { select_lazy(v.row, [&] { return v.f; }, v.f); }, "select_lazy: the condition must be i1; got f32[16]",
              "compare with 0");
  expectError([](Values& v) { select_lazy(v.b, [&] { return v.f; }, v.f); },
              "select_lazy: the condition must be a scalar or have one dimension, a truth value for each row; got i1[16,64]",
              "reduce(condition, 1, [](Scalar a, Scalar b) { return a | b; }) tells which rows need it");
  expectError([](Values& v) { select_lazy(arange(0, 8) < 3, [&] { return v.f; }, v.f); },
              "select_lazy: dim 0 of usual value 0 must be the 8 rows of the condition; got f32[16,64]");
  expectError([](Values& v) { select_lazy(v.t, [&] { return v.h; }, v.f); },
              "select_lazy: value 0 of 1 usual is f32[16,64], but the exact side returns f16[16,64]",
              "both sides give the same number and types of values");
  expectError([](Values& v) { select_lazy(v.t, [&] { return carry(v.f, v.f); }, v.f); },
              "select_lazy: the exact side returns 2 values, but 1 are usual", "both sides give the same number and types of values");
}

TEST(Control, MemoryIsNotWrittenWhereABodyMayRunTwiceOrNever) {
  expectError(
      [](Values& v) {
        select_lazy(
            v.t,
            [&] {
              store(v.bp, v.f);
              return v.f;
            },
            v.f);
      },
      "store: memory cannot be written inside of select_lazy: this side may run or not", "return the value and store it afterwards");
  expectError(
      [](Values& v) {
        reduce(v.f, 1, [&](Scalar a, Scalar b) {
          store(v.p, a);
          return a + b;
        });
      },
      "store: memory cannot be used inside of a combine function: it runs any number of times, in any order");
}

}  // namespace
}  // namespace fattn::dsl::testing
