// SPDX-License-Identifier: Apache-2.0
// Rows of numbers that do not depend on dots are computed in front of their beginning.
// RUN: fattn-opt %s -tilegpu-fill-dots | FileCheck %s

#s = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (8,0); lane: 1 -> (0,0), 2 -> (0,0), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 1">
#row = #tilegpu.regs<"register: 1 -> (8); lane: 1 -> (0), 2 -> (0), 4 -> (1), 8 -> (2), 16 -> (4); warp: 1 -> (16), 2 -> (32) | dim0: 64">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<1 x 16x16xbf16, #b>
!acc = tensor<64x16xf32, #s>

// The inverse of the sums and what follows from it moves, the product with the dots' result stays, and so does the whole tile that needs
// no result of theirs.
// CHECK-LABEL: func.func @behind_a_loop
// CHECK: %[[SUM:.*]] = tile.reduce
// CHECK: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[SUM]]
// CHECK: %[[ABOVE:.*]] = arith.addf %[[INVERSE]], %[[INVERSE]]
// CHECK-NEXT: %[[D:.*]] = tilegpu.dot_async
// CHECK-NEXT: %[[WIDE:.*]] = arith.addf %arg1, %arg1
// CHECK: %[[E:.*]] = tilegpu.dot_wait %[[D]]
// CHECK-NEXT: arith.mulf %[[E]], %[[WIDE]]
// CHECK-NEXT: return %{{.*}}, %[[ABOVE]]
func.func @behind_a_loop(%a: tensor<64x16xbf16, #s>, %parts: !acc) -> (!acc, tensor<64xf32, #row>) attributes {tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64} {
  %zero = arith.constant 0 : i32
  %one = arith.constant dense<1.0> : tensor<64xf32, #row>
  %none = arith.constant dense<0.0> : !acc
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  %d = tilegpu.dot_async %a, %b[%zero], %none {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #s>, !buf, !acc
  %wide = arith.addf %parts, %parts : !acc
  %sum = tile.reduce %parts axis 1 : !acc -> tensor<64xf32, #row> {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    tile.yield %z : f32
  }
  %inverse = arith.divf %one, %sum : tensor<64xf32, #row>
  %e = tilegpu.dot_wait %d {pending = 0 : i64} : !acc
  %r = arith.mulf %e, %wide : !acc
  %above = arith.addf %inverse, %inverse : tensor<64xf32, #row>
  return %r, %above : !acc, tensor<64xf32, #row>
}

// A loop's trips have an order of their own.
// CHECK-LABEL: func.func @in_a_loop
// CHECK: tilegpu.dot_async
// CHECK-NEXT: arith.divf
// CHECK-NEXT: tilegpu.dot_wait
func.func @in_a_loop(%a: tensor<64x16xbf16, #s>, %row: tensor<64xf32, #row>, %n: i32) -> (!acc, tensor<64xf32, #row>) attributes {tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 1 : i32
  %one = arith.constant dense<1.0> : tensor<64xf32, #row>
  %none = arith.constant dense<0.0> : !acc
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  %r:2 = scf.for %i = %zero to %n step %step iter_args(%acc = %none, %x = %row) -> (!acc, tensor<64xf32, #row>) : i32 {
    %d = tilegpu.dot_async %a, %b[%zero], %acc {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #s>, !buf, !acc
    %inverse = arith.divf %one, %x : tensor<64xf32, #row>
    %e = tilegpu.dot_wait %d {pending = 0 : i64} : !acc
    scf.yield %e, %inverse : !acc, tensor<64xf32, #row>
  }
  return %r#0, %r#1 : !acc, tensor<64xf32, #row>
}

// Where a block takes several programs, the last wait is the time to ask for the next one.
// CHECK-LABEL: func.func @next_program
// CHECK: tilegpu.dot_async
// CHECK-NEXT: tilegpu.take_program
// CHECK-NEXT: tilegpu.dot_wait
func.func @next_program(%a: tensor<64x16xbf16, #s>) attributes {tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.repeats, tilegpu.claims = 0 : i64} {
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  tilegpu.each_program dynamic {
  ^bb0(%x: i32, %y: i32, %z: i32):
    %zero = arith.constant 0 : i32
    %none = arith.constant dense<0.0> : !acc
    %d = tilegpu.dot_async %a, %b[%zero], %none {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #s>, !buf, !acc
    %e = tilegpu.dot_wait %d {pending = 0 : i64} : !acc
  }
  return
}

// A copy that is waited for later may need what this role gives back behind the dots.
// CHECK-LABEL: func.func @copies_to_come
// CHECK-NOT: tilegpu.take_program
func.func @copies_to_come(%a: tensor<64x16xbf16, #s>, %p: !tile.block_ptr<16x16xbf16>) attributes {tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.repeats, tilegpu.claims = 0 : i64, tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %b = tilegpu.alloc {barriers = 4096 : i64, offset = 0 : i64} : !buf
  tilegpu.each_program dynamic {
  ^bb0(%x: i32, %y: i32, %z: i32):
    %zero = arith.constant 0 : i32
    %none = arith.constant dense<0.0> : !acc
    %d = tilegpu.dot_async %a, %b[%zero], %none {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #s>, !buf, !acc
    %e = tilegpu.dot_wait %d {pending = 0 : i64} : !acc
    tilegpu.release %b[%zero] : !buf
    %t = tilegpu.copy_async %p, %b[%zero] map 0[] {tilegpu.made = "elsewhere"} : !tile.block_ptr<16x16xbf16>, !buf
    tilegpu.copy_wait %t in %b[%zero] : !buf
    tilegpu.release %b[%zero] : !buf
  }
  return
}
