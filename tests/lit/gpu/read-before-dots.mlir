// SPDX-License-Identifier: Apache-2.0
// RUN: fattn-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(tilegpu-read-before-dots))' | FileCheck %s

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#line = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,8), 4 -> (0,16), 8 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,0), 8 -> (0,0), 16 -> (0,0); warp: 1 -> (0,0), 2 -> (0,0) | dim0: 1, dim1: 64">
#kind = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0) | dim0: 64, dim1: 64">
#flat = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32) | dim0: 1, dim1: 64">
!tiles = !tilegpu.buffer<2 x 64x64xbf16, #kind>
!lines = !tilegpu.buffer<2 x 1x64xf32, #flat>

// The line and the wait for it go in front of the first dot, past the wait for the second one's operand; the line's release stays.
// CHECK-LABEL: func.func @line
// CHECK: scf.for
// CHECK: tilegpu.copy_wait %{{.*}} in %[[A:[^ ]*]][
// CHECK-NEXT: tilegpu.copy_wait %{{.*}} in %[[LINES:[^ ]*]][
// CHECK-NEXT: %[[LINE:.*]] = tilegpu.load_buffer %[[LINES]][
// CHECK-NEXT: tilegpu.dot_async
// CHECK-NEXT: tilegpu.copy_wait
// CHECK-NEXT: tilegpu.dot_async
// CHECK-NEXT: tilegpu.release %[[LINES]][
func.func @line(%p: !tile.block_ptr<64x64xbf16>, %l: !tile.block_ptr<1x64xf32>, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.tensor_maps = [{sizes = [array<i64: 64>, array<i64: 64>]}, {sizes = [array<i64: 64>, array<i64: 1>]}]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
  %a = tilegpu.alloc : !tiles
  %b = tilegpu.alloc : !tiles
  %c = tilegpu.alloc : !lines
  scf.for %i = %c0 to %n step %c1 : i32 {
    %t = tilegpu.copy_async %p, %a[%c0] map 0[] : !tile.block_ptr<64x64xbf16>, !tiles
    %u = tilegpu.copy_async %p, %b[%c0] map 0[] : !tile.block_ptr<64x64xbf16>, !tiles
    %v = tilegpu.copy_async %l, %c[%c0] map 1[] : !tile.block_ptr<1x64xf32>, !lines
    tilegpu.copy_wait %t in %a[%c0] : !tiles
    %d = tilegpu.dot_async %a[%c0], %a[%c0], %zero {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>} : !tiles, !tiles, tensor<64x64xf32, #acc>
    tilegpu.copy_wait %u in %b[%c0] : !tiles
    %e = tilegpu.dot_async %b[%c0], %b[%c0], %zero {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>} : !tiles, !tiles, tensor<64x64xf32, #acc>
    tilegpu.copy_wait %v in %c[%c0] : !lines
    %x = tilegpu.load_buffer %c[%c0] : !lines -> tensor<1x64xf32, #line>
    tilegpu.release %c[%c0] : !lines
    %f = tilegpu.dot_wait %d {pending = 1 : i64} : tensor<64x64xf32, #acc>
    %g = tilegpu.dot_wait %e {pending = 0 : i64} : tensor<64x64xf32, #acc>
    tile.device_print "x", %x : tensor<1x64xf32, #line>
  }
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#half = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#line = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,8), 4 -> (0,16), 8 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,0), 8 -> (0,0), 16 -> (0,0); warp: 1 -> (0,0), 2 -> (0,0) | dim0: 1, dim1: 64">
#kind = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0) | dim0: 64, dim1: 64">
#flat = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32) | dim0: 1, dim1: 64">
!tiles = !tilegpu.buffer<2 x 64x64xbf16, #kind>
!lines = !tilegpu.buffer<2 x 1x64xf32, #flat>

// A whole tile would take registers while the dots run; nothing is read before a barrier or before its slot's number is known.
// CHECK-LABEL: func.func @stays
// CHECK: tilegpu.dot_async
// CHECK-NEXT: tilegpu.load_buffer {{.*}} -> tensor<64x64xbf16
// CHECK: tilegpu.dot_async
// CHECK-NEXT: tilegpu.barrier
// CHECK-NEXT: tilegpu.load_buffer {{.*}} -> tensor<1x64xf32
// CHECK: tilegpu.dot_async
// CHECK-NEXT: arith.xori
// CHECK-NEXT: tilegpu.load_buffer {{.*}} -> tensor<1x64xf32
func.func @stays(%n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
  %a = tilegpu.alloc : !tiles
  %c = tilegpu.alloc : !lines
  scf.for %i = %c0 to %n step %c1 : i32 {
    %d = tilegpu.dot_async %a[%c0], %a[%c0], %zero {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>} : !tiles, !tiles, tensor<64x64xf32, #acc>
    %t = tilegpu.load_buffer %a[%c1] : !tiles -> tensor<64x64xbf16, #half>
    %f = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<64x64xf32, #acc>
    %e = tilegpu.dot_async %a[%c0], %a[%c0], %zero {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>} : !tiles, !tiles, tensor<64x64xf32, #acc>
    tilegpu.barrier
    %x = tilegpu.load_buffer %c[%c0] : !lines -> tensor<1x64xf32, #line>
    %g = tilegpu.dot_wait %e {pending = 0 : i64} : tensor<64x64xf32, #acc>
    %h = tilegpu.dot_async %a[%c0], %a[%c0], %zero {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>} : !tiles, !tiles, tensor<64x64xf32, #acc>
    %slot = arith.xori %c0, %i : i32
    %y = tilegpu.load_buffer %c[%slot] : !lines -> tensor<1x64xf32, #line>
    %k = tilegpu.dot_wait %h {pending = 0 : i64} : tensor<64x64xf32, #acc>
    tile.device_print "x", %x : tensor<1x64xf32, #line>
    tile.device_print "y", %y : tensor<1x64xf32, #line>
    tile.device_print "t", %t : tensor<64x64xbf16, #half>
  }
  return
}
