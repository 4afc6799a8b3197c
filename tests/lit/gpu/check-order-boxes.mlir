// SPDX-License-Identifier: Apache-2.0
// What the check of the order finds about boxes that an engine copies.
// RUN: fattn-opt %s -split-input-file -tilegpu-check-order -verify-diagnostics

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>

// Neither barriers nor fences: each warp waits for the boxes and says when it has read them.
func.func @in_order(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc : !buf
  %s = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  %t = tilegpu.copy_async %p, %b[%one] map 0[] : !ptr, !buf
  tilegpu.copy_wait %s in %b[%zero] : !buf
  %d0 = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !buf, tensor<64x16xf32, #acc>
  tilegpu.copy_wait %t in %b[%one] : !buf
  %e0 = tilegpu.dot_wait %d0 {pending = 0 : i64} : tensor<64x16xf32, #acc>
  tilegpu.release %b[%zero] : !buf
  %u = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  %d1 = tilegpu.dot_async %a, %b[%one], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !buf, tensor<64x16xf32, #acc>
  %e1 = tilegpu.dot_wait %d1 {pending = 0 : i64} : tensor<64x16xf32, #acc>
  tilegpu.release %b[%one] : !buf
  tilegpu.copy_wait %u in %b[%zero] : !buf
  %y = tilegpu.load_buffer %b[%zero] : !buf -> tensor<16x16xbf16, #rows>
  tilegpu.release %b[%zero] : !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>

// Two slots in turn, one trip ahead; the last trip copies nothing.
func.func @in_a_loop(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc : !buf
  %first = arith.cmpi sgt, %n, %zero : i32
  %s = tilegpu.copy_async %p, %b[%zero] if %first map 0[] : !ptr, !buf
  %end:2 = scf.for %i = %zero to %n step %one iter_args(%t = %s, %slot = %zero) -> (!tilegpu.token, i32) : i32 {
    %other = arith.xori %slot, %one : i32
    %next = arith.addi %i, %one : i32
    %more = arith.cmpi slt, %next, %n : i32
    %u = tilegpu.copy_async %p, %b[%other] if %more map 0[] : !ptr, !buf
    tilegpu.copy_wait %t in %b[%slot] : !buf
    %d = tilegpu.dot_async %a, %b[%slot], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !buf, tensor<64x16xf32, #acc>
    %e = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<64x16xf32, #acc>
    tilegpu.release %b[%slot] : !buf
    scf.yield %u, %other : !tilegpu.token, i32
  }
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>
func.func @read_in_flight(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc : !buf
  // expected-note @+1 {{the copy}}
  %s = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  // expected-error @+1 {{reads a slot that a copy may still be filling: no tilegpu.copy_wait covers the copy before this read}}
  %y = tilegpu.load_buffer %b[%zero] : !buf -> tensor<16x16xbf16, #rows>
  tilegpu.copy_wait %s in %b[%zero] : !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>

// A wait is for its slot alone.
func.func @wait_for_the_other_slot(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc : !buf
  // expected-note @+1 {{the copy}}
  %s = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  %t = tilegpu.copy_async %p, %b[%one] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %b[%one] : !buf
  // expected-error @+1 {{reads a slot that a copy may still be filling: no tilegpu.copy_wait covers the copy before this read}}
  %y = tilegpu.load_buffer %b[%zero] : !buf -> tensor<16x16xbf16, #rows>
  tilegpu.copy_wait %s in %b[%zero] : !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>
func.func @wait_without_copy(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc : !buf
  %s = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  tilegpu.copy_wait %s in %b[%zero] : !buf
  // expected-error @+1 {{waits for boxes that no tilegpu.copy_async has begun to copy into the slot: it would never end}}
  tilegpu.copy_wait %s in %b[%one] : !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>
func.func @wait_twice(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc : !buf
  %s = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  tilegpu.copy_wait %s in %b[%zero] : !buf
  // expected-error @+1 {{waits for boxes that no tilegpu.copy_async has begun to copy into the slot: it would never end}}
  tilegpu.copy_wait %s in %b[%zero] : !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>

// The buffer has releases, so that a copy waits for one.
func.func @copy_without_release(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc : !buf
  // expected-note @+1 {{the last copy}}
  %s = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  tilegpu.copy_wait %s in %b[%zero] : !buf
  %y = tilegpu.load_buffer %b[%zero] : !buf -> tensor<16x16xbf16, #rows>
  tilegpu.barrier
  // expected-error @+1 {{copies boxes into a slot whose last content no tilegpu.release has given back: it would never begin}}
  %t = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %b[%zero] : !buf
  tilegpu.release %b[%zero] : !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>

// Nobody waits for one: a barrier does.
func.func @without_any_release(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc : !buf
  %s = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  tilegpu.copy_wait %s in %b[%zero] : !buf
  %y = tilegpu.load_buffer %b[%zero] : !buf -> tensor<16x16xbf16, #rows>
  tilegpu.barrier
  %t = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %b[%zero] : !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>
func.func @without_release_or_barrier(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc : !buf
  %s = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  tilegpu.copy_wait %s in %b[%zero] : !buf
  // expected-note @+1 {{the read}}
  %y = tilegpu.load_buffer %b[%zero] : !buf -> tensor<16x16xbf16, #rows>
  // expected-error @+1 {{overwrites what other threads may still be reading: a tilegpu.barrier is missing between the read and this write}}
  %t = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %b[%zero] : !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>
func.func @release_twice(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc : !buf
  %s = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  tilegpu.copy_wait %s in %b[%zero] : !buf
  %y = tilegpu.load_buffer %b[%zero] : !buf -> tensor<16x16xbf16, #rows>
  tilegpu.release %b[%zero] : !buf
  // expected-error @+1 {{releases a slot that holds nothing since its last release: the copies' order of slots would be lost}}
  tilegpu.release %b[%zero] : !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>

// The unit reads until its dot_wait.
func.func @release_before_the_dot_ends(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc : !buf
  %s = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  tilegpu.copy_wait %s in %b[%zero] : !buf
  // expected-note @+1 {{the dot}}
  %d0 = tilegpu.dot_async %a, %b[%zero], %c {instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>} : tensor<64x16xbf16, #acc>, !buf, tensor<64x16xf32, #acc>
  tilegpu.release %b[%zero] : !buf
  // expected-error @+1 {{writes a slot that a dot may still be reading: no tilegpu.dot_wait covers the dot before this write}}
  %t = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  %e0 = tilegpu.dot_wait %d0 {pending = 0 : i64} : tensor<64x16xf32, #acc>
  tilegpu.copy_wait %t in %b[%zero] : !buf
  tilegpu.release %b[%zero] : !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>
func.func @release_before_the_read(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc : !buf
  %s = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  tilegpu.copy_wait %s in %b[%zero] : !buf
  tilegpu.release %b[%zero] : !buf
  // expected-note @+1 {{the read}}
  %y = tilegpu.load_buffer %b[%zero] : !buf -> tensor<16x16xbf16, #rows>
  // expected-error @+1 {{overwrites what other threads may still be reading: a tilegpu.barrier is missing between the read and this write}}
  %t = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %b[%zero] : !buf
  tilegpu.release %b[%zero] : !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>
func.func @store_in_flight(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc : !buf
  // expected-note @+1 {{the copy}}
  %s = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  // expected-error @+1 {{writes a slot that a copy may still be filling: no tilegpu.copy_wait covers the copy before this write}}
  tilegpu.store_buffer %x, %b[%zero] : tensor<16x16xbf16, #rows>, !buf
  tilegpu.copy_wait %s in %b[%zero] : !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>

func.func @never_waited_for(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  // expected-error @+1 {{copies boxes that no tilegpu.copy_wait waits for: they may land when the block has ended}}
  %t = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>

// The buffers have the same bytes.
func.func @over_what_threads_wrote(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  %l = tilegpu.alloc {offset = 0 : i64} : !buf
  tilegpu.store_buffer %x, %l[%zero] : tensor<16x16xbf16, #rows>, !buf
  tilegpu.fence_async
  tilegpu.barrier
  %t = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %b[%zero] : !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>

func.func @over_what_threads_wrote_without_a_fence(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  %l = tilegpu.alloc {offset = 0 : i64} : !buf
  // expected-note @+1 {{the write}}
  tilegpu.store_buffer %x, %l[%zero] : tensor<16x16xbf16, #rows>, !buf
  tilegpu.barrier
  // expected-error @+1 {{copies boxes over what threads have written: a tilegpu.fence_async is missing behind the write}}
  %t = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %b[%zero] : !buf
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<2 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>

// A release is for the next copy of boxes into the slot. Threads that store there wait for a barrier.
func.func @release_is_no_barrier(%a: tensor<64x16xbf16, #acc>, %c: tensor<64x16xf32, #acc>, %x: tensor<16x16xbf16, #rows>, %p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64,
    tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  %l = tilegpu.alloc {offset = 0 : i64} : !buf
  %t = tilegpu.copy_async %p, %b[%zero] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %b[%zero] : !buf
  // expected-note @+1 {{the read}}
  %y = tilegpu.load_buffer %b[%zero] : !buf -> tensor<16x16xbf16, #rows>
  tilegpu.release %b[%zero] : !buf
  // expected-error @+1 {{overwrites what other threads may still be reading: a tilegpu.barrier is missing between the read and this write}}
  tilegpu.store_buffer %x, %l[%zero] : tensor<16x16xbf16, #rows>, !buf
  return
}
