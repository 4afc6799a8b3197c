// SPDX-License-Identifier: Apache-2.0
// With a watchdog a wait on a barrier object ends after some time, and the kernel says which.
// RUN: fattn-opt %s -nvidia-lower-tensors=watchdog=250 -canonicalize -cse | FileCheck %s

#tile = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (1,0), 64 -> (2,8), 128 -> (4,16), 256 -> (8,0), 512 -> (16,0) | dim0: 32, dim1: 32">
!buf = !tilegpu.buffer<2 x 32x32xf16, #tile>

// The texts name slot, buffer and phase; which one holds is known when it fails. The clock is compared with 250 ms.
// CHECK-DAG: llvm.mlir.global internal constant @[[FIRST:fattn_text_[0-9]+]]("slot 0 of buffer 0 (2 slots of 32x32), phase of parity 0, is filled within 250 ms\00")
// CHECK-DAG: "slot 1 of buffer 0 (2 slots of 32x32), phase of parity 1, is filled within 250 ms\00"
// CHECK-DAG: "a warp that computes\00"
// CHECK-DAG: "waits\00"
// CHECK-DAG: llvm.func @__assertfail(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64)
// CHECK-LABEL: func.func @waits
// CHECK: %[[LATE:.*]] = llvm.inline_asm has_side_effects {{.*}}mbarrier.try_wait.parity{{.*}}%globaltimer{{.*}}now, 250000000;
// CHECK: %[[FAILED:.*]] = arith.cmpi ne, %[[LATE]], %c0_i32
// CHECK: scf.if %[[FAILED]]
// CHECK: llvm.call @__assertfail
func.func @waits(%p: !tile.ptr<f16>, %n: i64, %slot: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 8208 : i64,
    tilegpu.tensor_maps = [{box = array<i64: 32, 32>, element = f16, pointer = 0 : i64, sizes = [array<i64: 32>, array<i64: 1, 1>], strides = [array<i64: 64>], swizzle = 64 : i64}]} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  tilegpu.init_barriers
  tilegpu.barrier
  %w = tile.make_block_ptr %p, shape [%n, %c32], strides [%c32, %c1], offsets [%n, %c0] : !tile.ptr<f16> -> !tile.block_ptr<32x32xf16>
  %b = tilegpu.alloc {offset = 2048 : i64, barriers = 8192 : i64} : !buf
  %t = tilegpu.copy_async %w, %b[%slot] map 0[] {boundary_check = array<i64: 0>} : !tile.block_ptr<32x32xf16>, !buf
  tilegpu.copy_wait %t in %b[%slot] : !buf
  return
}
