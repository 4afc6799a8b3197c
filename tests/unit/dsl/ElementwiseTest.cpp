// SPDX-License-Identifier: Apache-2.0
// Operators and elementwise functions: what each records, how operands meet, and what they refuse.
#include <gtest/gtest.h>

#include "tests/unit/dsl/Support.h"

namespace fattn::dsl::testing {
namespace {

TEST(Elementwise, FloatOperators) {
  expectIr([](Values& v) { v.f + v.f; }, {"arith.addf", ": tensor<16x64xf32>"});
  expectIr([](Values& v) { v.f - v.f; }, {"arith.subf"});
  expectIr([](Values& v) { v.f* v.f; }, {"arith.mulf"});
  expectIr([](Values& v) { v.f / v.f; }, {"arith.divf"});
  expectIr([](Values& v) { -v.f; }, {"arith.negf"});
  expectIr([](Values& v) { v.s* v.s; }, {"arith.mulf %arg5, %arg5 : f32"});
}

TEST(Elementwise, IntegerOperators) {
  expectIr([](Values& v) { v.i + v.i; }, {"arith.addi"});
  expectIr([](Values& v) { v.i - v.i; }, {"arith.subi"});
  expectIr([](Values& v) { v.i* v.i; }, {"arith.muli"});
  expectIr([](Values& v) { v.i / v.i; }, {"arith.divsi"});
  expectIr([](Values& v) { v.i % v.i; }, {"arith.remsi"});
  expectIr([](Values& v) { v.i & v.i; }, {"arith.andi"});
  expectIr([](Values& v) { v.i | v.i; }, {"arith.ori"});
  expectIr([](Values& v) { v.i ^ v.i; }, {"arith.xori"});
  expectIr([](Values& v) { v.i << 3; }, {"arith.constant dense<3>", "arith.shli"});
  expectIr([](Values& v) { v.i >> 3; }, {"arith.shrsi"});
  expectIr([](Values& v) { -v.n; }, {"arith.constant 0 : i32", "arith.subi %c0_i32, %arg3 : i32"});
  expectIr([](Values& v) { !v.t; }, {"arith.constant true", "arith.xori %arg6, %true : i1"});
  expectIr([](Values& v) { v.b&(v.b | v.b); }, {"arith.ori", "arith.andi", "tensor<16x64xi1>"});
}

TEST(Elementwise, Comparisons) {
  expectIr([](Values& v) { (void)(v.f == v.f); }, {"arith.cmpf oeq"});
  expectIr([](Values& v) { (void)(v.f != v.f); }, {"arith.cmpf une"});  // NaN differs from everything
  expectIr([](Values& v) { (void)(v.f < v.f); }, {"arith.cmpf olt"});
  expectIr([](Values& v) { (void)(v.f <= v.f); }, {"arith.cmpf ole"});
  expectIr([](Values& v) { (void)(v.f > 0.0F); }, {"arith.cmpf ogt"});
  expectIr([](Values& v) { (void)(1 >= v.f); }, {"arith.constant dense<1.0", "arith.cmpf oge, %cst"});
  expectIr([](Values& v) { (void)(v.n == 1); }, {"arith.cmpi eq"});
  expectIr([](Values& v) { (void)(v.n != v.n); }, {"arith.cmpi ne"});
  expectIr([](Values& v) { (void)(v.i < v.n); }, {"tile.splat %arg3", "arith.cmpi slt"});
  expectIr([](Values& v) { (void)(v.n <= v.i); }, {"arith.cmpi sle"});
  expectIr([](Values& v) { (void)(v.n > v.n); }, {"arith.cmpi sgt"});
  expectIr([](Values& v) { (void)(v.n >= v.n); }, {"arith.cmpi sge"});
  expectIr([](Values& v) { (void)(v.b == v.b); }, {"arith.cmpi eq", "tensor<16x64xi1>"});
}

TEST(Elementwise, Functions) {
  expectIr([](Values& v) { exp2(v.f); }, {"math.exp2"});
  expectIr([](Values& v) { log2(v.f); }, {"math.log2"});
  expectIr([](Values& v) { exp(v.f); }, {"math.exp "});
  expectIr([](Values& v) { log(v.s); }, {"math.log %arg5 : f32"});
  expectIr([](Values& v) { rcp(v.f); }, {"arith.constant dense<1.0", "arith.divf"});
  expectIr([](Values& v) { sqrt(v.f); }, {"math.sqrt"});
  expectIr([](Values& v) { rsqrt(v.f); }, {"math.rsqrt"});
  expectIr([](Values& v) { tanh(v.f); }, {"math.tanh"});
  expectIr([](Values& v) { abs(v.f); }, {"math.absf"});
  expectIr([](Values& v) { abs(v.i); }, {"math.absi"});
  expectIr([](Values& v) { min(v.f, 1); }, {"arith.minnumf"});
  expectIr([](Values& v) { max(0, v.f); }, {"arith.maxnumf"});
  expectIr([](Values& v) { min(v.n, 4); }, {"arith.minsi"});
  expectIr([](Values& v) { max(v.n, v.w); }, {"arith.extsi %arg3 : i32 to i64", "arith.maxsi", ": i64"});
  expectIr([](Values& v) { fma(v.f, 2, v.s); }, {"arith.constant dense<2.0", "tile.splat", "math.fma"});
  expectIr([](Values& v) { cdiv(v.n, 64); }, {"arith.constant 64 : i32", "arith.subi", "arith.addi", "arith.divsi"});
}

TEST(Elementwise, Where) {
  expectIr([](Values& v) { where(v.b, v.f, -infinity); },
           {"arith.constant dense<0xFF800000>", "arith.select", "tensor<16x64xi1>, tensor<16x64xf32>"});
  expectIr([](Values& v) { where(v.t, v.s, 0); }, {"arith.select %arg6, %arg5, %cst", ": f32"});
  expectIr([](Values& v) { where(v.t, v.f, v.f); }, {"arith.select %arg6", ": tensor<16x64xf32>"});
  expectIr([](Values& v) { where(expand(arange(0, 16) < v.n, 1), v.f, 0); },
           {"tile.broadcast", "tensor<16x1xi1> -> tensor<16x64xi1>", "arith.select"});
  expectIr([](Values& v) { where(v.b, v.s, 1.0F); }, {"tile.splat", "f32 -> tensor<16x64xf32>", "arith.select"});
}

TEST(Elementwise, WhereOrSkipMarksTheSelect) {
  expectIr([](Values& v) { where_or_skip(v.b, v.f, -infinity); }, {"arith.select", "{tile.skippable}", "tensor<16x64xi1>"});
  expectIr([](Values& v) { where_or_skip(expand(arange(0, 16) < v.n, 1), v.f, 0); },
           {"tile.broadcast", "tensor<16x1xi1> -> tensor<16x64xi1>", "arith.select", "{tile.skippable}"});
}

TEST(Elementwise, Cast) {
  expectIr([](Values& v) { cast(v.h, DType::F32); }, {"arith.extf", "tensor<16x64xf16> to tensor<16x64xf32>"});
  expectIr([](Values& v) { cast(v.f, DType::F8E5M2); }, {"arith.truncf", "tensor<16x64xf32> to tensor<16x64xf8E5M2>"});
  expectIr([](Values& v) { cast(v.h, DType::BF16); }, {"arith.extf", "arith.truncf", "to tensor<16x64xbf16>"});
  expectIr([](Values& v) { cast(v.e, DType::F8E5M2); }, {"arith.extf", "xf32>", "arith.truncf"});
  expectIr([](Values& v) { cast(v.f, DType::I32); }, {"arith.fptosi"});
  expectIr([](Values& v) { cast(v.n, DType::F32); }, {"arith.sitofp %arg3 : i32 to f32"});
  expectIr([](Values& v) { cast(v.b, DType::F16); }, {"arith.uitofp"});
  expectIr([](Values& v) { cast(v.b, DType::I32); }, {"arith.extui"});
  expectIr([](Values& v) { cast(v.n, DType::I64); }, {"arith.extsi"});
  expectIr([](Values& v) { cast(v.w, DType::I8); }, {"arith.trunci %arg4 : i64 to i8"});
  expectIr([](Values& v) { cast(v.f, DType::I1); }, {"arith.cmpf une"});
  expectIr([](Values& v) { cast(v.n, DType::I1); }, {"arith.cmpi ne"});
  expectIr([](Values& v) { EXPECT_EQ(cast(v.f, DType::F32).handle().value, v.f.handle().value); }, {});
}

TEST(Elementwise, OperandsMeet) {
  expectIr([](Values& v) { v.f - expand(v.row, 1); }, {"tile.broadcast", "tensor<16x1xf32> -> tensor<16x64xf32>", "arith.subf"});
  expectIr([](Values& v) { v.col* zeros({1, 64}); },
           {"tensor<16x1xf32> -> tensor<16x64xf32>", "tensor<1x64xf32> -> tensor<16x64xf32>", "arith.mulf"});
  expectIr([](Values& v) { v.s* v.f; }, {"tile.splat %arg5 : f32 -> tensor<16x64xf32>", "arith.mulf"});
  expectIr([](Values& v) { v.n + v.w; }, {"arith.extsi %arg3 : i32 to i64", "arith.addi", ": i64"});
  expectIr([](Values& v) { v.c + v.n; }, {"arith.extsi %arg7 : i8 to i32"});
  expectIr([](Values& v) { v.l + v.n; }, {"arith.extsi %arg3 : i32 to i64", "tile.splat"});
  expectIr([](Values& v) { v.h * 0.5; }, {"dense<5.000000e-01> : tensor<16x64xf16>"});
  expectIr([](Values& v) { v.f + reduce_sum(v.row, 0); },
           {"-> tensor<f32>", "tile.reshape", "tensor<f32> -> tensor<1x1xf32>", "tile.broadcast", "arith.addf"});
}

TEST(Elementwise, Literals) {
  expectIr([](Values&) { Scalar(3); }, {"arith.constant 3 : i32"});
  expectIr([](Values&) { Scalar(std::int64_t{3}); }, {"arith.constant 3 : i64"});
  expectIr([](Values&) { Scalar(1.5); }, {"arith.constant 1.500000e+00 : f32"});
  expectIr([](Values&) { Scalar(true); }, {"arith.constant true"});
}

TEST(Elementwise, CompoundAssignment) {
  expectIr(
      [](Values& v) {
        Tile x = v.f;
        x += 1;
        x *= v.s;
        Scalar n = v.n;
        n -= 2;
        n /= 3;
      },
      {"arith.addf", "arith.mulf", "arith.subi %arg3", "arith.divsi"});
}

TEST(Elementwise, OperandErrors) {
  expectError([](Values& v) { v.f + v.h; }, "+: element types must match; got f32[16,64] and f16[16,64]",
              "cast one of them, for example with cast(x, DType::F32)");
  expectError([](Values& v) { v.h* v.s; }, "*: element types must match; got f16[16,64] and f32",
              "cast one of them, for example with cast(x, DType::F16)");
  expectError([](Values& v) { v.i + v.w; }, "+: element types must match; got i32[16,64] and i64",
              "cast one of them, for example with cast(x, DType::I32)");
  expectError([](Values& v) { v.n* v.s; }, "*: element types must match; got i32 and f32",
              "cast one of them, for example with cast(x, DType::I32)");
  expectError([](Values& v) { v.f + zeros({16, 32}); },
              "+: dim 1 of the operands must be equal or 1, but is 64 and 32; got f32[16,64] and f32[16,32]");
  expectError([](Values& v) { v.f - v.row; }, "-: operands must have the same number of dimensions; got f32[16,64] and f32[16]",
              "expand(x, axis) adds a dimension of size 1");
  expectError([](Values& v) { (void)(v.ptrs < v.ptrs); }, "<: is not defined on pointers; got ptr<f32>[64]");
  expectError([](Values& v) { v.e + v.e; }, "+: there is no arithmetic on f8e4m3; got f8e4m3[16,64]", "cast to f16, bf16 or f32 first");
  expectError([](Values& v) { v.b + v.b; }, "+: is not defined on i1; got i1[16,64]", "use & | ^ == != or where, or cast to i32 first");
  expectError([](Values& v) { v.f % 2; }, "%: needs integers; got f32[16,64]", "cast to an integer type first");
  expectError([](Values& v) { v.f | v.f; }, "|: needs integers; got f32[16,64]", "cast to an integer type first");
}

TEST(Elementwise, FunctionErrors) {
  expectError([](Values& v) { exp2(v.n); }, "exp2: needs a floating-point operand; got i32", "cast to f32 first");
  expectError([](Values& v) { !v.n; }, "!: needs i1; got i32", "compare with 0, or flip bits with x ^ -1");
  expectError([](Values& v) { -v.b; }, "unary -: needs a floating-point operand; got i1[16,64]", "cast to f32 first");
  expectError([](Values& v) { fma(v.i, 1, v.i); }, "fma: needs floating-point operands; got i32[16,64]", "write a * b + c for integers");
  expectError([](Values& v) { where(v.i, v.f, v.f); }, "where: the condition must be i1; got i32[16,64]", "compare with 0");
  expectError([](Values& v) { where(v.b, v.row, v.row); },
              "where: the condition and the values must have the same number of dimensions; got i1[16,64] and f32[16]",
              "expand(x, axis) adds a dimension of size 1");
  expectError([](Values& v) { where(v.b, zeros({16, 32}), 0); },
              "where: dim 1 of a value (32) must be 1 or 64 to broadcast to [16,64]; got f32[16,32]");
  expectError([](Values& v) { cdiv(v.s, 2); }, "cdiv: needs integers; got f32");
  expectError([](Values& v) { cast(v.ptrs, DType::I64); }, "cast: pointers cannot be cast; got ptr<f32>[64]");
}

TEST(Elementwise, LiteralErrors) {
  expectError([](Values& v) { v.n + 1.5; }, "+: the literal 1.5 is no integer, but it meets i32",
              "write an integer, or cast the other operand to a floating-point type");
  expectError([](Values& v) { v.c + 200; }, "+: the literal 200 is out of the range of i8");
  expectError([](Values& v) { (void)(v.n < (std::int64_t{1} << 40)); }, "<: the literal 1099511627776 is out of the range of i32");
  expectError([](Values& v) { v.h * 1e6; }, "*: the literal 1000000 is out of the range of f16");
  expectError([](Values& v) { v.t & 2; }, "&: the literal 2 is out of the range of i1");
  expectError([](Values& v) { v.f + true; }, "+: the literal true is no number of type f32");
}

}  // namespace
}  // namespace fattn::dsl::testing
