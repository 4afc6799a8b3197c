// SPDX-License-Identifier: Apache-2.0
// Boxes that are copied some trips ahead: each slot is released behind its last reader, waits are for slots, and the last trip neither waits
// for what was not copied nor releases it. Two dots, the second one trip late.
// RUN: fattn-opt %s -tilegpu-assign-layouts=target=nvidia:sm_90a -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies -canonicalize -tilegpu-schedule-loops=stages=2 -canonicalize -cse | FileCheck %s
// RUN: fattn-opt %s -tilegpu-assign-layouts=target=nvidia:sm_90a -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies -canonicalize -tilegpu-schedule-loops=stages=3 -canonicalize -cse | FileCheck %s --check-prefix=THREE
// RUN: fattn-opt %s -tilegpu-assign-layouts=target=nvidia:sm_90a -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies -canonicalize -tilegpu-schedule-loops=stages=1 -canonicalize -cse | FileCheck %s --check-prefix=ONE
// RUN: fattn-opt %s -tilegpu-assign-layouts=target=nvidia:sm_90a -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies -canonicalize -tilegpu-schedule-loops=stages=2 -tilegpu-async-dots -canonicalize -cse -tilegpu-place-waits -tilegpu-allocate-shared -tilegpu-place-fences -tilegpu-place-barriers | FileCheck %s --check-prefix=PLACED

// What is loaded once is never released.
// CHECK-LABEL: func.func @two_products
// CHECK: %[[Q:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 64x64xbf16
// CHECK-NOT: tilegpu.release %[[Q]]
// CHECK: %[[K:.*]] = tilegpu.alloc : !tilegpu.buffer<2 x 32x64xbf16
// CHECK: %[[V:.*]] = tilegpu.alloc : !tilegpu.buffer<2 x 32x64xbf16
// The first trip's early part: it waits for and releases the slot of K, not that of V.
// CHECK: scf.if
// CHECK: %[[K0:.*]] = tilegpu.copy_async %{{.*}}, %[[K]][%c0_i32] if %{{.*}} map 1[]
// CHECK: tilegpu.copy_wait %[[K0]] in %[[K]][%c0_i32]
// CHECK: %[[K1:.*]] = tilegpu.copy_async %{{.*}}, %[[K]][%c1_i32] if %{{.*}} map 1[]
// CHECK: %[[V0:.*]] = tilegpu.copy_async %{{.*}}, %[[V]][%c0_i32] if %{{.*}} map 2[]
// CHECK-NOT: tilegpu.copy_wait
// CHECK: tile.dot
// CHECK-NEXT: tilegpu.release %[[K]][%c0_i32]
// CHECK-NOT: tilegpu.release
// CHECK: %[[LOOP:.*]]:7 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[READK:.*]] = %c1_i32, %[[FILLK:.*]] = %c0_i32, %[[READV:.*]] = %c0_i32, %[[TK:.*]] = %[[K1]], %[[TV:.*]] = %[[V0]], %{{.*}} = %{{.*}})
// CHECK: tilegpu.copy_wait %[[TK]] in %[[K]][%[[READK]]]
// CHECK: tilegpu.copy_async %{{.*}}, %[[K]][%[[FILLK]]] if %{{.*}} map 1[]
// CHECK: tilegpu.copy_async %{{.*}}, %[[V]][%[[READK]]] if %{{.*}} map 2[]
// CHECK: tile.dot
// CHECK-NEXT: tilegpu.release %[[K]][%[[READK]]]
// CHECK: tilegpu.copy_wait %[[TV]] in %[[V]][%[[READV]]]
// CHECK: tile.dot
// CHECK-NEXT: tilegpu.release %[[V]][%[[READV]]]
// CHECK: scf.yield
// The last trip's late part.
// CHECK: tilegpu.schedule =
// CHECK-NEXT: tilegpu.copy_wait %[[LOOP]]#5 in %[[V]][%[[LOOP]]#3]
// CHECK-NOT: tilegpu.copy
// CHECK: tile.dot
// CHECK-NEXT: tilegpu.release %[[V]][%[[LOOP]]#3]
// CHECK-NEXT: scf.yield

// Two copies ahead, three slots each.
// THREE-LABEL: func.func @two_products
// THREE: %[[K:.*]] = tilegpu.alloc : !tilegpu.buffer<3 x 32x64xbf16
// THREE: %[[V:.*]] = tilegpu.alloc : !tilegpu.buffer<3 x 32x64xbf16
// THREE: tilegpu.copy_async %{{.*}}, %[[K]][%c0_i32]
// THREE: tilegpu.copy_async %{{.*}}, %[[K]][%c1_i32]
// THREE: tilegpu.copy_wait %{{.*}} in %[[K]][%c0_i32]
// THREE: tilegpu.copy_async %{{.*}}, %[[K]][%c2_i32]
// THREE: tilegpu.release %[[K]][%c0_i32]
// THREE: scf.for
// THREE: tilegpu.copy_wait
// THREE: tilegpu.release %[[K]]
// THREE: tilegpu.release %[[V]]
// THREE: tilegpu.schedule =
// THREE-NEXT: tilegpu.copy_wait %{{.*}} in %[[V]]
// THREE-NOT: tilegpu.copy
// THREE: tilegpu.release %[[V]]
// THREE-NOT: tilegpu.release

// One slot: the copy waits for the release of the trip before.
// ONE-LABEL: func.func @two_products
// ONE: scf.for
// ONE: %[[T:.*]] = tilegpu.copy_async %{{.*}}, %[[K:.*]][%c0_i32] if %{{.*}} map 1[]
// ONE-NEXT: tilegpu.copy_wait %[[T]] in %[[K]][%c0_i32]
// ONE: tile.dot
// ONE-NEXT: tilegpu.release %[[K]][%c0_i32]

// The barrier objects lie behind the buffers: 8 bytes for Q, then for each slot of K and of V one that copies complete and one on which warps
// release it. The loop has neither barriers nor fences. A release stands behind the wait for the dot that reads the slot; waits for boxes
// stand before their readers.
// PLACED-LABEL: func.func @two_products
// PLACED-SAME: tilegpu.shared_bytes = 24648 : i64
// PLACED: tilegpu.init_barriers
// PLACED-NEXT: tilegpu.barrier
// PLACED: tilegpu.alloc {barriers = 24576 : i64, offset = 0 : i64}
// PLACED: %[[K:.*]] = tilegpu.alloc {barriers = 24584 : i64, offset = 8192 : i64}
// PLACED: %[[V:.*]] = tilegpu.alloc {barriers = 24616 : i64, offset = 16384 : i64}
// PLACED-NOT: tilegpu.fence_async
// PLACED-NOT: tilegpu.barrier
// PLACED: scf.for
// PLACED: tilegpu.copy_wait %{{.*}} in %[[K]][%[[READK:.*]]] :
// PLACED-NEXT: %[[S:.*]] = tilegpu.dot_async
// PLACED-NEXT: tilegpu.copy_wait %{{.*}} in %[[V]][%[[READV:.*]]] :
// PLACED-NEXT: %[[O:.*]] = tilegpu.dot_async
// PLACED-NEXT: tilegpu.dot_wait %[[S]] {pending = 1 : i64}
// PLACED-NEXT: tilegpu.release %[[K]][%[[READK]]]
// PLACED: tilegpu.dot_wait %[[O]] {pending = 0 : i64}
// PLACED-NEXT: tilegpu.release %[[V]][%[[READV]]]
// PLACED: scf.yield
// PLACED-NOT: tilegpu.fence_async
// PLACED-NOT: tilegpu.barrier
// PLACED: } else
func.func @two_products(%q: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %v: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32, %rows: i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %i0 = arith.constant 0 : i32
  %i32 = arith.constant 32 : i32
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %pq = tile.make_block_ptr %q, shape [%rows, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %tq = tile.load %pq {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xbf16> -> tensor<64x64xbf16>
  %pk = tile.make_block_ptr %k, shape [%rows, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %pv = tile.make_block_ptr %v, shape [%rows, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %po = tile.make_block_ptr %o, shape [%rows, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x64xf32>
  %sum = scf.for %i = %i0 to %n step %i32 iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %at = arith.extsi %i : i32 to i64
    %qk = tile.advance %pk, [%at, %c0] : !tile.block_ptr<32x64xbf16>
    %tk = tile.load %qk {boundary_check = array<i64: 0>} : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
    %kt = tile.trans %tk, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
    %s = tile.dot %tq, %kt, %zero : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
    %e = math.exp2 %s : tensor<64x32xf32>
    %p = arith.truncf %e : tensor<64x32xf32> to tensor<64x32xbf16>
    %qv = tile.advance %pv, [%at, %c0] : !tile.block_ptr<32x64xbf16>
    %tv = tile.load %qv {boundary_check = array<i64: 0>} : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
    %r = tile.dot %p, %tv, %acc : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
    scf.yield %r : tensor<64x64xf32>
  }
  tile.store %po, %sum {boundary_check = array<i64: 0>} : !tile.block_ptr<64x64xf32>, tensor<64x64xf32>
  return
}
