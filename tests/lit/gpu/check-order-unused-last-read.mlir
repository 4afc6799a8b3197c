// SPDX-License-Identifier: Apache-2.0
// What the last trip of a loop reads only for a trip that there is not, nobody uses: it is gone from behind the loop. In the next trip of
// the loop around it reads are counted anew. (Once they were counted through, and programs in order were refused.)
// RUN: fattn-opt %s -split-input-file -tilegpu-check-order -verify-diagnostics

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!ptr = !tile.block_ptr<16x8xf32>
!tile = tensor<16x8xf32, #rows>
module {
  module @tilegpu_before {
    func.func @in_order(%p: !tile.ptr<f32>, %m: i32, %n: i32) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %l0 = arith.constant 0 : i64
      %l1 = arith.constant 1 : i64
      %l8 = arith.constant 8 : i64
      %a = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
      scf.for %o = %c0 to %m step %c1 : i32 {
        scf.for %i = %c0 to %n step %c1 : i32 {
          %w = tile.make_block_ptr %p, shape[%l8, %l8], strides[%l8, %l1], offsets[%l0, %l0] : !tile.ptr<f32> -> !ptr
          %t = tilegpu.copy_async %w, %a[%c0] {layout = #rows, tilegpu.source = array<i64: 0, 0>} : !ptr, !tilegpu.buffer<1 x 16x8xf32, #shared>
          tilegpu.copy_wait %t
          %x = tilegpu.load_buffer %a[%c0] {tilegpu.source = array<i64: 1, 0>} : !tilegpu.buffer<1 x 16x8xf32, #shared> -> !tile
        }
      }
      return
    }
  }
  // Two slots: each trip but the first reads what the trip before has copied.
  func.func @in_order(%p: !tile.ptr<f32>, %m: i32, %n: i32) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %l0 = arith.constant 0 : i64
    %l1 = arith.constant 1 : i64
    %l8 = arith.constant 8 : i64
    %a = tilegpu.alloc : !tilegpu.buffer<2 x 16x8xf32, #shared>
    scf.for %o = %c0 to %m step %c1 : i32 {
      %any = arith.cmpi slt, %c0, %n : i32
      scf.if %any {
        %w = tile.make_block_ptr %p, shape[%l8, %l8], strides[%l8, %l1], offsets[%l0, %l0] : !tile.ptr<f32> -> !ptr
        %t = tilegpu.copy_async %w, %a[%c0] {layout = #rows, tilegpu.source = array<i64: 0, 0>} : !ptr, !tilegpu.buffer<2 x 16x8xf32, #shared>
        tilegpu.copy_wait %t
        %last = scf.for %i = %c1 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
          %next = arith.subi %c1, %slot : i32
          %u = tilegpu.copy_async %w, %a[%next] {layout = #rows, tilegpu.source = array<i64: 0, 0>} : !ptr, !tilegpu.buffer<2 x 16x8xf32, #shared>
          tilegpu.copy_wait %u
          %x = tilegpu.load_buffer %a[%slot] {tilegpu.source = array<i64: 1, 0>} : !tilegpu.buffer<2 x 16x8xf32, #shared> -> !tile
          scf.yield %next : i32
        }
      }
    }
    return
  }
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!ptr = !tile.block_ptr<16x8xf32>
!tile = tensor<16x8xf32, #rows>
module {
  module @tilegpu_before {
    func.func @one_slot(%p: !tile.ptr<f32>, %m: i32, %n: i32) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %l0 = arith.constant 0 : i64
      %l1 = arith.constant 1 : i64
      %l8 = arith.constant 8 : i64
      %a = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
      scf.for %o = %c0 to %m step %c1 : i32 {
        scf.for %i = %c0 to %n step %c1 : i32 {
          %w = tile.make_block_ptr %p, shape[%l8, %l8], strides[%l8, %l1], offsets[%l0, %l0] : !tile.ptr<f32> -> !ptr
          %t = tilegpu.copy_async %w, %a[%c0] {layout = #rows, tilegpu.source = array<i64: 0, 0>} : !ptr, !tilegpu.buffer<1 x 16x8xf32, #shared>
          tilegpu.copy_wait %t
          %x = tilegpu.load_buffer %a[%c0] {tilegpu.source = array<i64: 1, 0>} : !tilegpu.buffer<1 x 16x8xf32, #shared> -> !tile
        }
      }
      return
    }
  }
  // One slot: the copy for the next trip comes first. That the read is counted anew in each trip of the outer loop hides no fault.
  func.func @one_slot(%p: !tile.ptr<f32>, %m: i32, %n: i32) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %l0 = arith.constant 0 : i64
    %l1 = arith.constant 1 : i64
    %l8 = arith.constant 8 : i64
    %a = tilegpu.alloc : !tilegpu.buffer<1 x 16x8xf32, #shared>
    scf.for %o = %c0 to %m step %c1 : i32 {
      %any = arith.cmpi slt, %c0, %n : i32
      scf.if %any {
        %w = tile.make_block_ptr %p, shape[%l8, %l8], strides[%l8, %l1], offsets[%l0, %l0] : !tile.ptr<f32> -> !ptr
        %t = tilegpu.copy_async %w, %a[%c0] {layout = #rows, tilegpu.source = array<i64: 0, 0>} : !ptr, !tilegpu.buffer<1 x 16x8xf32, #shared>
        tilegpu.copy_wait %t
        scf.for %i = %c1 to %n step %c1 : i32 {
          // expected-note @+1 {{the last write of that memory}}
          %u = tilegpu.copy_async %w, %a[%c0] {layout = #rows, tilegpu.source = array<i64: 0, 0>} : !ptr, !tilegpu.buffer<1 x 16x8xf32, #shared>
          tilegpu.copy_wait %u
          // expected-error @+1 {{in slot 0, where the program before scheduling finds run}}
          %x = tilegpu.load_buffer %a[%c0] {tilegpu.source = array<i64: 1, 0>} : !tilegpu.buffer<1 x 16x8xf32, #shared> -> !tile
        }
      }
    }
    return
  }
}
