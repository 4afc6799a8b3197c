// SPDX-License-Identifier: Apache-2.0
// Copies of boxes by the copy engine, and the barrier objects by which warps learn of their end and hand slots back.
// RUN: fattn-opt %s -split-input-file -nvidia-lower-tensors -canonicalize -cse -verify-diagnostics | FileCheck %s

#tile = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,0), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0), 512 -> (16,0) | dim0: 32, dim1: 32">
!buf = !tilegpu.buffer<1 x 32x32xf16, #tile>

// One slot that nobody releases: one barrier object, that expects one arrival. The map is an argument behind the program's own. One thread
// issues; a window's place along a dimension is an i32, which what lies further out is cut to.
// CHECK-LABEL: func.func @once
// CHECK-SAME: (%{{.*}}: !llvm.ptr<1>, %[[N:.*]]: i64, %[[MAP:.*]]: !llvm.ptr)
// CHECK-DAG: %[[LEAST:.*]] = arith.constant -2147483648 : i64
// CHECK-DAG: %[[MOST:.*]] = arith.constant 2147483647 : i64
// CHECK: %[[PARITY:.*]] = llvm.alloca
// CHECK: llvm.store %c0_i32, %[[PARITY]]
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[WARP]], %c0_i32
// CHECK: scf.if %[[FIRST]]
// CHECK-NEXT: %[[ONE:.*]] = nvvm.elect.sync
// CHECK-NEXT: scf.if %[[ONE]]
// CHECK: %[[BARRIER:.*]] = arith.addi %{{.*}}, %c4096_i32
// CHECK-NEXT: llvm.inline_asm {{.*}}"mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}" %[[BARRIER]], %c1_i32
// CHECK-NEXT: llvm.inline_asm {{.*}}"fence.mbarrier_init.release.cluster;"
// CHECK-NEXT: llvm.inline_asm {{.*}}"prefetch.tensormap [$0];", "l,~{memory}" %[[MAP]]
// CHECK: nvvm.barrier0
// CHECK: %[[HIGH:.*]] = arith.maxsi %[[N]], %[[LEAST]]
// CHECK: %[[BOTH:.*]] = arith.minsi %[[HIGH]], %[[MOST]]
// CHECK: %[[ROW:.*]] = arith.trunci %[[BOTH]]
// CHECK: scf.if %[[FIRST]]
// CHECK: nvvm.elect.sync
// CHECK-NOT: mbarrier.try_wait
// CHECK: "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}" %[[FULL:.*]], %c2048_i32
// CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %c2048_i32
// CHECK: "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$3, $4}], [$2];", "r,l,r,r,r,~{memory}" %[[AT]], %[[MAP]], %[[FULL]], %c0_i32, %[[ROW]]
// CHECK-NOT: cp.async.bulk
// CHECK: %[[BITS:.*]] = llvm.load %[[PARITY]]
// CHECK: %[[BIT:.*]] = arith.andi %[[BITS]], %c1_i32
// CHECK: "{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; @!done bra again; }", "r,r,~{memory}" %{{.*}}, %[[BIT]]
// CHECK: %[[OLD:.*]] = llvm.load %[[PARITY]]
// CHECK: %[[NEW:.*]] = arith.xori %[[OLD]], %c1_i32
// CHECK: llvm.store %[[NEW]], %[[PARITY]]
func.func @once(%p: !tile.ptr<f16>, %n: i64) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 4104 : i64,
    tilegpu.tensor_maps = [{box = array<i64: 32, 32>, element = f16, pointer = 0 : i64, sizes = [array<i64: 32>, array<i64: 1, 1>], strides = [array<i64: 64>], swizzle = 64 : i64}]} {
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  tilegpu.init_barriers
  tilegpu.barrier
  %w = tile.make_block_ptr %p, shape [%n, %c32], strides [%c32, %c1], offsets [%n, %c0] : !tile.ptr<f16> -> !tile.block_ptr<32x32xf16>
  %b = tilegpu.alloc {offset = 2048 : i64, barriers = 4096 : i64} : !buf
  %t = tilegpu.copy_async %w, %b[%zero] map 0[] {boundary_check = array<i64: 0>} : !tile.block_ptr<32x32xf16>, !buf
  tilegpu.copy_wait %t in %b[%zero] : !buf
  return
}

// -----

#tile = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,8), 128 -> (8,0), 256 -> (0,16) | dim0: 16, dim1: 32">
!buf = !tilegpu.buffer<2 x 16x32xf16, #tile>

// Two slots that 8 warps release: two barrier objects that copies complete, then two that expect an arrival of each warp. The copy waits
// for its slot, on the other parity, as the phase before the first counts as over. Rows of 64 bytes are two columns of boxes. Where an
// argument of a stride is 0, the window stays at index 0, as the launch's map has another stride there. The parity turns only where the
// copy is wanted.
// CHECK-LABEL: func.func @slots
// CHECK-SAME: %[[BATCH:[a-z0-9]+]]: i64, %[[HEAD:[a-z0-9]+]]: i32, %[[I:[a-z0-9]+]]: i32, %[[J:[a-z0-9]+]]: i32, %[[SLOT:[a-z0-9]+]]: i32, %[[WANTED:[a-z0-9]+]]: i1, %[[AT:[a-z0-9]+]]: i32, %[[MAP:[a-z0-9]+]]: !llvm.ptr)
// CHECK: %[[FIRST:.*]] = arith.cmpi eq
// CHECK: "mbarrier.init{{.*}} %{{.*}}, %c1_i32
// CHECK: "mbarrier.init{{.*}} %{{.*}}, %c1_i32
// CHECK: arith.addi %{{.*}}, %c4112_i32
// CHECK-NEXT: llvm.inline_asm {{.*}}"mbarrier.init{{.*}} %{{.*}}, %c8_i32
// CHECK: arith.addi %{{.*}}, %c4120_i32
// CHECK-NEXT: llvm.inline_asm {{.*}}"mbarrier.init{{.*}} %{{.*}}, %c8_i32
// CHECK: nvvm.barrier0
// CHECK: %[[NONE:.*]] = arith.cmpi eq, %[[BATCH]], %c0_i64
// CHECK: %[[X:.*]] = arith.select %[[NONE]], %c0_i32, %[[I]]
// CHECK: %[[Y0:.*]] = arith.select %[[NONE]], %c0_i32, %[[J]]
// CHECK: %[[NOHEAD:.*]] = arith.cmpi eq, %[[HEAD]], %c0_i32
// CHECK: %[[Y:.*]] = arith.select %[[NOHEAD]], %c0_i32, %[[Y0]]
// CHECK: %[[BEGINS:.*]] = arith.andi %[[FIRST]], %[[WANTED]]
// CHECK: scf.if %[[BEGINS]]
// CHECK: nvvm.elect.sync
// CHECK: %[[BITS:.*]] = llvm.load %[[EMPTY:.*]] :
// CHECK: %[[SHIFTED:.*]] = arith.shrui %[[BITS]], %[[SLOT]]
// CHECK: %[[BIT:.*]] = arith.andi %[[SHIFTED]], %c1_i32
// CHECK: %[[BEFORE:.*]] = arith.xori %[[BIT]], %c1_i32
// CHECK: mbarrier.try_wait{{.*}} %{{.*}}, %[[BEFORE]]
// CHECK: mbarrier.arrive.expect_tx{{.*}} %[[FULL:.*]], %c1024_i32
// CHECK: "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$3, $4, $5, $6}], [$2];", "r,l,r,r,r,r,r,~{memory}" %[[TO:.*]], %[[MAP]], %[[FULL]], %c0_i32, %[[AT]], %[[X]], %[[Y]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[TO]], %c512_i32
// CHECK: cp.async.bulk.tensor.4d{{.*}} %[[NEXT]], %[[MAP]], %[[FULL]], %c16_i32, %[[AT]], %[[X]], %[[Y]]
// CHECK: %[[TURN:.*]] = arith.extui %[[WANTED]]
// CHECK: arith.shli %[[TURN]], %[[SLOT]]
// CHECK: llvm.store %{{.*}}, %[[EMPTY]]
// CHECK: mbarrier.try_wait
// CHECK: "{ .reg .pred one; elect.sync _|one, 0xffffffff; @one mbarrier.arrive.shared::cta.b64 _, [$0]; }", "r,~{memory}"
func.func @slots(%p: !tile.ptr<f16>, %batch: i64, %head: i32, %i: i32, %j: i32, %slot: i32, %wanted: i1, %at: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 8192 : i64,
    tilegpu.tensor_maps = [{box = array<i64: 16, 16>, element = f16, pointer = 0 : i64, sizes = [array<i64: 64>, array<i64: 64>, array<i64: 9>, array<i64: 9>], strides = [array<i64: 64>, array<i64: 2, 1>, array<i64: 2, 1, 2>], swizzle = 32 : i64}]} {
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %b = tilegpu.alloc {offset = 0 : i64, barriers = 4096 : i64} : !buf
  tilegpu.init_barriers
  tilegpu.barrier
  %row = arith.extsi %at : i32 to i64
  %w = tile.make_block_ptr %p, shape [%c32, %c32], strides [%c32, %c1], offsets [%row, %c0] : !tile.ptr<f16> -> !tile.block_ptr<16x32xf16>
  %t = tilegpu.copy_async %w, %b[%slot] if %wanted map 0[%i, %j] : !tile.block_ptr<16x32xf16>, !buf
  tilegpu.copy_wait %t in %b[%slot] : !buf
  tilegpu.release %b[%slot] : !buf
  return
}

// -----

#tile = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,0), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0), 512 -> (16,0) | dim0: 32, dim1: 32">
!buf = !tilegpu.buffer<1 x 32x32xf16, #tile>

// Where threads read the slot, the warp comes together before one lane speaks for all.
// CHECK-LABEL: func.func @read_by_threads
// CHECK: nvvm.bar.warp.sync %c-1_i32
// CHECK: mbarrier.arrive.shared::cta.b64
func.func @read_by_threads() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 2064 : i64} {
  %zero = arith.constant 0 : i32
  %b = tilegpu.alloc {offset = 0 : i64, barriers = 2048 : i64} : !buf
  %x = tilegpu.load_buffer %b[%zero] : !buf -> tensor<32x32xf16, #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (8,0), 2 -> (16,0) | dim0: 32, dim1: 32">>
  tilegpu.release %b[%zero] : !buf
  return
}

// -----

#tile = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,0), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0), 512 -> (16,0) | dim0: 32, dim1: 32">
!buf = !tilegpu.buffer<1 x 32x32xf16, #tile>

func.func @buffer_without_barriers(%p: !tile.ptr<f16>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 2048 : i64,
    tilegpu.tensor_maps = [{box = array<i64: 32, 32>, element = f16, pointer = 0 : i64, sizes = [array<i64: 32>, array<i64: 32>], strides = [array<i64: 64>], swizzle = 64 : i64}]} {
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %w = tile.make_block_ptr %p, shape [%c32, %c32], strides [%c32, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<32x32xf16>
  %b = tilegpu.alloc {offset = 0 : i64} : !buf
  // expected-error @+1 {{needs a buffer with a place and with barriers, which -tilegpu-allocate-shared gives it}}
  %t = tilegpu.copy_async %w, %b[%zero] map 0[] : !tile.block_ptr<32x32xf16>, !buf
  return
}
