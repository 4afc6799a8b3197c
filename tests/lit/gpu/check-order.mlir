// SPDX-License-Identifier: Apache-2.0
// Programs in order: nothing is said of them but, where asked for, how many runs that took.
// RUN: fattn-opt %s -tilegpu-check-order=explain 2>&1 | FileCheck %s

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">

// Trips of 0 to 6: one slot, whose readers and writers are kept apart by barriers.
// CHECK: remark: checked in {{[0-9]+}} runs of {{[0-9]+}} steps, 0 more could not be followed, 0 loops did not settle
// CHECK-NOT: error
func.func @loop(%p: !tile.ptr<f32>, %n: i32) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %l0 = arith.constant 0 : i64
  %l1 = arith.constant 1 : i64
  %l8 = arith.constant 8 : i64
  %l4096 = arith.constant 4096 : i64
  %a = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
  scf.for %i = %c0 to %n step %c16 : i32 {
    %at = arith.extsi %i : i32 to i64
    %w = tile.make_block_ptr %p, shape[%l4096, %l8], strides[%l8, %l1], offsets[%at, %l0] : !tile.ptr<f32> -> !tile.block_ptr<16x8xf32>
    tilegpu.barrier
    %t = tilegpu.copy_async %w, %a[%c0] {layout = #rows, tilegpu.source = array<i64: 0, 0>} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #shared>
    tilegpu.copy_wait %t
    tilegpu.barrier
    %x = tilegpu.load_buffer %a[%c0] {tilegpu.source = array<i64: 1, 0>} : !tilegpu.buffer<1 x 16x8xf32, #shared> -> tensor<16x8xf32, #acc>
  }
  return
}

module @tilegpu_before {
  func.func @loop(%p: !tile.ptr<f32>, %n: i32) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
    %c0 = arith.constant 0 : i32
    %c16 = arith.constant 16 : i32
    %l0 = arith.constant 0 : i64
    %l1 = arith.constant 1 : i64
    %l8 = arith.constant 8 : i64
    %l4096 = arith.constant 4096 : i64
    %a = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
    scf.for %i = %c0 to %n step %c16 : i32 {
      %at = arith.extsi %i : i32 to i64
      %w = tile.make_block_ptr %p, shape[%l4096, %l8], strides[%l8, %l1], offsets[%at, %l0] : !tile.ptr<f32> -> !tile.block_ptr<16x8xf32>
      %t = tilegpu.copy_async %w, %a[%c0] {layout = #rows, tilegpu.source = array<i64: 0, 0>} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<1 x 16x8xf32, #shared>
      tilegpu.copy_wait %t
      %x = tilegpu.load_buffer %a[%c0] {tilegpu.source = array<i64: 1, 0>} : !tilegpu.buffer<1 x 16x8xf32, #shared> -> tensor<16x8xf32, #acc>
    }
    return
  }
}
