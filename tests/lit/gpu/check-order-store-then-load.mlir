// SPDX-License-Identifier: Apache-2.0
// What the compiler emitted on 2026-11-21 for a vector that is stored and loaded again where every warp needs all of it: no barrier. The
// check finds it.
// RUN: not fattn-opt %s -tilegpu-check-order 2>&1 | FileCheck %s

// CHECK: error: 'tile.load' op reads global memory that other threads write: a tilegpu.barrier is missing between the write and this read
// CHECK: note: the write
#layout0 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (0,8), 4 -> (0,16), 8 -> (0,32), 16 -> (0,0); warp: 1 -> (0,0) | dim0: 1, dim1: 64">
#layout1 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (4,0), 8 -> (8,0), 16 -> (16,0), 32 -> (32,0); lane: 1 -> (0,4), 2 -> (0,8), 4 -> (0,16), 8 -> (0,32), 16 -> (1,0); warp: 1 -> (2,0) | dim0: 64, dim1: 64">
#layout2 = #tilegpu.regs<"register: 1 -> (1), 2 -> (2); lane: 1 -> (4), 2 -> (8), 4 -> (16), 8 -> (32), 16 -> (0); warp: 1 -> (0) | dim0: 64">
module {
  module @tilegpu_before {
    func.func @store_then_load(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.noalias}) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
      %c0_i64 = arith.constant 0 : i64
      %c1_i64 = arith.constant 1 : i64
      %c64_i64 = arith.constant 64 : i64
      %cst = arith.constant dense<1.000000e+00> : tensor<64xf32, #layout2>
      %0 = tile.make_block_ptr %arg0, shape[%c64_i64], strides[%c1_i64], offsets[%c0_i64] : !tile.ptr<f32> -> !tile.block_ptr<64xf32>
      tile.store %0, %cst {tilegpu.source = array<i64: 0, 0>} : !tile.block_ptr<64xf32>, tensor<64xf32, #layout2>
      %1 = tile.load %0 {tilegpu.source = array<i64: 1, 0>} : !tile.block_ptr<64xf32> -> tensor<64xf32, #layout2>
      %2 = tile.expand_dims %1, 0 : tensor<64xf32, #layout2> -> tensor<1x64xf32, #layout0>
      %3 = tile.broadcast %2 : tensor<1x64xf32, #layout0> -> tensor<64x64xf32, #layout1>
      %4 = tile.make_block_ptr %arg1, shape[%c64_i64, %c64_i64], strides[%c64_i64, %c1_i64], offsets[%c0_i64, %c0_i64] : !tile.ptr<f32> -> !tile.block_ptr<64x64xf32>
      tile.store %4, %3 {tilegpu.source = array<i64: 2, 0>} : !tile.block_ptr<64x64xf32>, tensor<64x64xf32, #layout1>
      return
    }
  }
  func.func @store_then_load(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.noalias}) attributes {tile.kernel, tilegpu.shared_bytes = 0 : i64, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64} {
    %c0_i64 = arith.constant 0 : i64
    %c1_i64 = arith.constant 1 : i64
    %c64_i64 = arith.constant 64 : i64
    %cst = arith.constant dense<1.000000e+00> : tensor<64xf32, #layout2>
    %0 = tile.make_block_ptr %arg0, shape[%c64_i64], strides[%c1_i64], offsets[%c0_i64] : !tile.ptr<f32> -> !tile.block_ptr<64xf32>
    tile.store %0, %cst {tilegpu.source = array<i64: 0, 0>} : !tile.block_ptr<64xf32>, tensor<64xf32, #layout2>
    %1 = tile.load %0 {tilegpu.source = array<i64: 1, 0>} : !tile.block_ptr<64xf32> -> tensor<64xf32, #layout2>
    %2 = tile.expand_dims %1, 0 : tensor<64xf32, #layout2> -> tensor<1x64xf32, #layout0>
    %3 = tile.broadcast %2 : tensor<1x64xf32, #layout0> -> tensor<64x64xf32, #layout1>
    %4 = tile.make_block_ptr %arg1, shape[%c64_i64, %c64_i64], strides[%c64_i64, %c1_i64], offsets[%c0_i64, %c0_i64] : !tile.ptr<f32> -> !tile.block_ptr<64x64xf32>
    tile.store %4, %3 {tilegpu.source = array<i64: 2, 0>} : !tile.block_ptr<64x64xf32>, tensor<64x64xf32, #layout1>
    return
  }
}
