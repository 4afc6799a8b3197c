// SPDX-License-Identifier: Apache-2.0
// Dots whose operands a matrix unit reads from shared memory: which are chosen, how they begin, where they are waited for, and who shows
// the unit what threads have written.
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=4' -tilegpu-remove-conversions -canonicalize -cse | FileCheck %s --check-prefix=LAYOUT
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90 warps=4' -tilegpu-remove-conversions -canonicalize -cse | FileCheck %s --check-prefix=OLDER
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=4' -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies -tilegpu-async-dots -canonicalize | FileCheck %s --check-prefix=BEGIN
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=4' -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies -tilegpu-async-dots -canonicalize -tilegpu-place-waits -tilegpu-allocate-shared -tilegpu-place-fences -tilegpu-place-barriers | FileCheck %s --check-prefix=WAIT

// Both operands of the first dot come from memory, one of them transposed. The second one's left side is computed.
// LAYOUT-LABEL: func.func @two_dots
// LAYOUT: tile.dot {{.*}} {tilegpu.instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>}
// LAYOUT: tile.dot {{.*}} {tilegpu.instruction = #tilegpu.instruction<"wgmma" depth 16 shared b>}
// OLDER-LABEL: func.func @two_dots
// OLDER: tile.dot {{.*}} {tilegpu.instruction = #tilegpu.instruction<"mma.sync" depth 16>}
// BEGIN-LABEL: func.func @two_dots
// BEGIN: %[[Q:.*]] = tilegpu.alloc
// BEGIN: %[[K:.*]] = tilegpu.alloc
// BEGIN: %[[S:.*]] = tilegpu.dot_async %[[Q]][%{{.*}}], %[[K]][%{{.*}}], %{{.*}} {instruction = {{.*}}, transposed_b}
// BEGIN-NEXT: %[[DONE:.*]] = tilegpu.dot_wait %[[S]]
// BEGIN: %[[P:.*]] = arith.truncf
// BEGIN: %[[V:.*]] = tilegpu.alloc
// BEGIN: %[[O:.*]] = tilegpu.dot_async %[[P]], %[[V]][%{{.*}}], %{{.*}} {instruction
// BEGIN-NOT: transposed_b
// BEGIN: tilegpu.dot_wait %[[O]]
// BEGIN-NOT: load_buffer
// Boxes come by the unit's own path to every thread that has waited: neither fence nor barrier. The copy into bytes that a dot has read
// takes a barrier, behind which all warps have seen the dot's end.
// WAIT-LABEL: func.func @two_dots
// WAIT: tilegpu.copy_async {{.*}} map 0[]
// WAIT: tilegpu.copy_async {{.*}} map 1[]
// WAIT-NOT: tilegpu.fence_async
// WAIT-NOT: tilegpu.barrier
// WAIT: tilegpu.copy_wait
// WAIT-NEXT: tilegpu.copy_wait
// WAIT-NEXT: %[[S:.*]] = tilegpu.dot_async
// WAIT: tilegpu.dot_wait %[[S]] {pending = 0 : i64}
// WAIT-NEXT: math.exp2
// WAIT: tilegpu.barrier
// WAIT-NEXT: %[[V:.*]] = tilegpu.copy_async
// WAIT-NEXT: tilegpu.copy_wait %[[V]] in
// WAIT-NEXT: %[[O:.*]] = tilegpu.dot_async
// WAIT: tilegpu.dot_wait %[[O]] {pending = 0 : i64}
// WAIT-NOT: tilegpu.fence_async
// WAIT: tile.store
func.func @two_dots(%q: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %v: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %pq = tile.make_block_ptr %q, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %pk = tile.make_block_ptr %k, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %pv = tile.make_block_ptr %v, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %po = tile.make_block_ptr %o, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %tq = tile.load %pq : !tile.block_ptr<64x64xbf16> -> tensor<64x64xbf16>
  %tk = tile.load %pk : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %kt = tile.trans %tk, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %s = tile.dot %tq, %kt, %zero : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  %e = math.exp2 %s : tensor<64x32xf32>
  %p = arith.truncf %e : tensor<64x32xf32> to tensor<64x32xbf16>
  %tv = tile.load %pv : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %r = tile.dot %p, %tv, %none : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
  tile.store %po, %r : !tile.block_ptr<64x64xf32>, tensor<64x64xf32>
  return
}

// Pointers that are multiples of 8 bytes only: threads copy vectors, which the unit sees behind a fence and a barrier.
// WAIT-LABEL: func.func @two_dots_of_vectors
// WAIT-NOT: map
// WAIT: tilegpu.copy_wait
// WAIT-NEXT: tilegpu.fence_async
// WAIT-NEXT: tilegpu.barrier
// WAIT: %[[S:.*]] = tilegpu.dot_async
// WAIT: tilegpu.dot_wait %[[S]] {pending = 0 : i64}
// WAIT-NEXT: math.exp2
// WAIT: %[[O:.*]] = tilegpu.dot_async
// WAIT: tilegpu.dot_wait %[[O]] {pending = 0 : i64}
// WAIT-NEXT: tile.store
func.func @two_dots_of_vectors(%q: !tile.ptr<bf16> {tile.divisibility = 8 : i64}, %k: !tile.ptr<bf16> {tile.divisibility = 8 : i64}, %v: !tile.ptr<bf16> {tile.divisibility = 8 : i64}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %pq = tile.make_block_ptr %q, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %pk = tile.make_block_ptr %k, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %pv = tile.make_block_ptr %v, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %po = tile.make_block_ptr %o, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %tq = tile.load %pq : !tile.block_ptr<64x64xbf16> -> tensor<64x64xbf16>
  %tk = tile.load %pk : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %kt = tile.trans %tk, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %s = tile.dot %tq, %kt, %zero : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  %e = math.exp2 %s : tensor<64x32xf32>
  %p = arith.truncf %e : tensor<64x32xf32> to tensor<64x32xbf16>
  %tv = tile.load %pv : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %r = tile.dot %p, %tv, %none : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
  tile.store %po, %r : !tile.block_ptr<64x64xf32>, tensor<64x64xf32>
  return
}

// What the unit cannot read, a right side that was computed, is left to instructions of registers.
// BEGIN-LABEL: func.func @computed_right_side
// BEGIN: tile.dot
// LAYOUT-LABEL: func.func @computed_right_side
// LAYOUT: tile.dot {{.*}} {tilegpu.instruction = #tilegpu.instruction<"mma.sync" depth 16>}
func.func @computed_right_side(%q: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %pq = tile.make_block_ptr %q, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %po = tile.make_block_ptr %o, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %tq = tile.load %pq : !tile.block_ptr<64x64xbf16> -> tensor<64x64xbf16>
  %right = arith.addf %tq, %tq : tensor<64x64xbf16>
  %r = tile.dot %tq, %right, %none : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  tile.store %po, %r : !tile.block_ptr<64x64xf32>, tensor<64x64xf32>
  return
}
