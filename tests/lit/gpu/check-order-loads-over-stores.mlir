// SPDX-License-Identifier: Apache-2.0
// What the compiler emitted on 2026-11-21 for a loop that stores block i + 1 of the array of which it loads block i: copies moved over
// stores. The check finds it.
// RUN: not fattn-opt %s -tilegpu-check-order 2>&1 | FileCheck %s

// CHECK: error: 'tilegpu.copy_async' op comes after 0 runs of the tile.store of line [[#]] of the same memory, where the program before scheduling has it after 1 run
// CHECK: note: the write
// CHECK: error: 'tile.store' op stores to global memory that a copy may still be reading: no tilegpu.copy_wait covers the copy before this store
// CHECK: note: the copy
#layout0 = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
#layout1 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4); lane: 1 -> (0,8), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 16">
#layout2 = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 | dim0: 16, dim1: 16">
#layout3 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 16">
module {
  module @tilegpu_before {
    func.func @loads_over_stores(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %arg2: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
      %c0_i64 = arith.constant 0 : i64
      %c1_i64 = arith.constant 1 : i64
      %c16_i64 = arith.constant 16 : i64
      %c0_i32 = arith.constant 0 : i32
      %c1_i32 = arith.constant 1 : i32
      %c4096_i64 = arith.constant 4096 : i64
      %cst = arith.constant dense<0.000000e+00> : tensor<16x16xf32, #layout3>
      %0 = tile.make_block_ptr %arg1, shape[%c16_i64, %c16_i64], strides[%c16_i64, %c1_i64], offsets[%c0_i64, %c0_i64] : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
      %1 = tilegpu.alloc : !tilegpu.buffer<1 x 16x16xf16, #layout0>
      %2 = tilegpu.copy_async %0, %1[%c0_i32] {layout = #layout1, tilegpu.source = array<i64: 0, 0>} : !tile.block_ptr<16x16xf16>, !tilegpu.buffer<1 x 16x16xf16, #layout0>
      tilegpu.copy_wait %2
      %3 = tilegpu.load_buffer %1[%c0_i32] {tilegpu.source = array<i64: 1, 0>} : !tilegpu.buffer<1 x 16x16xf16, #layout0> -> tensor<16x16xf16, #layout2>
      %4 = tilegpu.alloc : !tilegpu.buffer<1 x 16x16xf16, #layout0>
      scf.for %arg3 = %c0_i32 to %arg2 step %c1_i32  : i32 {
        %5 = arith.extsi %arg3 : i32 to i64
        %6 = arith.muli %5, %c16_i64 : i64
        %7 = arith.addi %6, %c16_i64 : i64
        %8 = tile.make_block_ptr %arg0, shape[%c4096_i64, %c16_i64], strides[%c16_i64, %c1_i64], offsets[%6, %c0_i64] : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
        %9 = tilegpu.copy_async %8, %4[%c0_i32] {layout = #layout1, tilegpu.source = array<i64: 2, 0>} : !tile.block_ptr<16x16xf16>, !tilegpu.buffer<1 x 16x16xf16, #layout0>
        tilegpu.copy_wait %9
        %10 = tilegpu.load_buffer %4[%c0_i32] {tilegpu.source = array<i64: 3, 0>} : !tilegpu.buffer<1 x 16x16xf16, #layout0> -> tensor<16x16xf16, #layout3>
        %11 = tile.dot %10, %3, %cst : tensor<16x16xf16, #layout3>, tensor<16x16xf16, #layout2> -> tensor<16x16xf32, #layout3>
        %12 = arith.truncf %11 : tensor<16x16xf32, #layout3> to tensor<16x16xf16, #layout3>
        %13 = tile.make_block_ptr %arg0, shape[%c4096_i64, %c16_i64], strides[%c16_i64, %c1_i64], offsets[%7, %c0_i64] : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
        %14 = tilegpu.convert_layout %12 : tensor<16x16xf16, #layout3> -> tensor<16x16xf16, #layout1>
        tile.store %13, %14 {tilegpu.source = array<i64: 4, 0>} : !tile.block_ptr<16x16xf16>, tensor<16x16xf16, #layout1>
      }
      return
    }
  }
  func.func @loads_over_stores(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %arg2: i32) attributes {tile.kernel, tilegpu.shared_bytes = 1536 : i64, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
    %c0_i64 = arith.constant 0 : i64
    %c1_i64 = arith.constant 1 : i64
    %c16_i64 = arith.constant 16 : i64
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c4096_i64 = arith.constant 4096 : i64
    %cst = arith.constant dense<0.000000e+00> : tensor<16x16xf32, #layout3>
    %0 = tile.make_block_ptr %arg1, shape[%c16_i64, %c16_i64], strides[%c16_i64, %c1_i64], offsets[%c0_i64, %c0_i64] : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
    %1 = tilegpu.alloc {offset = 1024 : i64} : !tilegpu.buffer<1 x 16x16xf16, #layout0>
    %2 = tilegpu.copy_async %0, %1[%c0_i32] {layout = #layout1, tilegpu.source = array<i64: 0, 0>} : !tile.block_ptr<16x16xf16>, !tilegpu.buffer<1 x 16x16xf16, #layout0>
    %3 = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<2 x 16x16xf16, #layout0>
    %4 = arith.cmpi sgt, %arg2, %c0_i32 : i32
    %5 = tile.make_block_ptr %arg0, shape[%c4096_i64, %c16_i64], strides[%c16_i64, %c1_i64], offsets[%c0_i64, %c0_i64] : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
    %6 = tilegpu.copy_async %5, %3[%c0_i32] if %4 {layout = #layout1, tilegpu.source = array<i64: 2, 0>} : !tile.block_ptr<16x16xf16>, !tilegpu.buffer<2 x 16x16xf16, #layout0>
    tilegpu.copy_wait %2 {pending = 1 : i64}
    tilegpu.barrier
    %7 = tilegpu.load_buffer %1[%c0_i32] {tilegpu.source = array<i64: 1, 0>} : !tilegpu.buffer<1 x 16x16xf16, #layout0> -> tensor<16x16xf16, #layout2>
    %8:3 = scf.for %arg3 = %c0_i32 to %arg2 step %c1_i32 iter_args(%arg4 = %c1_i32, %arg5 = %c0_i32, %arg6 = %6) -> (i32, i32, !tilegpu.token)  : i32 {
      %9 = arith.subi %arg2, %c1_i32 : i32
      %10 = arith.cmpi slt, %arg3, %9 : i32
      %11 = arith.extsi %arg3 : i32 to i64
      %12 = arith.muli %11, %c16_i64 : i64
      %13 = arith.addi %12, %c16_i64 : i64
      %14 = arith.addi %arg3, %c1_i32 : i32
      %15 = arith.extsi %14 : i32 to i64
      %16 = arith.muli %15, %c16_i64 : i64
      %17 = tile.make_block_ptr %arg0, shape[%c4096_i64, %c16_i64], strides[%c16_i64, %c1_i64], offsets[%16, %c0_i64] : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
      tilegpu.copy_wait %arg6 {pending = 0 : i64}
      tilegpu.barrier
      %18 = tilegpu.copy_async %17, %3[%arg4] if %10 {layout = #layout1, tilegpu.source = array<i64: 2, 0>} : !tile.block_ptr<16x16xf16>, !tilegpu.buffer<2 x 16x16xf16, #layout0>
      %19 = tilegpu.load_buffer %3[%arg5] {tilegpu.source = array<i64: 3, 0>} : !tilegpu.buffer<2 x 16x16xf16, #layout0> -> tensor<16x16xf16, #layout3>
      %20 = tile.dot %19, %7, %cst : tensor<16x16xf16, #layout3>, tensor<16x16xf16, #layout2> -> tensor<16x16xf32, #layout3>
      %21 = arith.truncf %20 : tensor<16x16xf32, #layout3> to tensor<16x16xf16, #layout3>
      %22 = tile.make_block_ptr %arg0, shape[%c4096_i64, %c16_i64], strides[%c16_i64, %c1_i64], offsets[%13, %c0_i64] : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
      %23 = tilegpu.convert_layout %21 : tensor<16x16xf16, #layout3> -> tensor<16x16xf16, #layout1>
      tilegpu.barrier
      tile.store %22, %23 {tilegpu.source = array<i64: 4, 0>} : !tile.block_ptr<16x16xf16>, tensor<16x16xf16, #layout1>
      %24 = arith.addi %arg4, %c1_i32 : i32
      %25 = arith.andi %24, %c1_i32 : i32
      %26 = arith.addi %arg5, %c1_i32 : i32
      %27 = arith.andi %26, %c1_i32 : i32
      scf.yield %25, %27, %18 : i32, i32, !tilegpu.token
    } {tilegpu.schedule = "A a"}
    tilegpu.copy_wait %8#2 {pending = 0 : i64}
    return
  }
}
