// SPDX-License-Identifier: Apache-2.0
// Memory, shape, computation and hints: what each operation records and what it refuses.
#include <gtest/gtest.h>

#include "tests/unit/dsl/Support.h"

namespace fattn::dsl::testing {
namespace {

TEST(Ops, Grid) {
  expectIr([](Values&) { program_id(0); }, {"tile.program_id x : i32"});
  expectIr([](Values&) { num_programs(2); }, {"tile.num_programs z : i32"});
  expectError([](Values&) { program_id(3); }, "program_id: the grid has axes 0, 1 and 2; got 3");
}

TEST(Ops, MakingTiles) {
  expectIr([](Values&) { arange(8, 24); }, {"tile.arange 8 : tensor<16xi32>"});
  expectIr([](Values&) { full({4, 8}, 1.5, DType::BF16); }, {"dense<1.500000e+00> : tensor<4x8xbf16>"});
  expectIr([](Values& v) { full({4, 8}, v.n, DType::I64); }, {"arith.extsi", "tile.splat", "i64 -> tensor<4x8xi64>"});
  expectIr([](Values&) { zeros({80}); }, {"dense<0.000000e+00> : tensor<80xf32>"});
  expectError([](Values&) { arange(4, 4); }, "arange: end (4) must be greater than start (4)");
  expectError([](Values&) { arange(0, std::int64_t{1} << 33); }, "arange: 0 to 8589934591 does not fit i32");
  expectError([](Values&) { zeros({}); }, "zeros: a tile has at least one dimension; got shape []");
  expectError([](Values&) { zeros({4, 0}); }, "zeros: extents must be at least 1; dim 1 of [4,0] is 0");
  expectError([](Values& v) { full({4}, v.s, DType::F16); }, "full: the value must be f16; got f32", "cast(x, ...) converts a scalar");
}

TEST(Ops, BlockPointers) {
  expectIr([](Values& v) { make_block_ptr(v.hp, {v.n, v.w}, {v.w, 1}, {8, 0}, {32, 80}); },
           {"arith.extsi %arg3 : i32 to i64", "tile.make_block_ptr %arg1, shape", "%arg4]", "!tile.block_ptr<32x80xf16>"});
  expectIr([](Values& v) { advance(v.bp, {v.n, 0}); }, {"arith.extsi %arg3", "tile.advance", ", [", "!tile.block_ptr<16x64xf32>"});
  expectError([](Values& v) { make_block_ptr(v.p, {v.n}, {64, 1}, {0, 0}, {16, 64}); },
              "make_block_ptr: the block has 2 dimensions, so shape must have as many entries; got 1");
  expectError([](Values& v) { make_block_ptr(v.p, {v.n, 1}, {64, 1}, {0}, {16, 64}); },
              "make_block_ptr: the block has 2 dimensions, so offsets must have as many entries; got 1");
  expectError([](Values& v) { make_block_ptr(v.p, {v.s}, {1}, {0}, {16}); }, "make_block_ptr: shape 0 must be i64; got f32",
              "cast(x, ...) converts a scalar");
  expectError([](Values& v) { make_block_ptr(v.p, {v.n}, {1}, {0}, {0}); },
              "make_block_ptr: extents must be at least 1; dim 0 of [0] is 0");
  expectError([](Values& v) { make_block_ptr(v.p, {}, {}, {}, {}); }, "make_block_ptr: the block must have at least one dimension");
  expectError([](Values& v) { advance(v.bp, {1}); }, "advance: the block has 2 dimensions, so deltas must have as many entries; got 1");
}

TEST(Ops, LoadAndStoreOfBlocks) {
  expectIr([](Values& v) { load(v.bp); }, {"tile.load", ": !tile.block_ptr<16x64xf32> -> tensor<16x64xf32>"});
  expectIr([](Values& v) { load(v.bp, {-1, 0}); }, {"boundary_check = array<i64: 0, 1>, padding = 0.000000e+00 : f32"});
  expectIr([](Values& v) { load(v.bp, {0}, -infinity); }, {"boundary_check = array<i64: 0>, padding = 0xFF800000 : f32"});
  expectIr([](Values& v) { store(v.bp, v.f, {1}); }, {"tile.store", "boundary_check = array<i64: 1>"});
  expectError([](Values& v) { load(v.bp, {2}); },
              "load: there is no dimension 2; this operand has dimensions 0 to 1 (or -1 to -2, from the last)");
  expectError([](Values& v) { load(v.bp, {1, 1}); }, "load: dimension 1 is listed twice in the boundary check");
  expectError([](Values& v) { load(v.bp, {}, 1.0F); }, "load: a padding value needs dimensions to check",
              "load(ptr, {0, 1}, padding) checks dimensions 0 and 1");
  expectError([](Values& v) { store(v.bp, v.h); }, "store: the value must be f32[16,64] as the block pointer's window; got f16[16,64]",
              "cast(x, ...) changes the element type, broadcast or reshape the shape");
}

TEST(Ops, PointerArithmetic) {
  expectIr([](Values& v) { v.p + 5; }, {"arith.constant 5 : i64", "tile.addptr %arg0", ": !tile.ptr<f32>, i64"});
  expectIr([](Values& v) { v.p + v.n; }, {"tile.addptr %arg0, %arg3 : !tile.ptr<f32>, i32"});
  expectIr([](Values& v) { v.p + v.i; }, {"tile.splat %arg0", "tile.addptr", "tensor<16x64x!tile.ptr<f32>>, tensor<16x64xi32>"});
  expectIr([](Values& v) { v.ptrs + v.w; }, {"tile.splat %arg4 : i64 -> tensor<64xi64>", "tile.addptr"});
  expectIr([](Values& v) { expand(v.ptrs, 0) + expand(arange(0, 16), 1); },
           {"tile.broadcast", "tile.broadcast", "tile.addptr", "tensor<16x64x!tile.ptr<f32>>, tensor<16x64xi32>"});
  expectError([](Values& v) { v.p + v.s; }, "+: the offset of a pointer must be i32 or i64; got ptr<f32> + f32");
  expectError([](Values& v) { v.ptrs + arange(0, 32); }, "+: dim 0 of the offset (32) must be 1 or 64 to broadcast to [64]; got i32[32]");
}

TEST(Ops, LoadAndStoreThroughPointers) {
  expectIr([](Values& v) { load(v.ptrs); }, {"tile.gather", ": tensor<64x!tile.ptr<f32>> -> tensor<64xf32>"});
  expectIr([](Values& v) { load(v.ptrs, arange(0, 64) < v.n, 7); }, {"dense<7.0", "tile.gather", ", mask", ", other %cst"});
  expectIr([](Values& v) { load(v.ptrs, v.t); }, {"tile.splat %arg6 : i1 -> tensor<64xi1>", "dense<0.0", "tile.gather"});
  expectIr([](Values& v) { load(v.ip); }, {"tile.gather %arg2 : !tile.ptr<i32> -> i32"});
  expectIr([](Values& v) { store(v.ptrs, 1, arange(0, 64) < 3); }, {"tile.scatter", ", mask"});
  expectIr([](Values& v) { store(v.ip, v.n); }, {"tile.scatter %arg2, %arg3"});
  expectIr([](Values& v) { atomic_add(v.ptrs, v.s); }, {"tile.splat", "tile.atomic_add"});
  expectIr([](Values& v) { atomic_add(v.ip, 1, v.t); }, {"tile.atomic_add %arg2, %c1_i32, mask %arg6 : i1"});
  expectIr([](Values& v) { atomic_add(v.ip, 1, MemoryOrder::AcquireRelease); }, {"tile.atomic_add %arg2, %c1_i32 order acq_rel"});
  expectIr([](Values& v) { atomic_add(make_block_ptr(v.p, {16, 64}, {64, 1}, {0, 0}, {16, 64}), v.f, {0}); },
           {"tile.accumulate", "{boundary_check = array<i64: 0>} : !tile.block_ptr<16x64xf32>, tensor<16x64xf32>"});
  expectError([](Values& v) { atomic_add(make_block_ptr(v.p, {16, 64}, {64, 1}, {0, 0}, {16, 64}), v.h); },
              "atomic_add: the value must be f32[16,64] as the block pointer's window; got f16[16,64]",
              "cast(x, ...) changes the element type, broadcast or reshape the shape");
  expectError([](Values& v) { load(v.f); }, "load: needs a tile of pointers; got f32[16,64]",
              "make one with ptr + offsets, or use a block pointer");
  expectError([](Values& v) { load(v.ptrs, v.n); }, "load: the elements of the mask must be i1; got i32", "cast(x, ...) converts");
  expectError([](Values& v) { load(v.ptrs, {}, 0); }, "load: a value for masked elements needs a mask");
  expectError([](Values& v) { store(v.ptrs, v.h); }, "store: the elements of the value must be f32; got f16[16,64]",
              "cast(x, ...) converts");
  expectError([](Values& v) { load(v.p, v.b); }, "load: the mask must be a scalar here; got i1[16,64]");
  expectError([](Values& v) { store(v.ptrs, 0, v.b); }, "store: the mask must have 1 dimensions to broadcast to [64]; got i1[16,64]",
              "expand(x, axis) adds a dimension of size 1");
}

TEST(Ops, Shapes) {
  expectIr([](Values& v) { trans(v.f); }, {"tile.trans", "[1, 0] : tensor<16x64xf32> -> tensor<64x16xf32>"});
  expectIr([](Values& v) { trans(expand(v.f, 0), {2, 0, 1}); }, {"tile.trans", "[2, 0, 1]", "tensor<64x1x16xf32>"});
  expectIr([](Values& v) { reshape(v.f, {4, 256}); }, {"tile.reshape", "tensor<4x256xf32>"});
  expectIr([](Values& v) { expand(v.row, -1); }, {"tile.expand_dims", ", 1 : tensor<16xf32> -> tensor<16x1xf32>"});
  expectIr([](Values& v) { unsplat(reduce_sum(v.row, 0)); }, {"tile.unsplat", "tensor<f32> -> f32"});
  expectIr([](Values& v) { expand(v.row, 0); }, {"tile.expand_dims", ", 0 : tensor<16xf32> -> tensor<1x16xf32>"});
  expectIr([](Values& v) { broadcast(v.col, {16, 8}); }, {"tile.broadcast", "tensor<16x1xf32> -> tensor<16x8xf32>"});
  expectIr([](Values& v) { join(v.f, v.f); }, {"tile.join", "tensor<16x64x2xf32>"});
  expectIr(
      [](Values& v) {
        auto [even, odd] = split(reshape(v.f, {16, 32, 2}));
        EXPECT_EQ(odd.shape(), (std::vector<std::int64_t>{16, 32}));
        EXPECT_EQ(even.dim(-1), 32);
      },
      {"tile.reshape", "tile.split", "tensor<16x32x2xf32> -> tensor<16x32xf32>"});
}

TEST(Ops, ShapeErrors) {
  expectError([](Values& v) { trans(v.row); }, "trans: needs at least two dimensions; got f32[16]");
  expectError([](Values& v) { trans(v.f, {0, 0}); },
              "trans: the permutation must name each of the 2 dimensions once; got [0,0] for f32[16,64]");
  expectError([](Values& v) { reshape(v.f, {16, 32}); },
              "reshape: the number of elements must stay the same; f32[16,64] has 1024, [16,32] has 512");
  expectError([](Values& v) { expand(v.row, 2); },
              "expand: there is no dimension 2; this operand has dimensions 0 to 1 (or -1 to -2, from the last)");
  expectError([](Values& v) { broadcast(v.f, {16, 128}); },
              "broadcast: dim 1 of the operand (64) must be 1 or 128 to broadcast to [16,128]; got f32[16,64]");
  expectError([](Values& v) { join(v.f, v.h); },
              "join: both tiles must have the same shape and element type; got f32[16,64] and f16[16,64]");
  expectError([](Values& v) { split(v.f); }, "split: the last of at least two dimensions must be 2; got f32[16,64]",
              "reshape [..., n] to [..., n / 2, 2] to split neighbours, or [..., 2, n / 2] and trans to split halves");
  expectError([](Values& v) { (void)v.f.dim(2); },
              "dim: there is no dimension 2; this operand has dimensions 0 to 1 (or -1 to -2, from the last)");
}

TEST(Ops, Dot) {
  expectIr([](Values& v) { dot(v.h, trans(v.h)); },
           {"dense<0.000000e+00> : tensor<16x16xf32>", "tile.dot", "tensor<64x16xf16> -> tensor<16x16xf32>"});
  expectIr([](Values& v) { dot(v.f, trans(v.f), zeros({16, 16}), Precision::Tf32); }, {"tile.dot", "tf32"});
  expectIr([](Values& v) { dot(v.h, trans(v.h), zeros({16, 16}, DType::F16)); }, {"tile.dot", "-> tensor<16x16xf16>"});
  expectIr([](Values& v) { dot(v.e, zeros({64, 8}, DType::F8E5M2)); }, {"tile.dot", "-> tensor<16x8xf32>"});
  expectIr([](Values&) { dot(zeros({16, 32}, DType::I8), zeros({32, 8}, DType::I8)); }, {"dense<0> : tensor<16x8xi32>", "tile.dot"});
  expectError([](Values& v) { dot(v.h, v.h); }, "dot: dim 1 of a (64) must equal dim 0 of b (16); got a f16[16,64], b f16[16,64]",
              "dot(a, trans(b)) multiplies by the transpose");
  expectError([](Values& v) { dot(v.h, zeros({16, 8}, DType::F16)); },
              "dot: dim 1 of a (64) must equal dim 0 of b (16); got a f16[16,64], b f16[16,8]",
              "dot(trans(a), b) multiplies the transpose");
  expectError([](Values& v) { dot(v.h, zeros({32, 8}, DType::F16)); },
              "dot: dim 1 of a (64) must equal dim 0 of b (32); got a f16[16,64], b f16[32,8]", "a is [m, k] and b is [k, n]");
  expectError([](Values& v) { dot(v.h, v.f); }, "dot: a and b must have the same element type; got a f16[16,64], b f32[16,64]",
              "cast one of them");
  expectError([](Values& v) { dot(v.i, v.i); },
              "dot: the elements of a and b must be f32, f16, bf16, f8e4m3, f8e5m2 or i8; got a i32[16,64], b i32[16,64]");
  expectError([](Values& v) { dot(v.row, v.f); }, "dot: a must have two dimensions; got f32[16]", "reshape it to [rows, columns]");
  expectError([](Values& v) { dot(v.h, trans(v.h), zeros({16, 8})); },
              "dot: acc must be f32[16,16] for a f16[16,64] and b f16[64,16]; got f32[16,8]");
  expectError([](Values& v) { dot(v.h, trans(v.h), Precision::Tf32); },
              "dot: the precision Tf32 is for f32 operands; got a f16[16,64], b f16[64,16]", "leave the precision away");
}

TEST(Ops, Reductions) {
  expectIr([](Values& v) { reduce_max(v.f, 1); },
           {"tile.reduce", "axis 1 : tensor<16x64xf32> -> tensor<16xf32>", "arith.maxnumf", "tile.yield"});
  expectIr([](Values& v) { reduce_min(v.i, 0); }, {"tile.reduce", "axis 0 : tensor<16x64xi32> -> tensor<64xi32>", "arith.minsi"});
  expectIr([](Values& v) { reduce_sum(v.f, -1); }, {"axis 1", "arith.addf"});
  expectIr([](Values& v) { cumsum(v.f, 1, true); }, {"tile.cumsum", "axis 1 reverse"});
  expectError([](Values& v) { reduce_max(v.f, 2); },
              "reduce: there is no dimension 2; this operand has dimensions 0 to 1 (or -1 to -2, from the last)");
  expectError([](Values& v) { reduce_sum(v.b, 1); }, "+: is not defined on i1; got i1", "use & | ^ == != or where, or cast to i32 first");
  expectError([](Values& v) { reduce_max(v.ptrs, 0); }, "reduce: pointers cannot be reduced; got ptr<f32>[64]");
  expectError([](Values& v) { cumsum(v.b, 0); }, "cumsum: needs floating-point or integer elements; got i1[16,64]");
}

TEST(Ops, CastsWithAPromise) {
  expectIr([](Values& v) { cast_moderate(v.f, DType::BF16); }, {"arith.truncf", "tile.moderate"});
  expectError([](Values& v) { (void)cast_moderate(v.f, DType::I32); }, "cast_moderate: needs a floating-point type; got i32",
              "cast() converts to others");
}

TEST(Ops, HintsAndDebugging) {
  expectIr([](Values& v) { assume_divisible(v.n, 8); }, {"tile.assume_divisible %arg3, 8 : i32"});
  expectIr([](Values& v) { assume_divisible(v.p, 16); }, {"tile.assume_divisible %arg0, 16 : !tile.ptr<f32>"});
  expectIr([](Values& v) { device_print("here: ", v.n, v.row, 3); }, {"tile.device_print \"here: \", %arg3", "i32, tensor<16xf32>, i32"});
  expectIr([](Values&) { check(true, "never said"); }, {});
  expectError([](Values&) { check(false, "the block must be even"); }, "check: the block must be even");
  const Program hinted = trace("hinted", [](Params&) { prefer_resident(2); });
  EXPECT_NE(hinted.mlir().find("tile.resident = 2 : i32"), std::string::npos) << hinted.mlir();
  const Program overlapping = trace("overlapping", [](Params&) { overlap_launches(); });
  EXPECT_NE(overlapping.mlir().find("tile.overlaps"), std::string::npos) << overlapping.mlir();
  EXPECT_EQ(overlapping.mlir().find("tile.relays"), std::string::npos) << overlapping.mlir();
  const Program relaying = trace("relaying", [](Params&) { overlap_launches(LaunchRelease::AtOnce); });
  EXPECT_NE(relaying.mlir().find("tile.overlaps, tile.relays"), std::string::npos) << relaying.mlir();
  const Program settled = trace("settled", [](Params& args) { args.tensor("x", DType::F32, 1, {.settled = true}); });
  EXPECT_NE(settled.mlir().find("tile.settled"), std::string::npos) << settled.mlir();
  EXPECT_TRUE(settled.args().front().settled);
  EXPECT_TRUE(parse(settled.mlir()).args().front().settled);
  expectError([](Values&) { prefer_resident(0); }, "prefer_resident: the number of programs must be 1 to 32; got 0");
  expectError([](Values& v) { assume_divisible(v.n, 0); }, "assume_divisible: the divisor must be at least 1; got 0");
  expectError([](Values& v) { assume_divisible(v.s, 2); }, "assume_divisible: needs an integer or a pointer; got f32");
}

TEST(Ops, TypesAreSpelledAsInMessages) {
  ir([](Values& v) {
    EXPECT_EQ(v.f.typeName(), "f32[16,64]");
    EXPECT_EQ(v.n.typeName(), "i32");
    EXPECT_EQ(v.hp.typeName(), "ptr<f16>");
    EXPECT_EQ(v.bp.typeName(), "block_ptr<f32[16,64]>");
    EXPECT_EQ(v.ptrs.typeName(), "ptr<f32>[64]");
    EXPECT_EQ(v.ptrs.dtype(), DType::F32);
    EXPECT_EQ(v.bp.dtype(), DType::F32);
    EXPECT_EQ(v.bp.shape(), (std::vector<std::int64_t>{16, 64}));
    EXPECT_EQ(v.f.rank(), 2);
  });
}

}  // namespace
}  // namespace fattn::dsl::testing
