// SPDX-License-Identifier: Apache-2.0
// Copies of boxes go to warps of their own, with what they follow from; what computes keeps its waits.
// RUN: fattn-opt %s -split-input-file -tilegpu-split-roles | FileCheck %s

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">

// Two slots: the number of the slot is carried in both loops, the sum in one.
// CHECK-LABEL: func.func @ring
// CHECK-SAME: tilegpu.copier_warps = 4
// CHECK: tilegpu.init_barriers
// CHECK-NEXT: tilegpu.barrier
// CHECK: %[[APART:.*]] = tilegpu.is_copier
// CHECK-NEXT: scf.if %[[APART]] {
// CHECK-NEXT: tilegpu.set_registers 24
// CHECK-NEXT: %[[ONE:.*]] = tilegpu.is_copier one_thread
// CHECK-NEXT: scf.if %[[ONE]] {
// CHECK: scf.for {{.*}} iter_args(%[[SLOT:.*]] = %{{.*}}) -> (i32)
// CHECK: tilegpu.copy_async %{{.*}}, %[[B:.*]][%[[SLOT]]] map 0[] {{.*}}tilegpu.made = "alone"
// CHECK-NOT: copy_wait
// CHECK: } else {
// CHECK-NEXT: tilegpu.set_registers 240 more
// CHECK: scf.for {{.*}} iter_args(%[[SLOT2:[^ ]*]] = %{{[^,]*}}, %[[SUM:.*]] = %{{.*}}) -> (i32, f32)
// CHECK: tilegpu.copy_async {{.*}}tilegpu.made = "elsewhere"
// CHECK: tilegpu.copy_wait {{.*}} in %[[B]][%[[SLOT2]]]
// CHECK: tilegpu.release %[[B]][%[[SLOT2]]]
// CHECK: arith.addf %[[SUM]]
func.func @ring(%k: !tile.ptr<bf16>, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 2080 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  tilegpu.init_barriers
  tilegpu.barrier
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %f = arith.constant 0.0 : f32
  %b = tilegpu.alloc {barriers = 2048 : i64, offset = 0 : i64} : !tilegpu.buffer<2 x 8x64xbf16, #shared>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0, %sum = %f) -> (i32, f32) : i32 {
    %row = arith.extsi %i : i32 to i64
    %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
    %t = tilegpu.copy_async %p, %b[%slot] map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<2 x 8x64xbf16, #shared>
    tilegpu.copy_wait %t in %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
    tilegpu.release %b[%slot] : !tilegpu.buffer<2 x 8x64xbf16, #shared>
    %next = arith.xori %slot, %c1 : i32
    %more = arith.addf %sum, %sum : f32
    scf.yield %next, %more : i32, f32
  }
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">

// A slot that no warp releases is free behind a barrier only, which the copying warp would not reach.
// CHECK-LABEL: func.func @not_released
// CHECK-NOT: is_copier
func.func @not_released(%k: !tile.ptr<bf16>, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.shared_bytes = 2080 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  tilegpu.init_barriers
  tilegpu.barrier
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %b = tilegpu.alloc {barriers = 1024 : i64, offset = 0 : i64} : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %row = arith.extsi %i : i32 to i64
    %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
    tilegpu.barrier
    %t = tilegpu.copy_async %p, %b[%c0] map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<1 x 8x64xbf16, #shared>
    tilegpu.copy_wait %t in %b[%c0] : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  }
  return
}

// -----

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32) | dim0: 8, dim1: 64">

// One group computes: four warps for its copies would cost it half of the registers.
// CHECK-LABEL: func.func @one_group
// CHECK-NOT: is_copier
func.func @one_group(%k: !tile.ptr<bf16>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 2080 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  tilegpu.init_barriers
  tilegpu.barrier
  %c0 = arith.constant 0 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %b = tilegpu.alloc {barriers = 1024 : i64, offset = 0 : i64} : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%z, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x64xbf16>
  %t = tilegpu.copy_async %p, %b[%c0] map 0[] : !tile.block_ptr<8x64xbf16>, !tilegpu.buffer<1 x 8x64xbf16, #shared>
  tilegpu.copy_wait %t in %b[%c0] : !tilegpu.buffer<1 x 8x64xbf16, #shared>
  return
}
