// SPDX-License-Identifier: Apache-2.0
// Whether a loop's memory comes back to a state of some trips before, so that more trips show nothing new. Where it does not, that is said.
// RUN: fattn-opt %s -tilegpu-check-order=explain 2>&1 | FileCheck %s

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">
!tile = tensor<16x8xf32, #acc>
!buf = !tilegpu.buffer<1 x 16x8xf32, #shared>

// A buffer of the exact side alone is gone behind it: what trips left there that took this side is no part of the state.
// CHECK: remark: checked in {{.*}} 0 loops did not settle, 0 had few trips in all draws
func.func @buffer_of_a_branch(%x: !tile, %any: i1, %n: i32) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (!tile) : i32 {
    %z = tile.select_lazy %any usual(%a) : i1, !tile -> !tile {
      %b = tilegpu.alloc {offset = 0 : i64} : !buf
      tilegpu.barrier
      tilegpu.store_buffer %a, %b[%c0] : !tile, !buf
      tilegpu.barrier
      %y = tilegpu.load_buffer %b[%c0] : !buf -> !tile
      tile.yield %y : !tile
    }
    scf.yield %z : !tile
  }
  return
}

// Without a barrier there are more windows in every trip, of one load.
// CHECK: remark: checked in {{.*}} 0 loops did not settle, 0 had few trips in all draws
func.func @loads_without_barriers(%p: !tile.ptr<f32>, %n: i32) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %l0 = arith.constant 0 : i64
  %l1 = arith.constant 1 : i64
  %l8 = arith.constant 8 : i64
  %l4096 = arith.constant 4096 : i64
  scf.for %i = %c0 to %n step %c16 : i32 {
    %at = arith.extsi %i : i32 to i64
    %w = tile.make_block_ptr %p, shape[%l4096, %l8], strides[%l8, %l1], offsets[%at, %l0] : !tile.ptr<f32> -> !tile.block_ptr<16x8xf32>
    %x = tile.load %w : !tile.block_ptr<16x8xf32> -> !tile
  }
  return
}

// Two buffers that take turns of two and of three trips: six of both.
// CHECK: remark: checked in {{.*}} 0 loops did not settle, 0 had few trips in all draws
func.func @two_rounds(%x: !tile, %n: i32) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %a = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<2 x 16x8xf32, #shared>
  %b = tilegpu.alloc {offset = 1024 : i64} : !tilegpu.buffer<3 x 16x8xf32, #shared>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %two = arith.remui %i, %c2 : i32
    %three = arith.remui %i, %c3 : i32
    tilegpu.barrier
    tilegpu.store_buffer %x, %a[%two] : !tile, !tilegpu.buffer<2 x 16x8xf32, #shared>
    tilegpu.store_buffer %x, %b[%three] : !tile, !tilegpu.buffer<3 x 16x8xf32, #shared>
  }
  return
}

// Whatever trip wrote the slot last, its next reader has it written anew.
// CHECK: remark: checked in {{.*}} 0 loops did not settle, 0 had few trips in all draws
func.func @rewritten_in_every_trip(%x: !tile, %any: i1, %n: i32) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (!tile) : i32 {
    %z = tile.select_lazy %any usual(%a) : i1, !tile -> !tile {
      tilegpu.barrier
      tilegpu.store_buffer %a, %b[%c0] : !tile, !buf
      tilegpu.barrier
      %y = tilegpu.load_buffer %b[%c0] : !buf -> !tile
      tile.yield %y : !tile
    }
    scf.yield %z : !tile
  }
  return
}

// Here the slot may hold what any trip left that took the exact side, and the next one reads it.
// CHECK: remark: checked in {{.*}} 1 loops did not settle
// CHECK: remark: its order is checked for some numbers of trips only: in 1 of its loops memory does not come back to an earlier state
func.func @slot_of_any_trip(%x: !tile, %any: i1, %n: i32) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  tilegpu.store_buffer %x, %b[%c0] : !tile, !buf
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (!tile) : i32 {
    %z = tile.select_lazy %any usual(%a) : i1, !tile -> !tile {
      tilegpu.barrier
      %y = tilegpu.load_buffer %b[%c0] : !buf -> !tile
      tilegpu.barrier
      tilegpu.store_buffer %a, %b[%c0] : !tile, !buf
      tile.yield %y : !tile
    }
    scf.yield %z : !tile
  }
  return
}
