// SPDX-License-Identifier: Apache-2.0
// Slots that warps fill for an owner: what each of acquire, commit, fence, wait and release is for.
// RUN: fattn-opt %s -split-input-file -tilegpu-check-order -verify-diagnostics

#p = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 64">
#d = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#s = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0), 4096 -> (64,0) | dim0: 128, dim1: 64">
!ring = !tilegpu.buffer<2 x 128x64xbf16, #s>
!home = !tilegpu.buffer<1 x 128x64xbf16, #s>

func.func @right(%n: i32, %x: tensor<128x64xbf16, #p>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 50000 : i64} {
  tilegpu.init_barriers
  %k = tilegpu.alloc {offset = 0 : i64} : !home
  %b = tilegpu.alloc {offset = 16384 : i64, barriers = 49152 : i64} : !ring
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tilegpu.store_buffer %x, %k[%c0] : tensor<128x64xbf16, #p>, !home
  tilegpu.fence_async
  tilegpu.barrier
  scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
    tilegpu.slot_acquire %b[%slot] : !ring
    tilegpu.store_buffer %x, %b[%slot] : tensor<128x64xbf16, #p>, !ring
    tilegpu.fence_async
    tilegpu.slot_commit %b[%slot] : !ring
    tilegpu.owner_only %slot {
      %zero = arith.constant dense<0.0> : tensor<64x64xf32, #d>
      tilegpu.slot_wait %b[%slot] : !ring
      %d = tilegpu.dot_async %b[%slot], %k[%c0], %zero {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>, transposed_a} : !ring, !home, tensor<64x64xf32, #d>
      %e = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<64x64xf32, #d>
      tilegpu.release %b[%slot] : !ring
    }
    %next = arith.xori %slot, %c1 : i32
    scf.yield %next : i32
  }
  return
}

// -----

#p = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 64">
#d = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#s = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0), 4096 -> (64,0) | dim0: 128, dim1: 64">
!ring = !tilegpu.buffer<2 x 128x64xbf16, #s>
!home = !tilegpu.buffer<1 x 128x64xbf16, #s>

func.func @not_acquired(%n: i32, %x: tensor<128x64xbf16, #p>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 50000 : i64} {
  tilegpu.init_barriers
  %k = tilegpu.alloc {offset = 0 : i64} : !home
  %b = tilegpu.alloc {offset = 16384 : i64, barriers = 49152 : i64} : !ring
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tilegpu.store_buffer %x, %k[%c0] : tensor<128x64xbf16, #p>, !home
  tilegpu.fence_async
  tilegpu.barrier
  scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
    // expected-error @below {{writes a slot that an owner may still be reading: a tilegpu.slot_acquire is missing before it}}
    // expected-error @below {{overwrites what other threads may still be reading: a tilegpu.barrier is missing between the read and this write}}
    tilegpu.store_buffer %x, %b[%slot] : tensor<128x64xbf16, #p>, !ring
    tilegpu.fence_async
    // expected-error @below {{commits a slot that nobody has acquired since the last commit: the order of the slots would be lost}}
    tilegpu.slot_commit %b[%slot] : !ring
    tilegpu.owner_only %slot {
      %zero = arith.constant dense<0.0> : tensor<64x64xf32, #d>
      tilegpu.slot_wait %b[%slot] : !ring
      // expected-note @below {{the read}}
      %d = tilegpu.dot_async %b[%slot], %k[%c0], %zero {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>, transposed_a} : !ring, !home, tensor<64x64xf32, #d>
      %e = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<64x64xf32, #d>
      tilegpu.release %b[%slot] : !ring
    }
    %next = arith.xori %slot, %c1 : i32
    scf.yield %next : i32
  }
  return
}

// -----

#p = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 64">
#d = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#s = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0), 4096 -> (64,0) | dim0: 128, dim1: 64">
!ring = !tilegpu.buffer<2 x 128x64xbf16, #s>
!home = !tilegpu.buffer<1 x 128x64xbf16, #s>

func.func @not_committed(%n: i32, %x: tensor<128x64xbf16, #p>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 50000 : i64} {
  tilegpu.init_barriers
  %k = tilegpu.alloc {offset = 0 : i64} : !home
  %b = tilegpu.alloc {offset = 16384 : i64, barriers = 49152 : i64} : !ring
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tilegpu.store_buffer %x, %k[%c0] : tensor<128x64xbf16, #p>, !home
  tilegpu.fence_async
  tilegpu.barrier
  scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
    tilegpu.slot_acquire %b[%slot] : !ring
    tilegpu.store_buffer %x, %b[%slot] : tensor<128x64xbf16, #p>, !ring
    tilegpu.fence_async
    tilegpu.owner_only %slot {
      %zero = arith.constant dense<0.0> : tensor<64x64xf32, #d>
      // expected-error @below {{waits for a slot that no tilegpu.slot_commit has filled: it would never end}}
      tilegpu.slot_wait %b[%slot] : !ring
      %d = tilegpu.dot_async %b[%slot], %k[%c0], %zero {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>, transposed_a} : !ring, !home, tensor<64x64xf32, #d>
      %e = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<64x64xf32, #d>
      tilegpu.release %b[%slot] : !ring
    }
    %next = arith.xori %slot, %c1 : i32
    scf.yield %next : i32
  }
  return
}

// -----

#p = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 64">
#d = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#s = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0), 4096 -> (64,0) | dim0: 128, dim1: 64">
!ring = !tilegpu.buffer<2 x 128x64xbf16, #s>
!home = !tilegpu.buffer<1 x 128x64xbf16, #s>

func.func @not_awaited(%n: i32, %x: tensor<128x64xbf16, #p>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 50000 : i64} {
  tilegpu.init_barriers
  %k = tilegpu.alloc {offset = 0 : i64} : !home
  %b = tilegpu.alloc {offset = 16384 : i64, barriers = 49152 : i64} : !ring
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tilegpu.store_buffer %x, %k[%c0] : tensor<128x64xbf16, #p>, !home
  tilegpu.fence_async
  tilegpu.barrier
  scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
    tilegpu.slot_acquire %b[%slot] : !ring
    // expected-note @below {{the write}}
    tilegpu.store_buffer %x, %b[%slot] : tensor<128x64xbf16, #p>, !ring
    tilegpu.fence_async
    tilegpu.slot_commit %b[%slot] : !ring
    tilegpu.owner_only %slot {
      %zero = arith.constant dense<0.0> : tensor<64x64xf32, #d>
      // expected-error @below {{reads what other threads write: a tilegpu.barrier is missing between the write and this read}}
      %d = tilegpu.dot_async %b[%slot], %k[%c0], %zero {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>, transposed_a} : !ring, !home, tensor<64x64xf32, #d>
      %e = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<64x64xf32, #d>
      // expected-error @below {{releases a slot that holds nothing since its last release}}
      tilegpu.release %b[%slot] : !ring
    }
    %next = arith.xori %slot, %c1 : i32
    scf.yield %next : i32
  }
  return
}

// -----

#p = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 64">
#d = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#s = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0), 4096 -> (64,0) | dim0: 128, dim1: 64">
!ring = !tilegpu.buffer<2 x 128x64xbf16, #s>
!home = !tilegpu.buffer<1 x 128x64xbf16, #s>

func.func @not_released(%n: i32, %x: tensor<128x64xbf16, #p>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 50000 : i64} {
  tilegpu.init_barriers
  %k = tilegpu.alloc {offset = 0 : i64} : !home
  %b = tilegpu.alloc {offset = 16384 : i64, barriers = 49152 : i64} : !ring
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tilegpu.store_buffer %x, %k[%c0] : tensor<128x64xbf16, #p>, !home
  tilegpu.fence_async
  tilegpu.barrier
  scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
    // expected-error @below {{waits for a slot whose last content no owner has released: it would never end}}
    tilegpu.slot_acquire %b[%slot] : !ring
    // expected-error @below {{overwrites what other threads may still be reading: a tilegpu.barrier is missing between the read and this write}}
    tilegpu.store_buffer %x, %b[%slot] : tensor<128x64xbf16, #p>, !ring
    tilegpu.fence_async
    tilegpu.slot_commit %b[%slot] : !ring
    tilegpu.owner_only %slot {
      %zero = arith.constant dense<0.0> : tensor<64x64xf32, #d>
      tilegpu.slot_wait %b[%slot] : !ring
      // expected-note @below {{the read}}
      %d = tilegpu.dot_async %b[%slot], %k[%c0], %zero {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>, transposed_a} : !ring, !home, tensor<64x64xf32, #d>
      %e = tilegpu.dot_wait %d {pending = 0 : i64} : tensor<64x64xf32, #d>
    }
    %next = arith.xori %slot, %c1 : i32
    scf.yield %next : i32
  }
  return
}
