// SPDX-License-Identifier: Apache-2.0
// What the check of the order finds where warps of their own copy boxes, groups take turns, and a block takes several programs.
// RUN: fattn-opt %s -split-input-file -tilegpu-check-order -verify-diagnostics

#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0), 4 -> (0,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<1 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>
#maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]

// One slot for all programs of a block: each releases it for the next one, and turns are passed on.
func.func @in_order(%p: !ptr, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.repeats, tilegpu.tensor_maps = #maps} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = tilegpu.alloc {barriers = 512 : i64, offset = 0 : i64} : !buf
  tilegpu.init_barriers
  tilegpu.barrier
  %copies = tilegpu.is_copier
  scf.if %copies {
    tilegpu.each_program {
    ^bb0(%x: i32, %y: i32, %z: i32):
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = tilegpu.copy_async %p, %b[%c0] map 0[] {tilegpu.made = "alone"} : !ptr, !buf
      }
    }
  } else {
    tilegpu.turn_pass first
    tilegpu.each_program {
    ^bb0(%x: i32, %y: i32, %z: i32):
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = tilegpu.copy_async %p, %b[%c0] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !buf
        tilegpu.copy_wait %t in %b[%c0] : !buf
        tilegpu.turn_wait
        %v = tilegpu.load_buffer %b[%c0] : !buf -> tensor<16x16xbf16, #rows>
        tilegpu.turn_pass
        tilegpu.release %b[%c0] : !buf
      }
    }
  }
  return
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0), 4 -> (0,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<1 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>
#maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]
func.func @not_released_for_the_next_program(%p: !ptr) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.repeats, tilegpu.tensor_maps = #maps} {
  %c0 = arith.constant 0 : i32
  %b = tilegpu.alloc {barriers = 512 : i64, offset = 0 : i64} : !buf
  tilegpu.init_barriers
  tilegpu.barrier
  %copies = tilegpu.is_copier
  scf.if %copies {
    tilegpu.each_program {
    ^bb0(%x: i32, %y: i32, %z: i32):
      // expected-note @+2 {{the last copy}}
      // expected-error @+1 {{copies boxes into a slot whose last content no tilegpu.release has given back: it would never begin}}
      %t = tilegpu.copy_async %p, %b[%c0] map 0[] {tilegpu.made = "alone"} : !ptr, !buf
    }
  } else {
    tilegpu.each_program {
    ^bb0(%x: i32, %y: i32, %z: i32):
      %t = tilegpu.copy_async %p, %b[%c0] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !buf
      // expected-error @+1 {{waits for boxes that no tilegpu.copy_async has begun to copy into the slot: it would never end}}
      tilegpu.copy_wait %t in %b[%c0] : !buf
      %never = arith.cmpi slt, %x, %c0 : i32
      scf.if %never {
        tilegpu.release %b[%c0] : !buf
      }
    }
  }
  return
}

// -----

#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<1 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>
func.func @objects(%p: !ptr) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.tensor_maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]} {
  %c0 = arith.constant 0 : i32
  %b = tilegpu.alloc {barriers = 512 : i64, offset = 0 : i64} : !buf
  tilegpu.init_barriers
  // expected-error @+1 {{needs barrier objects: tilegpu.init_barriers is missing before it, or a tilegpu.barrier between the two}}
  %t = tilegpu.copy_async %p, %b[%c0] map 0[] : !ptr, !buf
  tilegpu.barrier
  tilegpu.copy_wait %t in %b[%c0] : !buf
  return
}

// -----

func.func @turns(%n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tilegpu.turn_pass first
  scf.for %i = %c0 to %n step %c1 : i32 {
    tilegpu.turn_wait
    tilegpu.turn_pass
    // expected-error @+1 {{passes on a turn that no tilegpu.turn_wait has taken: the next group's turns would be lost}}
    tilegpu.turn_pass
  }
  // expected-note @+1 {{the turn before}}
  tilegpu.turn_wait
  // expected-error @+1 {{waits for a turn that no tilegpu.turn_pass of the group before passes on: it would never end}}
  tilegpu.turn_wait
  return
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0), 4 -> (0,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<1 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>
#maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]

// What comes behind a slot's last reader has the slot's bytes, and the release stands behind that. (Once accesses of the other buffer were
// never over, and such programs were refused.)
func.func @shared_bytes(%p: !ptr) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.repeats, tilegpu.tensor_maps = #maps} {
  %c0 = arith.constant 0 : i32
  %b = tilegpu.alloc {barriers = 512 : i64, offset = 0 : i64} : !buf
  %s = tilegpu.alloc {offset = 0 : i64} : !buf
  tilegpu.init_barriers
  tilegpu.barrier
  %copies = tilegpu.is_copier
  scf.if %copies {
    tilegpu.each_program {
    ^bb0(%x: i32, %y: i32, %z: i32):
      %t = tilegpu.copy_async %p, %b[%c0] map 0[] {tilegpu.made = "alone"} : !ptr, !buf
    }
  } else {
    tilegpu.each_program {
    ^bb0(%x: i32, %y: i32, %z: i32):
      %t = tilegpu.copy_async %p, %b[%c0] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !buf
      tilegpu.copy_wait %t in %b[%c0] : !buf
      %v = tilegpu.load_buffer %b[%c0] : !buf -> tensor<16x16xbf16, #rows>
      tilegpu.barrier
      tilegpu.store_buffer %v, %s[%c0] : tensor<16x16xbf16, #rows>, !buf
      tilegpu.barrier
      %w = tilegpu.load_buffer %s[%c0] : !buf -> tensor<16x16xbf16, #rows>
      tilegpu.fence_async
      tilegpu.release %b[%c0] : !buf
    }
  }
  return
}

// -----

#rows = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,8), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0), 4 -> (0,0) | dim0: 16, dim1: 16">
#b = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0) | dim0: 16, dim1: 16">
!buf = !tilegpu.buffer<1 x 16x16xbf16, #b>
!ptr = !tile.block_ptr<16x16xbf16>
#maps = [{sizes = [array<i64: 16>, array<i64: 64>]}]

// A barrier is the computing warps' own: it does not keep the next program's copy behind the other buffer.
func.func @released_too_early(%p: !ptr) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.repeats, tilegpu.tensor_maps = #maps} {
  %c0 = arith.constant 0 : i32
  %b = tilegpu.alloc {barriers = 512 : i64, offset = 0 : i64} : !buf
  %s = tilegpu.alloc {offset = 0 : i64} : !buf
  tilegpu.init_barriers
  tilegpu.barrier
  %copies = tilegpu.is_copier
  scf.if %copies {
    tilegpu.each_program {
    ^bb0(%x: i32, %y: i32, %z: i32):
      // expected-note @+1 {{the copy}}
      %t = tilegpu.copy_async %p, %b[%c0] map 0[] {tilegpu.made = "alone"} : !ptr, !buf
    }
  } else {
    tilegpu.each_program {
    ^bb0(%x: i32, %y: i32, %z: i32):
      %t = tilegpu.copy_async %p, %b[%c0] map 0[] {tilegpu.made = "elsewhere"} : !ptr, !buf
      tilegpu.copy_wait %t in %b[%c0] : !buf
      %v = tilegpu.load_buffer %b[%c0] : !buf -> tensor<16x16xbf16, #rows>
      tilegpu.release %b[%c0] : !buf
      tilegpu.barrier
      // expected-error @+1 {{writes a slot that a copy may still be filling: no tilegpu.copy_wait covers the copy before this write}}
      tilegpu.store_buffer %v, %s[%c0] : tensor<16x16xbf16, #rows>, !buf
      tilegpu.fence_async
      tilegpu.barrier
    }
  }
  return
}

// -----

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 32">
#sums = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,4), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0), 512 -> (16,0), 1024 -> (32,0), 2048 -> (64,0) | dim0: 128, dim1: 32">
!buf = !tilegpu.buffer<1 x 128x32xf32, #sums>
!ptr = !tile.block_ptr<128x32xf32>
#maps = [{adds, box = array<i64: 32, 128>, sizes = [array<i64: 32>, array<i64: 64>]}]

// The copying warps send one row of tiles behind the one that is laid.
func.func @sent_otherwise(%o: !tile.ptr<f32>, %n: i32, %x: tensor<128x32xf32, #acc>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.tensor_maps = #maps} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 32 : i64
  %b = tilegpu.alloc {barriers = 16384 : i64, offset = 0 : i64} : !buf
  tilegpu.init_barriers
  tilegpu.barrier
  %copies = tilegpu.is_copier
  scf.if %copies {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %row = arith.extsi %i : i32 to i64
      %next = arith.addi %row, %u : i64
      %p = tile.make_block_ptr %o, shape [%w, %w], strides [%w, %u], offsets [%next, %z] : !tile.ptr<f32> -> !ptr
      // expected-note @+1 {{what they send}}
      tilegpu.send_boxes %p in %b map 0[] {add} : !ptr, !buf
    }
  } else {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %row = arith.extsi %i : i32 to i64
      %p = tile.make_block_ptr %o, shape [%w, %w], strides [%w, %u], offsets [%row, %z] : !tile.ptr<f32> -> !ptr
      // expected-error @+1 {{lays a tile for other warps to send, whose tilegpu.send_boxes sends another one, or none, at this place in their order}}
      tilegpu.store_boxes %p, %x in %b map 0[] {add, tilegpu.made = "elsewhere"} : !ptr, tensor<128x32xf32, #acc>, !buf
    }
  }
  return
}

// -----

#sums = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,4), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0), 512 -> (16,0), 1024 -> (32,0), 2048 -> (64,0) | dim0: 128, dim1: 32">
!buf = !tilegpu.buffer<1 x 128x32xf32, #sums>
!ptr = !tile.block_ptr<128x32xf32>
#maps = [{adds, box = array<i64: 32, 128>, sizes = [array<i64: 32>, array<i64: 64>]}]
func.func @laid_by_nobody(%p: !ptr) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.tensor_maps = #maps} {
  %b = tilegpu.alloc {barriers = 16384 : i64, offset = 0 : i64} : !buf
  tilegpu.init_barriers
  tilegpu.barrier
  %copies = tilegpu.is_copier
  scf.if %copies {
    // expected-error @+1 {{sends a tile that no tilegpu.store_boxes lays: it would never begin}}
    tilegpu.send_boxes %p in %b map 0[] {add} : !ptr, !buf
  }
  return
}
