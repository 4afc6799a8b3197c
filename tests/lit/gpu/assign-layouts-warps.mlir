// SPDX-License-Identifier: Apache-2.0
// How the warps share a dot follows from what it costs, not from a recipe.
// RUN: fattn-opt %s -split-input-file -tilegpu-assign-layouts="target=nvidia:sm_80 warps=4" | FileCheck %s

// A square product: two by two warps read the least from shared memory.
// CHECK-DAG: #[[C:.*]] = #tilegpu.regs<"{{.*}}; warp: 1 -> (16,0), 2 -> (0,8) | dim0: 128, dim1: 128">
// CHECK-LABEL: func.func @square
// CHECK: tile.dot {{.*}} -> tensor<128x128xf32, #[[C]]>
func.func @square(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %ap = tile.make_block_ptr %a, shape [%n, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<128x64xf16>
  %bp = tile.make_block_ptr %a, shape [%c64, %n], strides [%c64, %c1], offsets [%c0, %c64] : !tile.ptr<f16> -> !tile.block_ptr<64x128xf16>
  %op = tile.make_block_ptr %o, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<128x128xf32>
  %ta = tile.load %ap : !tile.block_ptr<128x64xf16> -> tensor<128x64xf16>
  %tb = tile.load %bp : !tile.block_ptr<64x128xf16> -> tensor<64x128xf16>
  %d = tile.dot %ta, %tb, %zero : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
  tile.store %op, %d : !tile.block_ptr<128x128xf32>, tensor<128x128xf32>
  return
}

// -----

// The same product whose rows are reduced: warps on top of each other need no exchange between warps for that.
// CHECK-DAG: #[[C:.*]] = #tilegpu.regs<"{{.*}}; warp: 1 -> (16,0), 2 -> (32,0) | dim0: 128, dim1: 32">
// CHECK-LABEL: func.func @reduced
// CHECK: tile.dot {{.*}} -> tensor<128x32xf32, #[[C]]>
func.func @reduced(%ta: tensor<128x64xf16>, %tb: tensor<64x32xf16>, %zero: tensor<128x32xf32>) -> tensor<128xf32> {
  %d = tile.dot %ta, %tb, %zero : tensor<128x64xf16>, tensor<64x32xf16> -> tensor<128x32xf32>
  %r = tile.reduce %d axis 1 : tensor<128x32xf32> -> tensor<128xf32> {
  ^bb0(%lhs: f32, %rhs: f32):
    %sum = arith.addf %lhs, %rhs : f32
    tile.yield %sum : f32
  }
  return %r : tensor<128xf32>
}

// -----

// 16 rows are one fragment: the columns are shared, since a second warp on the same ones would only repeat the first one's work.
// CHECK-DAG: #[[C:.*]] = #tilegpu.regs<"{{.*}}; warp: 1 -> (0,8), 2 -> (0,16) | dim0: 16, dim1: 128">
// CHECK-LABEL: func.func @flat
// CHECK: tile.dot {{.*}} -> tensor<16x128xf32, #[[C]]>
func.func @flat(%ta: tensor<16x64xf16>, %tb: tensor<64x128xf16>, %zero: tensor<16x128xf32>) -> tensor<16x128xf32> {
  %d = tile.dot %ta, %tb, %zero : tensor<16x64xf16>, tensor<64x128xf16> -> tensor<16x128xf32>
  return %d : tensor<16x128xf32>
}

// -----

// Fewer fragments than warps: what is left over holds copies.
// CHECK-DAG: #[[C:.*]] = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); {{.*}}; warp: 1 -> (0,0), 2 -> (0,8) | dim0: 16, dim1: 16">
// CHECK-LABEL: func.func @tiny
// CHECK: tile.dot {{.*}} -> tensor<16x16xf32, #[[C]]>
func.func @tiny(%ta: tensor<16x16xf16>, %tb: tensor<16x16xf16>, %zero: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %d = tile.dot %ta, %tb, %zero : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
  return %d : tensor<16x16xf32>
}

// -----

// Without dots the largest accesses decide: each warp's lanes lie along the contiguous dimension, in vectors of what the alignment allows.
// CHECK-DAG: #[[L:.*]] = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), {{.*}}lane: 1 -> (0,8), 2 -> (0,16), 4 -> (0,32), 8 -> (0,64), 16 -> (0,128); warp: {{.*}} | dim0: 4, dim1: 512">
// CHECK-LABEL: func.func @rows
// CHECK: tile.load {{.*}} -> tensor<4x512xbf16, #[[L]]>
// CHECK: tile.store {{.*}} tensor<4x512xbf16, #[[L]]>
func.func @rows(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %s: i64 {tile.divisibility = 8 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %w = tile.make_block_ptr %p, shape [%s, %s], strides [%s, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<4x512xbf16>
  %x = tile.load %w : !tile.block_ptr<4x512xbf16> -> tensor<4x512xbf16>
  %f = arith.extf %x : tensor<4x512xbf16> to tensor<4x512xf32>
  %m = tile.reduce %f axis 1 : tensor<4x512xf32> -> tensor<4xf32> {
  ^bb0(%lhs: f32, %rhs: f32):
    %max = arith.maxnumf %lhs, %rhs : f32
    tile.yield %max : f32
  }
  %m1 = tile.expand_dims %m, 1 : tensor<4xf32> -> tensor<4x1xf32>
  %m2 = tile.broadcast %m1 : tensor<4x1xf32> -> tensor<4x512xf32>
  %d = arith.subf %f, %m2 : tensor<4x512xf32>
  %t = arith.truncf %d : tensor<4x512xf32> to tensor<4x512xbf16>
  tile.store %w, %t : !tile.block_ptr<4x512xbf16>, tensor<4x512xbf16>
  return
}

// -----

// Three warps cannot share two fragments evenly: they all hold both.
// RUN: fattn-opt %s -split-input-file -tilegpu-assign-layouts="target=nvidia:sm_80 warps=3" | FileCheck %s --check-prefix=THREE
// THREE: #tilegpu.regs<"{{.*}}; warp: x3 copies | dim0: 16, dim1: 16">
// THREE-LABEL: func.func @odd_warps
// THREE: tile.dot {{.*}} -> tensor<16x16xf32,
func.func @odd_warps(%a: tensor<16x32xf16>, %b: tensor<32x16xf16>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = tile.dot %a, %b, %c : tensor<16x32xf16>, tensor<32x16xf16> -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
