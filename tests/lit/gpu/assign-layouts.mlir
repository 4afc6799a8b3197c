// SPDX-License-Identifier: Apache-2.0
// Every tile gets a layout, from the dots outwards.
// RUN: fattn-opt %s -split-input-file -tilegpu-assign-layouts="target=nvidia:sm_80 warps=4" -cse | FileCheck %s

// Two dots, the first one's result an operand of the second: warps along rows only, and P needs no conversion. What the accumulators' rows
// hold (maxima, sums) lies beside them: broadcasting back to the tile moves nothing.
// CHECK-DAG: #[[ROWS:.*]] = #tilegpu.regs<"register: 1 -> (8); lane: 1 -> (0), 2 -> (0), 4 -> (1), 8 -> (2), 16 -> (4); warp: 1 -> (16), 2 -> (32) | dim0: 64">
// CHECK-DAG: #[[C:.*]] = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 32">
// CHECK-DAG: #[[B:.*]] = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32), 32 -> (16,0); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,0), 2 -> (0,0) | dim0: 32, dim1: 64">
// CHECK-DAG: #[[LOAD:.*]] = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (16,0); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (0,32), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 32, dim1: 64">
// CHECK: func.func @chained
// CHECK-SAME: attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64}
// CHECK: scf.for
// CHECK: %[[S:.*]] = tile.dot {{.*}} -> tensor<64x32xf32, #[[C]]>
// CHECK: %[[M:.*]] = tile.reduce %[[S]] axis 1 : tensor<64x32xf32, #[[C]]> -> tensor<64xf32, #[[ROWS]]>
// CHECK: %[[P:.*]] = arith.truncf {{.*}} to tensor<64x32xbf16, #[[C]]>
// CHECK: %[[V:.*]] = tile.load {{.*}} -> tensor<32x64xbf16, #[[LOAD]]>
// CHECK: %[[BV:.*]] = tilegpu.convert_layout %[[V]] : tensor<32x64xbf16, #[[LOAD]]> -> tensor<32x64xbf16, #[[B]]>
// CHECK: tile.dot %[[P]], %[[BV]]
// CHECK: scf.yield
func.func @chained(%q: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %v: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %zero_s = arith.constant dense<0.0> : tensor<64x32xf32>
  %qp = tile.make_block_ptr %q, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %kp = tile.make_block_ptr %k, shape [%n, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %vp = tile.make_block_ptr %v, shape [%n, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %op = tile.make_block_ptr %o, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x64xf32>
  %tq = tile.load %qp : !tile.block_ptr<64x64xbf16> -> tensor<64x64xbf16>
  %r = scf.for %i = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i64 {
    %kpi = tile.advance %kp, [%i, %c0] : !tile.block_ptr<32x64xbf16>
    %vpi = tile.advance %vp, [%i, %c0] : !tile.block_ptr<32x64xbf16>
    %tk = tile.load %kpi : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
    %kt = tile.trans %tk, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
    %s = tile.dot %tq, %kt, %zero_s : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
    %m = tile.reduce %s axis 1 : tensor<64x32xf32> -> tensor<64xf32> {
    ^bb0(%lhs: f32, %rhs: f32):
      %max = arith.maxnumf %lhs, %rhs : f32
      tile.yield %max : f32
    }
    %m1 = tile.expand_dims %m, 1 : tensor<64xf32> -> tensor<64x1xf32>
    %m2 = tile.broadcast %m1 : tensor<64x1xf32> -> tensor<64x32xf32>
    %d = arith.subf %s, %m2 : tensor<64x32xf32>
    %p = arith.truncf %d : tensor<64x32xf32> to tensor<64x32xbf16>
    %tv = tile.load %vpi : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
    %next = tile.dot %p, %tv, %acc : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %op, %r : !tile.block_ptr<64x64xf32>, tensor<64x64xf32>
  return
}

// -----

// Constants and what is made of splats and aranges have no home: they are made again in every layout that is asked for.
// CHECK-LABEL: func.func @cheap
// CHECK-NOT: convert_layout
// CHECK: return
func.func @cheap(%x: tensor<64x16xf32>, %y: tensor<16xi32>, %n: i32) -> (tensor<64x16xf32>, tensor<16xi32>) {
  %zero = arith.constant dense<0.0> : tensor<64x16xf32>
  %a = tile.arange 0 : tensor<16xi32>
  %s = tile.splat %n : i32 -> tensor<16xi32>
  %columns = arith.addi %a, %s : tensor<16xi32>
  %limit = tile.splat %n : i32 -> tensor<16xi32>
  %inside = arith.cmpi slt, %columns, %limit : tensor<16xi32>
  %row = tile.expand_dims %inside, 0 : tensor<16xi1> -> tensor<1x16xi1>
  %mask = tile.broadcast %row : tensor<1x16xi1> -> tensor<64x16xi1>
  %masked = arith.select %mask, %x, %zero : tensor<64x16xi1>, tensor<64x16xf32>
  %sum = arith.addi %y, %columns : tensor<16xi32>
  return %masked, %sum : tensor<64x16xf32>, tensor<16xi32>
}
