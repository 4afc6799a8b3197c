// SPDX-License-Identifier: Apache-2.0
// Conversions within a warp: registers renamed, or words shuffled.
// RUN: fattn-opt %s -nvidia-lower-tensors -canonicalize -cse | FileCheck %s

#lane = #tilegpu.regs<"register: 1 -> (1); lane: 1 -> (2), 2 -> (4), 4 -> (8), 8 -> (16), 16 -> (32); warp: 1 | dim0: 64">
#swap = #tilegpu.regs<"register: 1 -> (2); lane: 1 -> (1), 2 -> (4), 4 -> (8), 8 -> (16), 16 -> (32); warp: 1 | dim0: 64">

// A register bit and a lane bit change places: what stays needs no shuffle, and words are picked by the lane's bit, not by an address.
// CHECK-LABEL: func.func @swap
// CHECK: %[[ODD:.*]] = arith.cmpi ne
// CHECK: %[[KEPT:.*]] = arith.select %[[ODD]], %[[SECOND:.*]], %[[FIRST:.*]] : i32
// CHECK: %[[SENT:.*]] = arith.select %[[ODD]], %[[FIRST]], %[[SECOND]] : i32
// CHECK: %[[GOT:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[SENT]], %c1_i32
// CHECK-NOT: nvvm.shfl.sync
// CHECK: arith.select %[[ODD]], %[[GOT]], %[[KEPT]]
// CHECK: arith.select %[[ODD]], %[[KEPT]], %[[GOT]]
func.func @swap(%p: !tile.ptr<i32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %n = arith.constant 64 : i64
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %x = tile.arange 0 : tensor<64xi32, #lane>
  %y = tilegpu.convert_layout %x : tensor<64xi32, #lane> -> tensor<64xi32, #swap>
  %b = tile.make_block_ptr %p, shape[%n], strides[%one], offsets[%zero] : !tile.ptr<i32> -> !tile.block_ptr<64xi32>
  tile.store %b, %y : !tile.block_ptr<64xi32>, tensor<64xi32, #swap>
  return
}

// Four 8-bit numbers are one word, and one shuffle.
#quads = #tilegpu.regs<"register: 1 -> (1), 2 -> (2); lane: 1 -> (4), 2 -> (8), 4 -> (16), 8 -> (32), 16 -> (64); warp: 1 | dim0: 128">
#turned = #tilegpu.regs<"register: 1 -> (1), 2 -> (2); lane: 1 -> (64), 2 -> (32), 4 -> (16), 8 -> (8), 16 -> (4); warp: 1 | dim0: 128">
// CHECK-LABEL: func.func @bytes
// CHECK-COUNT-1: nvvm.shfl.sync idx
// CHECK-NOT: nvvm.shfl.sync
func.func @bytes(%p: !tile.ptr<i8>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %n = arith.constant 128 : i64
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %x = tile.arange 0 : tensor<128xi8, #quads>
  %y = tilegpu.convert_layout %x : tensor<128xi8, #quads> -> tensor<128xi8, #turned>
  %b = tile.make_block_ptr %p, shape[%n], strides[%one], offsets[%zero] : !tile.ptr<i8> -> !tile.block_ptr<128xi8>
  tile.store %b, %y : !tile.block_ptr<128xi8>, tensor<128xi8, #turned>
  return
}
