// SPDX-License-Identifier: Apache-2.0
// What the check of the order finds about dots in flight.
// RUN: fattn-opt %s -split-input-file -tilegpu-check-order -verify-diagnostics

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<1 x 16x16xbf16, #b>
func.func @in_order(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64} {
  %zero = arith.constant 0 : i32
  %b = tilegpu.alloc : !buf
  tilegpu.store_buffer %x, %b[%zero] : tensor<16x16xbf16, #rows>, !buf
  tilegpu.fence_async
  tilegpu.barrier
  %d = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !buf, tensor<64x16xf32, #acc>
  %e = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<64x16xf32, #acc>
  tilegpu.barrier
  tilegpu.store_buffer %x, %b[%zero] : tensor<16x16xbf16, #rows>, !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<1 x 16x16xbf16, #b>
func.func @no_fence(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64} {
  %zero = arith.constant 0 : i32
  %b = tilegpu.alloc : !buf
  // expected-note @+1 {{the write}}
  tilegpu.store_buffer %x, %b[%zero] : tensor<16x16xbf16, #rows>, !buf
  tilegpu.barrier
  // expected-error @+1 {{reads by the matrix unit what threads have written: a tilegpu.fence_async is missing behind the write}}
  %d = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !buf, tensor<64x16xf32, #acc>
  %e = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<64x16xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<1 x 16x16xbf16, #b>
func.func @written_in_flight(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64} {
  %zero = arith.constant 0 : i32
  %b = tilegpu.alloc : !buf
  tilegpu.store_buffer %x, %b[%zero] : tensor<16x16xbf16, #rows>, !buf
  tilegpu.fence_async
  tilegpu.barrier
  // expected-note @+1 {{the dot}}
  %d = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !buf, tensor<64x16xf32, #acc>
  tilegpu.barrier
  // expected-error @+1 {{writes a slot that a dot may still be reading: no tilegpu.dot_wait covers the dot before this write}}
  tilegpu.store_buffer %x, %b[%zero] : tensor<16x16xbf16, #rows>, !buf
  %e = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<64x16xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<1 x 16x16xbf16, #b>
// The wait lets one dot go on, which is the one that it waits for.
func.func @wait_leaves_its_dot(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64} {
  %zero = arith.constant 0 : i32
  %b = tilegpu.alloc : !buf
  tilegpu.store_buffer %x, %b[%zero] : tensor<16x16xbf16, #rows>, !buf
  tilegpu.fence_async
  tilegpu.barrier
  %d = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !buf, tensor<64x16xf32, #acc>
  // expected-error @+1 {{waits for a dot, but lets so many younger dots go on that it may be among them: pending must be less}}
  %e = tilegpu.dot_wait %d {pending = 1 : i64} : tensor<64x16xf32, #acc>
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<1 x 16x16xbf16, #b>
// The wait for the second dot is for the first one, too. No wait is for the third one.
func.func @covered_by_nothing(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64} {
  %zero = arith.constant 0 : i32
  %b = tilegpu.alloc : !buf
  tilegpu.store_buffer %x, %b[%zero] : tensor<16x16xbf16, #rows>, !buf
  tilegpu.fence_async
  tilegpu.barrier
  %d = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !buf, tensor<64x16xf32, #acc>
  %e = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !buf, tensor<64x16xf32, #acc>
  %f = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !buf, tensor<64x16xf32, #acc>
  %g = tilegpu.dot_wait %e {pending = 1 : i64} : tensor<64x16xf32, #acc>
  %h = tilegpu.dot_wait %d {covered} : tensor<64x16xf32, #acc>
  // expected-error @+1 {{counts on a wait before it for a dot that may be in flight: covered must go}}
  %i = tilegpu.dot_wait %f {covered} : tensor<64x16xf32, #acc>
  return
}
