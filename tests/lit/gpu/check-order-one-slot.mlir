// SPDX-License-Identifier: Apache-2.0
// What the compiler emitted on 2026-11-21 for an operand that goes through registers into shared memory and that two products of one
// iteration read in two trips: one slot for both. The check finds it.
// RUN: not fattn-opt %s -tilegpu-check-order 2>&1 | FileCheck %s

// CHECK: error: 'tilegpu.load_buffer' op finds run 2 of the tilegpu.store_buffer of line [[#]] in slot 0, where the program before scheduling finds run 1 of the tilegpu.store_buffer of line [[#]]
// CHECK: note: the last write of that memory
#layout0 = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
#layout1 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4); lane: 1 -> (0,8), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 16">
#layout2 = #tilegpu.regs<"register: 1 -> (2,0), 2 -> (4,0), 4 -> (8,0); lane: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0); warp: 1 | dim0: 16, dim1: 16">
#layout3 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,8), 4 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 16">
#layout4 = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 | dim0: 16, dim1: 16">
#layout5 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 16">
module {
  module @tilegpu_before {
    func.func @one_slot(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %arg1: !tile.ptr<f16>, %arg2: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %arg3: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
      %c0_i64 = arith.constant 0 : i64
      %c1_i64 = arith.constant 1 : i64
      %c16_i64 = arith.constant 16 : i64
      %c0_i32 = arith.constant 0 : i32
      %c16_i32 = arith.constant 16 : i32
      %c4096_i64 = arith.constant 4096 : i64
      %cst = arith.constant dense<0.000000e+00> : tensor<16x16xf32, #layout5>
      %0 = tile.make_block_ptr %arg0, shape[%c16_i64, %c16_i64], strides[%c16_i64, %c1_i64], offsets[%c0_i64, %c0_i64] : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
      %1 = tilegpu.alloc : !tilegpu.buffer<1 x 16x16xf16, #layout0>
      %2 = tilegpu.copy_async %0, %1[%c0_i32] {layout = #layout1, tilegpu.source = array<i64: 0, 0>} : !tile.block_ptr<16x16xf16>, !tilegpu.buffer<1 x 16x16xf16, #layout0>
      tilegpu.copy_wait %2
      %3 = tilegpu.load_buffer %1[%c0_i32] {tilegpu.source = array<i64: 1, 0>} : !tilegpu.buffer<1 x 16x16xf16, #layout0> -> tensor<16x16xf16, #layout5>
      %4 = tilegpu.alloc : !tilegpu.buffer<1 x 16x16xf16, #layout0>
      %5 = scf.for %arg4 = %c0_i32 to %arg3 step %c16_i32 iter_args(%arg5 = %cst) -> (tensor<16x16xf32, #layout5>)  : i32 {
        %7 = arith.extsi %arg4 : i32 to i64
        %8 = tile.make_block_ptr %arg1, shape[%c4096_i64, %c16_i64], strides[%c16_i64, %c1_i64], offsets[%7, %c0_i64] : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
        %9 = tile.load %8 {tilegpu.source = array<i64: 2, 0>} : !tile.block_ptr<16x16xf16> -> tensor<16x16xf16, #layout2>
        tilegpu.store_buffer %9, %4[%c0_i32] {tilegpu.source = array<i64: 3, 0>} : tensor<16x16xf16, #layout2>, !tilegpu.buffer<1 x 16x16xf16, #layout0>
        %10 = tilegpu.load_buffer %4[%c0_i32] {tilegpu.source = array<i64: 4, 0>} : !tilegpu.buffer<1 x 16x16xf16, #layout0> -> tensor<16x16xf16, #layout3>
        %11 = tile.trans %10, [1, 0] : tensor<16x16xf16, #layout3> -> tensor<16x16xf16, #layout4>
        %12 = tile.dot %3, %11, %cst : tensor<16x16xf16, #layout5>, tensor<16x16xf16, #layout4> -> tensor<16x16xf32, #layout5>
        %13 = math.exp2 %12 : tensor<16x16xf32, #layout5>
        %14 = arith.truncf %13 : tensor<16x16xf32, #layout5> to tensor<16x16xf16, #layout5>
        %15 = tilegpu.load_buffer %4[%c0_i32] {tilegpu.source = array<i64: 5, 0>} : !tilegpu.buffer<1 x 16x16xf16, #layout0> -> tensor<16x16xf16, #layout4>
        %16 = tile.dot %14, %15, %arg5 : tensor<16x16xf16, #layout5>, tensor<16x16xf16, #layout4> -> tensor<16x16xf32, #layout5>
        scf.yield %16 : tensor<16x16xf32, #layout5>
      }
      %6 = tile.make_block_ptr %arg2, shape[%c16_i64, %c16_i64], strides[%c16_i64, %c1_i64], offsets[%c0_i64, %c0_i64] : !tile.ptr<f32> -> !tile.block_ptr<16x16xf32>
      tile.store %6, %5 {tilegpu.source = array<i64: 6, 0>} : !tile.block_ptr<16x16xf32>, tensor<16x16xf32, #layout5>
      return
    }
  }
  func.func @one_slot(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %arg1: !tile.ptr<f16>, %arg2: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %arg3: i32) attributes {tile.kernel, tilegpu.shared_bytes = 512 : i64, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
    %c32_i32 = arith.constant 32 : i32
    %c1_i32 = arith.constant 1 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<16x16xf16, #layout2>
    %c0_i64 = arith.constant 0 : i64
    %c1_i64 = arith.constant 1 : i64
    %c16_i64 = arith.constant 16 : i64
    %c0_i32 = arith.constant 0 : i32
    %c16_i32 = arith.constant 16 : i32
    %c4096_i64 = arith.constant 4096 : i64
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<16x16xf32, #layout5>
    %0 = tile.make_block_ptr %arg0, shape[%c16_i64, %c16_i64], strides[%c16_i64, %c1_i64], offsets[%c0_i64, %c0_i64] : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
    %1 = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 16x16xf16, #layout0>
    %2 = tilegpu.copy_async %0, %1[%c0_i32] {layout = #layout1, tilegpu.source = array<i64: 0, 0>} : !tile.block_ptr<16x16xf16>, !tilegpu.buffer<1 x 16x16xf16, #layout0>
    tilegpu.copy_wait %2 {pending = 0 : i64}
    tilegpu.barrier
    %3 = tilegpu.load_buffer %1[%c0_i32] {tilegpu.source = array<i64: 1, 0>} : !tilegpu.buffer<1 x 16x16xf16, #layout0> -> tensor<16x16xf16, #layout5>
    %4 = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 16x16xf16, #layout0>
    %5 = arith.cmpi sgt, %arg3, %c0_i32 : i32
    %6 = scf.if %5 -> (tensor<16x16xf32, #layout5>) {
      %8 = tile.make_block_ptr %arg1, shape[%c4096_i64, %c16_i64], strides[%c16_i64, %c1_i64], offsets[%c0_i64, %c0_i64] : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
      %9 = scf.if %5 -> (tensor<16x16xf16, #layout2>) {
        %24 = tile.load %8 {tilegpu.source = array<i64: 2, 0>} : !tile.block_ptr<16x16xf16> -> tensor<16x16xf16, #layout2>
        scf.yield %24 : tensor<16x16xf16, #layout2>
      } else {
        scf.yield %cst : tensor<16x16xf16, #layout2>
      }
      %10 = arith.cmpi sgt, %arg3, %c16_i32 : i32
      tilegpu.barrier
      tilegpu.store_buffer %9, %4[%c0_i32] {tilegpu.source = array<i64: 3, 0>} : tensor<16x16xf16, #layout2>, !tilegpu.buffer<1 x 16x16xf16, #layout0>
      %11 = tile.make_block_ptr %arg1, shape[%c4096_i64, %c16_i64], strides[%c16_i64, %c1_i64], offsets[%c16_i64, %c0_i64] : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
      %12 = scf.if %10 -> (tensor<16x16xf16, #layout2>) {
        %24 = tile.load %11 {tilegpu.source = array<i64: 2, 0>} : !tile.block_ptr<16x16xf16> -> tensor<16x16xf16, #layout2>
        scf.yield %24 : tensor<16x16xf16, #layout2>
      } else {
        scf.yield %cst : tensor<16x16xf16, #layout2>
      }
      tilegpu.barrier
      %13 = tilegpu.load_buffer %4[%c0_i32] {tilegpu.source = array<i64: 4, 0>} : !tilegpu.buffer<1 x 16x16xf16, #layout0> -> tensor<16x16xf16, #layout3>
      %14 = tile.trans %13, [1, 0] : tensor<16x16xf16, #layout3> -> tensor<16x16xf16, #layout4>
      %15 = tile.dot %3, %14, %cst_0 : tensor<16x16xf16, #layout5>, tensor<16x16xf16, #layout4> -> tensor<16x16xf32, #layout5>
      %16 = math.exp2 %15 : tensor<16x16xf32, #layout5>
      %17 = arith.truncf %16 : tensor<16x16xf32, #layout5> to tensor<16x16xf16, #layout5>
      %18 = arith.subi %arg3, %c1_i32 : i32
      %19 = arith.divsi %18, %c16_i32 : i32
      %20 = arith.muli %19, %c16_i32 : i32
      %21:3 = scf.for %arg4 = %c0_i32 to %20 step %c16_i32 iter_args(%arg5 = %cst_0, %arg6 = %12, %arg7 = %17) -> (tensor<16x16xf32, #layout5>, tensor<16x16xf16, #layout2>, tensor<16x16xf16, #layout5>)  : i32 {
        %24 = arith.subi %arg3, %c32_i32 : i32
        %25 = arith.cmpi slt, %arg4, %24 : i32
        tilegpu.barrier
        tilegpu.store_buffer %arg6, %4[%c0_i32] {tilegpu.source = array<i64: 3, 0>} : tensor<16x16xf16, #layout2>, !tilegpu.buffer<1 x 16x16xf16, #layout0>
        %26 = arith.addi %arg4, %c32_i32 : i32
        %27 = arith.extsi %26 : i32 to i64
        %28 = tile.make_block_ptr %arg1, shape[%c4096_i64, %c16_i64], strides[%c16_i64, %c1_i64], offsets[%27, %c0_i64] : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
        %29 = scf.if %25 -> (tensor<16x16xf16, #layout2>) {
          %37 = tile.load %28 {tilegpu.source = array<i64: 2, 0>} : !tile.block_ptr<16x16xf16> -> tensor<16x16xf16, #layout2>
          scf.yield %37 : tensor<16x16xf16, #layout2>
        } else {
          scf.yield %cst : tensor<16x16xf16, #layout2>
        }
        tilegpu.barrier
        %30 = tilegpu.load_buffer %4[%c0_i32] {tilegpu.source = array<i64: 4, 0>} : !tilegpu.buffer<1 x 16x16xf16, #layout0> -> tensor<16x16xf16, #layout3>
        %31 = tile.trans %30, [1, 0] : tensor<16x16xf16, #layout3> -> tensor<16x16xf16, #layout4>
        %32 = tile.dot %3, %31, %cst_0 : tensor<16x16xf16, #layout5>, tensor<16x16xf16, #layout4> -> tensor<16x16xf32, #layout5>
        %33 = tilegpu.load_buffer %4[%c0_i32] {tilegpu.source = array<i64: 5, 0>} : !tilegpu.buffer<1 x 16x16xf16, #layout0> -> tensor<16x16xf16, #layout4>
        %34 = tile.dot %arg7, %33, %arg5 : tensor<16x16xf16, #layout5>, tensor<16x16xf16, #layout4> -> tensor<16x16xf32, #layout5>
        %35 = math.exp2 %32 : tensor<16x16xf32, #layout5>
        %36 = arith.truncf %35 : tensor<16x16xf32, #layout5> to tensor<16x16xf16, #layout5>
        scf.yield %34, %29, %36 : tensor<16x16xf32, #layout5>, tensor<16x16xf16, #layout2>, tensor<16x16xf16, #layout5>
      } {tilegpu.schedule = "A B1 a"}
      tilegpu.barrier
      tilegpu.store_buffer %21#1, %4[%c0_i32] {tilegpu.source = array<i64: 3, 0>} : tensor<16x16xf16, #layout2>, !tilegpu.buffer<1 x 16x16xf16, #layout0>
      tilegpu.barrier
      %22 = tilegpu.load_buffer %4[%c0_i32] {tilegpu.source = array<i64: 5, 0>} : !tilegpu.buffer<1 x 16x16xf16, #layout0> -> tensor<16x16xf16, #layout4>
      %23 = tile.dot %21#2, %22, %21#0 : tensor<16x16xf16, #layout5>, tensor<16x16xf16, #layout4> -> tensor<16x16xf32, #layout5>
      scf.yield %23 : tensor<16x16xf32, #layout5>
    } else {
      scf.yield %cst_0 : tensor<16x16xf32, #layout5>
    }
    %7 = tile.make_block_ptr %arg2, shape[%c16_i64, %c16_i64], strides[%c16_i64, %c1_i64], offsets[%c0_i64, %c0_i64] : !tile.ptr<f32> -> !tile.block_ptr<16x16xf32>
    tile.store %7, %6 {tilegpu.source = array<i64: 6, 0>} : !tile.block_ptr<16x16xf32>, tensor<16x16xf32, #layout5>
    return
  }
}
