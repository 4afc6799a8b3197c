// SPDX-License-Identifier: Apache-2.0
// A dot that is in flight from one trip to the next: what it reads has a slot more, or is copied one trip less ahead, and is released where
// the next trip has waited for a younger dot.
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=8' -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies -canonicalize -tilegpu-schedule-loops='forced="A a B_"' -tilegpu-async-dots -canonicalize -cse -canonicalize -tilegpu-place-waits | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=8' -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies='ahead=2' -canonicalize -tilegpu-schedule-loops='stages=3 forced="A a B_"' -tilegpu-async-dots -canonicalize -cse -canonicalize -tilegpu-place-waits | FileCheck %s --check-prefixes=CHECK,THREE
// RUN: not fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=8' -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies='boxes=false' -canonicalize -tilegpu-schedule-loops='forced="A a B_"' 2>&1 | FileCheck %s --check-prefix=THREADS

// TWO: %[[Q:.*]] = tilegpu.alloc : !tilegpu.buffer<2 x 64x128xbf16
// TWO: %[[V:.*]] = tilegpu.alloc : !tilegpu.buffer<3 x 64x128xbf16
// THREE: %[[Q:.*]] = tilegpu.alloc : !tilegpu.buffer<3 x 64x128xbf16
// THREE: %[[V:.*]] = tilegpu.alloc : !tilegpu.buffer<3 x 64x128xbf16
// The first trip's dot is complete when the loop begins.
// CHECK: %[[D0:.*]] = tilegpu.dot_async %{{.*}}, %[[V]][%{{.*}}], {{.*}}tilegpu.runs_on
// CHECK: %[[E0:.*]] = tilegpu.dot_wait %[[D0]] {pending = 0
// CHECK: %[[LOOP:.*]]:{{.*}} = scf.for {{.*}} iter_args(%[[X:[a-z0-9]+]] = %[[E0]]
// CHECK-NOT: tilegpu.release %[[V]]
// CHECK: %[[S:.*]] = tilegpu.dot_async {{.*}}%[[Q]]
// CHECK: tilegpu.dot_wait %[[S]] {pending = 0
// CHECK-NEXT: %[[E:.*]] = tilegpu.dot_wait %[[X]] {covered}
// CHECK-NEXT: tilegpu.release %[[V]][%[[LAST:[a-z0-9]+]]]
// CHECK-NOT: %[[V]][%[[LAST]]]
// CHECK: %[[D:.*]] = tilegpu.dot_async %{{.*}}, %[[V]][%{{.*}}], %[[E]] {{.*}}tilegpu.runs_on
// CHECK-NOT: tilegpu.dot_wait
// CHECK: scf.yield %[[D]],
// CHECK: tilegpu.dot_wait %[[LOOP]]#0 {pending = 0
// CHECK-NEXT: tilegpu.release %[[V]][%[[LOOP]]#{{.*}}]

// THREADS: schedule A a B_: B cannot run on, as threads fill what it reads of shared memory; leave `_` out
func.func @sums(%q: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %k: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %v: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.noalias}, %n: i32) attributes {tile.kernel} {
  %i0 = arith.constant 0 : i32
  %i64 = arith.constant 64 : i32
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c128 = arith.constant 128 : i64
  %rows = arith.extsi %n : i32 to i64
  %pk = tile.make_block_ptr %k, shape [%c128, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<128x128xbf16>
  %pq = tile.make_block_ptr %q, shape [%rows, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x128xbf16>
  %pv = tile.make_block_ptr %v, shape [%rows, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x128xbf16>
  %po = tile.make_block_ptr %o, shape [%c128, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<128x128xf32>
  %none = arith.constant dense<0.0> : tensor<128x64xf32>
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %tk = tile.load %pk : !tile.block_ptr<128x128xbf16> -> tensor<128x128xbf16>
  %sum = scf.for %i = %i0 to %n step %i64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) : i32 {
    %row = arith.extsi %i : i32 to i64
    %pi = tile.advance %pq, [%row, %c0] : !tile.block_ptr<64x128xbf16>
    %tq = tile.load %pi {boundary_check = array<i64: 0>} : !tile.block_ptr<64x128xbf16> -> tensor<64x128xbf16>
    %vi = tile.advance %pv, [%row, %c0] : !tile.block_ptr<64x128xbf16>
    %tv = tile.load %vi {boundary_check = array<i64: 0>} : !tile.block_ptr<64x128xbf16> -> tensor<64x128xbf16>
    %qt = tile.trans %tq, [1, 0] : tensor<64x128xbf16> -> tensor<128x64xbf16>
    %s = tile.dot %tk, %qt, %none : tensor<128x128xbf16>, tensor<128x64xbf16> -> tensor<128x64xf32>
    %e = math.exp2 %s : tensor<128x64xf32>
    %p = arith.truncf %e : tensor<128x64xf32> to tensor<128x64xbf16>
    %d = tile.dot %p, %tv, %acc : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
    scf.yield %d : tensor<128x128xf32>
  }
  tile.store %po, %sum : !tile.block_ptr<128x128xf32>, tensor<128x128xf32>
  return
}
