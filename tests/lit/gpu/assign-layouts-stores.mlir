// SPDX-License-Identifier: Apache-2.0
// What is loaded in the order of fragments is stored in that of rows. The store decides: a thread stores eight columns of two rows, 16 bytes
// each, and loads the 16 numbers of these, which lie together. Where the load decided it would store pairs, parts of sectors.
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=4' | FileCheck %s

// CHECK-DAG: #[[ROWS:.*]] = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (8,0); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (0,32), 8 -> (0,64), 16 -> (1,0); warp: 1 -> (2,0), 2 -> (4,0) | dim0: 16, dim1: 128">
// CHECK-DAG: #[[LINES:.*]] = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,4), 4 -> (0,8), 8 -> (0,2); lane: 1 -> (4,0), {{.*}} | dim0: 64, dim1: 32">
// CHECK: tile.load %{{.*}} -> tensor<64x32xf32, #[[LINES]]>
// CHECK-NOT: convert_layout
// CHECK: tile.store %{{.*}}, %{{.*}} : !tile.block_ptr<16x128xbf16>, tensor<16x128xbf16, #[[ROWS]]>
func.func @round(%s: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %o: !tile.ptr<bf16> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %from = tile.make_block_ptr %s, shape [%c64, %c32], strides [%c32, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x32xf32>
  %to = tile.make_block_ptr %o, shape [%c16, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<16x128xbf16>
  %x = tile.load %from : !tile.block_ptr<64x32xf32> -> tensor<64x32xf32>
  %digits = tile.reshape %x : tensor<64x32xf32> -> tensor<1x16x8x4x2x2xf32>
  %rows = tile.trans %digits, [0, 4, 2, 1, 3, 5] : tensor<1x16x8x4x2x2xf32> -> tensor<1x2x8x16x4x2xf32>
  %y = tile.reshape %rows : tensor<1x2x8x16x4x2xf32> -> tensor<16x128xf32>
  %z = arith.truncf %y : tensor<16x128xf32> to tensor<16x128xbf16>
  tile.store %to, %z : !tile.block_ptr<16x128xbf16>, tensor<16x128xbf16>
  return
}
