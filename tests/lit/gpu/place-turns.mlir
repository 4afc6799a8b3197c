// SPDX-License-Identifier: Apache-2.0
// Groups take turns where a trip begins all of its dots before it waits for one, and computes beside them.
// RUN: fattn-opt %s -tilegpu-place-turns | FileCheck %s

#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 8">
#a = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0), 4096 -> (64,0) | dim0: 128, dim1: 64">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">
#unit = #tilegpu.instruction<"wgmma" depth 16 shared a b>

// The last group opens the round when the computing warps have their registers.
// CHECK-LABEL: func.func @together
// CHECK: tilegpu.set_registers 240 more
// CHECK-NEXT: tilegpu.turn_pass first
// CHECK: scf.for
// CHECK-NEXT: tilegpu.turn_wait
// CHECK-NEXT: tilegpu.dot_async
// CHECK-NEXT: tilegpu.dot_async
// CHECK-NEXT: tilegpu.turn_pass
// CHECK-NEXT: tilegpu.dot_wait
func.func @together(%n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<128x8xf32, #c>
  %x = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 128x64xbf16, #a>
  %y = tilegpu.alloc {offset = 16384 : i64} : !tilegpu.buffer<1 x 8x64xbf16, #b>
  tilegpu.set_registers 240 more
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x8xf32, #c>) : i32 {
    %d = tilegpu.dot_async %x[%c0], %y[%c0], %zero {instruction = #unit, transposed_b} : !tilegpu.buffer<1 x 128x64xbf16, #a>, !tilegpu.buffer<1 x 8x64xbf16, #b>, tensor<128x8xf32, #c>
    %e = tilegpu.dot_async %x[%c0], %y[%c0], %acc {instruction = #unit, transposed_b} : !tilegpu.buffer<1 x 128x64xbf16, #a>, !tilegpu.buffer<1 x 8x64xbf16, #b>, tensor<128x8xf32, #c>
    %f = tilegpu.dot_wait %d {pending = 1 : i64} : tensor<128x8xf32, #c>
    %g = math.exp2 %f : tensor<128x8xf32, #c>
    %h = tilegpu.dot_wait %e : tensor<128x8xf32, #c>
    %s = arith.addf %g, %h : tensor<128x8xf32, #c>
    scf.yield %s : tensor<128x8xf32, #c>
  }
  return
}

// The second dot begins behind what follows from the first: a turn that lasted from the one to the other would leave nobody to compute.
// CHECK-LABEL: func.func @one_after_the_other
// CHECK-NOT: turn_
func.func @one_after_the_other(%n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<128x8xf32, #c>
  %x = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 128x64xbf16, #a>
  %y = tilegpu.alloc {offset = 16384 : i64} : !tilegpu.buffer<1 x 8x64xbf16, #b>
  tilegpu.set_registers 240 more
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x8xf32, #c>) : i32 {
    %d = tilegpu.dot_async %x[%c0], %y[%c0], %zero {instruction = #unit, transposed_b} : !tilegpu.buffer<1 x 128x64xbf16, #a>, !tilegpu.buffer<1 x 8x64xbf16, #b>, tensor<128x8xf32, #c>
    %f = tilegpu.dot_wait %d : tensor<128x8xf32, #c>
    %g = math.exp2 %f : tensor<128x8xf32, #c>
    %e = tilegpu.dot_async %x[%c0], %y[%c0], %acc {instruction = #unit, transposed_b} : !tilegpu.buffer<1 x 128x64xbf16, #a>, !tilegpu.buffer<1 x 8x64xbf16, #b>, tensor<128x8xf32, #c>
    %h = tilegpu.dot_wait %e : tensor<128x8xf32, #c>
    %s = arith.addf %g, %h : tensor<128x8xf32, #c>
    scf.yield %s : tensor<128x8xf32, #c>
  }
  return
}

// The groups meet between the dots: the one that has the turn would wait at the barrier for the one that waits for its turn.
// CHECK-LABEL: func.func @groups_meet
// CHECK-NOT: turn_
func.func @groups_meet(%n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<128x8xf32, #c>
  %x = tilegpu.alloc {offset = 0 : i64} : !tilegpu.buffer<1 x 128x64xbf16, #a>
  %y = tilegpu.alloc {offset = 16384 : i64} : !tilegpu.buffer<1 x 8x64xbf16, #b>
  tilegpu.set_registers 240 more
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x8xf32, #c>) : i32 {
    %d = tilegpu.dot_async %x[%c0], %y[%c0], %zero {instruction = #unit, transposed_b} : !tilegpu.buffer<1 x 128x64xbf16, #a>, !tilegpu.buffer<1 x 8x64xbf16, #b>, tensor<128x8xf32, #c>
    tilegpu.barrier
    %e = tilegpu.dot_async %x[%c0], %y[%c0], %acc {instruction = #unit, transposed_b} : !tilegpu.buffer<1 x 128x64xbf16, #a>, !tilegpu.buffer<1 x 8x64xbf16, #b>, tensor<128x8xf32, #c>
    %f = tilegpu.dot_wait %d {pending = 1 : i64} : tensor<128x8xf32, #c>
    %g = math.exp2 %f : tensor<128x8xf32, #c>
    %h = tilegpu.dot_wait %e : tensor<128x8xf32, #c>
    %s = arith.addf %g, %h : tensor<128x8xf32, #c>
    scf.yield %s : tensor<128x8xf32, #c>
  }
  return
}
