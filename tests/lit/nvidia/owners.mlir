// SPDX-License-Identifier: Apache-2.0
// Slots that warps fill for an owner: all eight warps arrive on `full`, the owner's four on `empty`. Who is not the owner counts its waits.
// RUN: fattn-opt %s -nvidia-lower-tensors | FileCheck %s

#p = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 64">
#d = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#s = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0), 4096 -> (64,0) | dim0: 128, dim1: 64">
!ring = !tilegpu.buffer<2 x 128x64xbf16, #s>
!home = !tilegpu.buffer<1 x 128x64xbf16, #s>

// CHECK-LABEL: func.func @owned
// CHECK: mbarrier.init.shared::cta.b64 {{.*}} %c8_i32
// CHECK: mbarrier.init.shared::cta.b64 {{.*}} %c8_i32
// CHECK: mbarrier.init.shared::cta.b64 {{.*}} %c4_i32
// CHECK: mbarrier.init.shared::cta.b64 {{.*}} %c4_i32
// CHECK: scf.for
// CHECK: mbarrier.try_wait.parity
// CHECK: stmatrix
// CHECK: fence.proxy.async
// CHECK: mbarrier.arrive
// CHECK: %[[GROUP:.*]] = arith.divui
// CHECK: %[[TURN:.*]] = arith.remui
// CHECK: %[[MINE:.*]] = arith.cmpi eq, %[[GROUP]], %[[TURN]]
// CHECK: scf.if %[[MINE]] {
// CHECK: mbarrier.try_wait.parity
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: mbarrier.arrive
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: llvm.load
// CHECK: arith.xori
// CHECK-NEXT: llvm.store
// CHECK: scf.yield
func.func @owned(%n: i32, %a: !tile.ptr<bf16>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 50000 : i64} {
  tilegpu.init_barriers
  %k = tilegpu.alloc {offset = 0 : i64} : !home
  %b = tilegpu.alloc {offset = 16384 : i64, barriers = 49152 : i64} : !ring
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = arith.constant dense<1.0> : tensor<128x64xbf16, #p>
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
