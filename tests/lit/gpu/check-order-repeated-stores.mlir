// SPDX-License-Identifier: Apache-2.0
// Loops in loops that store the same elements again and again: each load is compared with them once. (Once it was compared with each run of
// the store, and the check of a program took 26 s. What is compared counts as steps: these were
// millions.)
// RUN: fattn-opt %s -tilegpu-check-order=explain 2>&1 | FileCheck %s

#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
!tile = tensor<16x8xf32, #rows>
!ptr = !tile.block_ptr<16x8xf32>

// CHECK: remark: checked in {{[0-9]+}} runs of {{[0-9]?[0-9]?[0-9]?[0-9]?[0-9]?[0-9]}} steps,
func.func @same_elements(%p: !tile.ptr<f32>, %x: !tile, %m: i32) attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %l0 = arith.constant 0 : i64
  %l1 = arith.constant 1 : i64
  %l8 = arith.constant 8 : i64
  %w = tile.make_block_ptr %p, shape[%l8, %l8], strides[%l8, %l1], offsets[%l0, %l0] : !tile.ptr<f32> -> !ptr
  scf.for %h = %c0 to %m step %c1 : i32 {
    scf.for %i = %c0 to %m step %c1 : i32 {
      scf.for %j = %c0 to %m step %c1 : i32 {
        scf.for %k = %c0 to %m step %c1 : i32 {
          %y = tile.load %w : !ptr -> !tile
          tile.store %w, %x : !ptr, !tile
        }
      }
    }
  }
  return
}
