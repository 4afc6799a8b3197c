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

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 16">
#a = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0), 512 -> (32,0) | dim0: 64, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
func.func @others_without_a_slot(%c: tensor<128x16xf32, #acc>) {
  %zero = arith.constant 0 : i32
  %a = tilegpu.alloc : !tilegpu.buffer<1 x 64x16xbf16, #a>
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x16xbf16, #b>
  // expected-error @+1 {{needs a buffer like a, a slot, a buffer like b and a slot for each further group}}
  %d = tilegpu.dot_async %a[%zero], %b[%zero], %c others(%a, %zero, %b : !tilegpu.buffer<1 x 64x16xbf16, #a>, i32, !tilegpu.buffer<1 x 16x16xbf16, #b>) {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>} : !tilegpu.buffer<1 x 64x16xbf16, #a>, !tilegpu.buffer<1 x 16x16xbf16, #b>, tensor<128x16xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 16">
#a = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (16,0), 512 -> (32,0) | dim0: 64, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
func.func @others_of_another_type(%c: tensor<128x16xf32, #acc>) {
  %zero = arith.constant 0 : i32
  %a = tilegpu.alloc : !tilegpu.buffer<1 x 64x16xbf16, #a>
  %b = tilegpu.alloc : !tilegpu.buffer<1 x 16x16xbf16, #b>
  // expected-error @+1 {{needs a buffer like a, a slot, a buffer like b and a slot for each further group}}
  %d = tilegpu.dot_async %a[%zero], %b[%zero], %c others(%b, %zero, %b, %zero : !tilegpu.buffer<1 x 16x16xbf16, #b>, i32, !tilegpu.buffer<1 x 16x16xbf16, #b>, i32) {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>} : !tilegpu.buffer<1 x 64x16xbf16, #a>, !tilegpu.buffer<1 x 16x16xbf16, #b>, tensor<128x16xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 16">
#own = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
func.func @part_of_no_group(%c: tensor<128x16xf32, #acc>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64} {
  // expected-error @+1 {{needs to stand in tilegpu.owner_only, and an input from outside}}
  %d = tilegpu.group_part %c : tensor<128x16xf32, #acc> -> tensor<64x16xf32, #own>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 16">
#other = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (32,0), 2 -> (16,0) | dim0: 64, dim1: 16">
func.func @part_of_other_threads(%c: tensor<128x16xf32, #acc>, %turn: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64} {
  tilegpu.owner_only %turn {
    // expected-error @+1 {{needs the input's layout in each group}}
    %d = tilegpu.group_part %c : tensor<128x16xf32, #acc> -> tensor<64x16xf32, #other>
  }
  return
}
