// SPDX-License-Identifier: Apache-2.0
// A dot whose operand a trip stores does not run on: the next trip would store it while the matrix unit still reads. It is waited for in its
// own trip. Without the store it runs on.
// RUN: fattn-opt %s -tilegpu-place-waits | FileCheck %s
// RUN: grep -v store_buffer %s | fattn-opt -tilegpu-place-waits | FileCheck %s --check-prefix=RUNS

#regs = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32), 32 -> (0,64); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 128">
#regs1 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 64">
#rows = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (16,0), 16 -> (32,0); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (0,32), 8 -> (0,64), 16 -> (1,0); warp: 1 -> (2,0), 2 -> (4,0), 4 -> (8,0) | dim0: 64, dim1: 128">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0), 4096 -> (64,0), 8192 -> (0,64) | dim0: 128, dim1: 128">
#shared1 = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0), 4096 -> (0,64) | dim0: 64, dim1: 128">

// CHECK: scf.for
// CHECK: tilegpu.dot_async {{.*}}tilegpu.runs_on
// CHECK-NEXT: %[[D:.*]] = tilegpu.dot_wait {{.*}} {pending = 0
// CHECK-NOT: covered
// CHECK: scf.yield %[[D]] :
// RUNS: scf.for
// RUNS: tilegpu.dot_wait {{.*}} {covered}
func.func @stored(%t: tensor<64x128xbf16, #rows>, %n: i32) -> tensor<128x128xf32, #regs> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<128x128xf32, #regs>
  %none = arith.constant dense<0.0> : tensor<128x64xf32, #regs1>
  %k = tilegpu.alloc : !tilegpu.buffer<1 x 128x128xbf16, #shared>
  %q = tilegpu.alloc : !tilegpu.buffer<1 x 64x128xbf16, #shared1>
  %v = tilegpu.alloc : !tilegpu.buffer<1 x 64x128xbf16, #shared1>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32, #regs>) : i32 {
    %s = tilegpu.dot_async %k[%c0], %q[%c0], %none {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>, transposed_b} : !tilegpu.buffer<1 x 128x128xbf16, #shared>, !tilegpu.buffer<1 x 64x128xbf16, #shared1>, tensor<128x64xf32, #regs1>
    %w = tilegpu.dot_wait %s : tensor<128x64xf32, #regs1>
    %p = arith.truncf %w : tensor<128x64xf32, #regs1> to tensor<128x64xbf16, #regs1>
    tilegpu.store_buffer %t, %v[%c0] : tensor<64x128xbf16, #rows>, !tilegpu.buffer<1 x 64x128xbf16, #shared1>
    %d = tilegpu.dot_async %p, %v[%c0], %acc {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>, tilegpu.runs_on} : tensor<128x64xbf16, #regs1>, !tilegpu.buffer<1 x 64x128xbf16, #shared1>, tensor<128x128xf32, #regs>
    %e = tilegpu.dot_wait %d : tensor<128x128xf32, #regs>
    scf.yield %e : tensor<128x128xf32, #regs>
  }
  return %sum : tensor<128x128xf32, #regs>
}
