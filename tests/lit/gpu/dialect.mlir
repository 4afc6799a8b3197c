// SPDX-License-Identifier: Apache-2.0
// Every operation of tilegpu parses, prints and parses again.
// RUN: fattn-opt %s | fattn-opt | FileCheck %s

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 | dim0: 16, dim1: 8">
#half = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 8, dim1: 8">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0) | dim0: 16, dim1: 8">

// CHECK: #shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2)
// CHECK-LABEL: func.func @copies
func.func @copies(%ptr: !tile.block_ptr<16x8xf32>, %pred: i1) -> tensor<8x8xf32, #half> {
  %c0 = arith.constant 0 : i32
  // CHECK: tilegpu.alloc : !tilegpu.buffer<2 x 16x8xf32, #shared>
  %b = tilegpu.alloc : !tilegpu.buffer<2 x 16x8xf32, #shared>
  // CHECK: tilegpu.copy_async %{{.*}}, %{{.*}}[%{{.*}}] if %{{.*}} {boundary_check = array<i64: 0>, layout = #regs
  %t = tilegpu.copy_async %ptr, %b[%c0] if %pred {layout = #rows, boundary_check = array<i64: 0>} : !tile.block_ptr<16x8xf32>, !tilegpu.buffer<2 x 16x8xf32, #shared>
  // CHECK: tilegpu.copy_wait %{{.*}} {pending = 1 : i64}
  tilegpu.copy_wait %t {pending = 1 : i64}
  // CHECK: tilegpu.barrier
  tilegpu.barrier
  // CHECK: tilegpu.load_buffer
  %x = tilegpu.load_buffer %b[%c0] : !tilegpu.buffer<2 x 16x8xf32, #shared> -> tensor<16x8xf32, #acc>
  // CHECK: tilegpu.convert_layout
  %y = tilegpu.convert_layout %x : tensor<16x8xf32, #acc> -> tensor<16x8xf32, #rows>
  tilegpu.store_buffer %y, %b[%c0] : tensor<16x8xf32, #rows>, !tilegpu.buffer<2 x 16x8xf32, #shared>
  // CHECK: tilegpu.slice %{{.*}} [8, 0]
  %z = tilegpu.slice %x [8, 0] : tensor<16x8xf32, #acc> -> tensor<8x8xf32, #half>
  return %z : tensor<8x8xf32, #half>
}
