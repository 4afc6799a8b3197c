// SPDX-License-Identifier: Apache-2.0
// What the verifiers of dots in flight refuse.
// RUN: fattn-opt %s -split-input-file -verify-diagnostics

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
func.func @slot(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>) {
  %zero = arith.constant 0 : i32
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x16xbf16, #b>
  // expected-error @+1 {{needs a slot for a exactly if it is a buffer}}
  %d = tilegpu.dot_async %a[%zero], %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !tilegpu.buffer<1 x 16x16xbf16, #b>, tensor<64x16xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
func.func @instruction(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>) {
  %zero = arith.constant 0 : i32
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x16xbf16, #b>
  // expected-error @+1 {{has an instruction that reads other operands from shared memory}}
  %d = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>} : tensor<64x16xbf16, #acc>, !tilegpu.buffer<1 x 16x16xbf16, #b>, tensor<64x16xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
func.func @transposed(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>) {
  %zero = arith.constant 0 : i32
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x16xbf16, #b>
  // expected-error @+1 {{has transposed_a, which is for a buffer}}
  %d = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>, transposed_a} : tensor<64x16xbf16, #acc>, !tilegpu.buffer<1 x 16x16xbf16, #b>, tensor<64x16xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0) | dim0: 32, dim1: 16">
func.func @shapes(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>) {
  %zero = arith.constant 0 : i32
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 32x16xbf16, #b>
  // expected-error @+1 {{needs a of m x k, b of k x n and acc of m x n}}
  %d = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !tilegpu.buffer<1 x 32x16xbf16, #b>, tensor<64x16xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
func.func @touched_in_flight(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>) -> tensor<64x16xf32, #acc> {
  %zero = arith.constant 0 : i32
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x16xbf16, #b>
  // expected-error @+1 {{is in flight until tilegpu.dot_wait, but its result is used by func.return}}
  %d = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !tilegpu.buffer<1 x 16x16xbf16, #b>, tensor<64x16xf32, #acc>
  return %d : tensor<64x16xf32, #acc>
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
func.func @nothing_in_flight(%c: tensor<64x16xf32, #acc>) {
  // expected-error @+1 {{waits for the result of tilegpu.dot_async, but got another value}}
  %d = tilegpu.dot_wait %c : tensor<64x16xf32, #acc>
  return
}
