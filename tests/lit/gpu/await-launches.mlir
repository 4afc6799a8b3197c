// SPDX-License-Identifier: Apache-2.0
// Copies of what is settled begin before the launch in front has ended; other loads, and what is computed from them, go behind the wait.
// RUN: fattn-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(tilegpu-await-launches))' | FileCheck %s

#regs = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 8, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0) | dim0: 8, dim1: 8">

// The number from the settled table decides what is copied, and is read before.
// CHECK-LABEL: func.func @settled
// CHECK: tile.gather %arg2
// CHECK: tilegpu.copy_async
// CHECK-NEXT: %[[B:.*]] = tilegpu.alloc
// CHECK-NEXT: tilegpu.await_launches
// CHECK-NEXT: %[[Q:.*]] = tile.load
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[Q]]
// CHECK-NEXT: tilegpu.store_buffer %[[N]]
// CHECK-NOT: tilegpu.await_launches
func.func @settled(%q: !tile.ptr<f32>, %k: !tile.ptr<f32> {tile.settled}, %table: !tile.ptr<i64> {tile.settled}) attributes {tile.kernel, tile.overlaps, tilegpu.target = "nvidia:sm_90", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c8 = arith.constant 8 : i64
  %slot = arith.constant 0 : i32
  %qs = tile.make_block_ptr %q, shape[%c8, %c8], strides[%c8, %c1], offsets[%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<8x8xf32>
  %x = tile.load %qs : !tile.block_ptr<8x8xf32> -> tensor<8x8xf32, #regs>
  %y = arith.negf %x : tensor<8x8xf32, #regs>
  %row = tile.gather %table : !tile.ptr<i64> -> i64
  %ks = tile.make_block_ptr %k, shape[%c8, %c8], strides[%c8, %c1], offsets[%row, %c0] : !tile.ptr<f32> -> !tile.block_ptr<8x8xf32>
  %a = tilegpu.alloc : !tilegpu.buffer<1 x 8x8xf32, #shared>
  %t = tilegpu.copy_async %ks, %a[%slot] {layout = #regs} : !tile.block_ptr<8x8xf32>, !tilegpu.buffer<1 x 8x8xf32, #shared>
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 8x8xf32, #shared>
  tilegpu.store_buffer %y, %b[%slot] : tensor<8x8xf32, #regs>, !tilegpu.buffer<1 x 8x8xf32, #shared>
  tilegpu.copy_wait %t {pending = 0 : i64}
  return
}

// -----

#regs = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 8, dim1: 8">

// A store waits, whatever it writes to; so does what a loop does to other memory.
// CHECK-LABEL: func.func @writes
// CHECK: %[[X:.*]] = tile.load
// CHECK-NEXT: tilegpu.await_launches
// CHECK-NEXT: tile.store
func.func @writes(%k: !tile.ptr<f32> {tile.settled}) attributes {tile.kernel, tile.overlaps, tilegpu.target = "nvidia:sm_90", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c8 = arith.constant 8 : i64
  %ks = tile.make_block_ptr %k, shape[%c8, %c8], strides[%c8, %c1], offsets[%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<8x8xf32>
  %x = tile.load %ks : !tile.block_ptr<8x8xf32> -> tensor<8x8xf32, #regs>
  tile.store %ks, %x : !tile.block_ptr<8x8xf32>, tensor<8x8xf32, #regs>
  return
}

// CHECK-LABEL: func.func @in_a_branch
// CHECK: tilegpu.await_launches
// CHECK-NEXT: scf.if
func.func @in_a_branch(%k: !tile.ptr<f32> {tile.settled}, %o: !tile.ptr<f32>, %c: i1) attributes {tile.kernel, tile.overlaps, tilegpu.target = "nvidia:sm_90", tilegpu.warps = 1 : i64} {
  scf.if %c {
    %x = tile.gather %o : !tile.ptr<f32> -> f32
    tile.scatter %o, %x : !tile.ptr<f32>, f32
  }
  return
}

// Nothing is settled, or launches do not overlap: the kernel begins with the wait, or has none.
// CHECK-LABEL: func.func @nothing
// CHECK-NOT: tilegpu.await_launches
func.func @nothing(%k: !tile.ptr<f32>) attributes {tile.kernel, tile.overlaps, tilegpu.target = "nvidia:sm_90", tilegpu.warps = 1 : i64} {
  %x = tile.gather %k : !tile.ptr<f32> -> f32
  return
}

// CHECK-LABEL: func.func @too_early
// CHECK-NOT: tilegpu.await_launches
func.func @too_early(%k: !tile.ptr<f32> {tile.settled}) attributes {tile.kernel, tile.overlaps, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %x = tile.gather %k : !tile.ptr<f32> -> f32
  return
}
