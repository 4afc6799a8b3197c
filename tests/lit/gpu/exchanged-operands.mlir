// SPDX-License-Identifier: Apache-2.0
// Groups of warps that share the columns of a product, and computed operands that a matrix unit reads from shared memory.
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=8' -tilegpu-remove-conversions -canonicalize -cse | FileCheck %s --check-prefix=LAYOUT
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=8' -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies -tilegpu-async-dots -canonicalize | FileCheck %s
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=8' -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies -tilegpu-async-dots -canonicalize -tilegpu-place-waits -tilegpu-allocate-shared -tilegpu-place-fences -tilegpu-place-barriers | FileCheck %s --check-prefix=WAIT

// The first product has 128 rows, one below the other for two groups. The second has 64, so that the groups have 64 columns each; its first
// operand is the transpose of what the first one gives: each group needs the rows of both, and reads them where they are stored.
// LAYOUT-DAG: #[[BELOW:.*]] = #tilegpu.regs<"{{.*}}warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 64">
// LAYOUT-DAG: #[[BESIDE:.*]] = #tilegpu.regs<"{{.*}}warp: 1 -> (16,0), 2 -> (32,0), 4 -> (0,64) | dim0: 64, dim1: 128">
// LAYOUT-LABEL: func.func @transposed
// LAYOUT: tile.dot {{.*}} shared a b>} : {{.*}} -> tensor<128x64xf32, #[[BELOW]]>
// LAYOUT: tile.dot {{.*}} shared b>} : {{.*}} -> tensor<64x128xf32, #[[BESIDE]]>
// CHECK-LABEL: func.func @transposed
// CHECK: %[[P:.*]] = arith.truncf
// CHECK: %[[B:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 128x64xbf16
// CHECK-NEXT: tilegpu.store_buffer %[[P]], %[[B]]
// CHECK: tilegpu.dot_async %[[B]][%{{.*}}], %{{.*}}[%{{.*}}], %{{.*}} {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>, transposed_a}
// CHECK-NOT: load_buffer
// CHECK: return
// WAIT-LABEL: func.func @transposed
// WAIT: tilegpu.store_buffer
// WAIT-NEXT: tilegpu.fence_async
// WAIT: tilegpu.barrier
// WAIT-NEXT: tilegpu.dot_async
func.func @transposed(%q: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %pk = tile.make_block_ptr %k, shape [%c128, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<128x128xbf16>
  %pq = tile.make_block_ptr %q, shape [%c64, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x128xbf16>
  %po = tile.make_block_ptr %o, shape [%c64, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x128xf32>
  %none = arith.constant dense<0.0> : tensor<128x64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %tk = tile.load %pk : !tile.block_ptr<128x128xbf16> -> tensor<128x128xbf16>
  %tq = tile.load %pq : !tile.block_ptr<64x128xbf16> -> tensor<64x128xbf16>
  %qt = tile.trans %tq, [1, 0] : tensor<64x128xbf16> -> tensor<128x64xbf16>
  %s = tile.dot %tk, %qt, %none : tensor<128x128xbf16>, tensor<128x64xbf16> -> tensor<128x64xf32>
  %e = math.exp2 %s : tensor<128x64xf32>
  %p = arith.truncf %e : tensor<128x64xf32> to tensor<128x64xbf16>
  %pt = tile.trans %p, [1, 0] : tensor<128x64xbf16> -> tensor<64x128xbf16>
  %d = tile.dot %pt, %tk, %zero : tensor<64x128xbf16>, tensor<128x128xbf16> -> tensor<64x128xf32>
  tile.accumulate %po, %d : !tile.block_ptr<64x128xf32>, tensor<64x128xf32>
  return
}

// 64 rows and two groups: every product is shared by columns. What both further products need is stored once.
// CHECK-LABEL: func.func @stored_once
// CHECK: %[[P:.*]] = arith.truncf
// CHECK: %[[B:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 64x64xbf16
// CHECK-NEXT: tilegpu.store_buffer %[[P]], %[[B]]
// CHECK-NOT: store_buffer
// CHECK-DAG: tilegpu.dot_async %[[B]][%{{.*}}], %{{.*}}[%{{.*}}], %{{.*}} {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>} : {{.*}}64x256
// CHECK-DAG: tilegpu.dot_async %[[B]][%{{.*}}], %{{.*}}[%{{.*}}], %{{.*}} {instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>, transposed_a}
// CHECK: return
func.func @stored_once(%q: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c256 = arith.constant 256 : i64
  %pk = tile.make_block_ptr %k, shape [%c64, %c256], strides [%c256, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x256xbf16>
  %pq = tile.make_block_ptr %q, shape [%c64, %c256], strides [%c256, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x256xbf16>
  %po = tile.make_block_ptr %o, shape [%c64, %c256], strides [%c256, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x256xf32>
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x256xf32>
  %tk = tile.load %pk : !tile.block_ptr<64x256xbf16> -> tensor<64x256xbf16>
  %tq = tile.load %pq : !tile.block_ptr<64x256xbf16> -> tensor<64x256xbf16>
  %qt = tile.trans %tq, [1, 0] : tensor<64x256xbf16> -> tensor<256x64xbf16>
  %s = tile.dot %tk, %qt, %none : tensor<64x256xbf16>, tensor<256x64xbf16> -> tensor<64x64xf32>
  %e = math.exp2 %s : tensor<64x64xf32>
  %p = arith.truncf %e : tensor<64x64xf32> to tensor<64x64xbf16>
  %x = tile.dot %p, %tq, %zero : tensor<64x64xbf16>, tensor<64x256xbf16> -> tensor<64x256xf32>
  tile.store %po, %x : !tile.block_ptr<64x256xf32>, tensor<64x256xf32>
  %pt = tile.trans %p, [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %pt, %tk, %zero : tensor<64x64xbf16>, tensor<64x256xbf16> -> tensor<64x256xf32>
  tile.accumulate %po, %d : !tile.block_ptr<64x256xf32>, tensor<64x256xf32>
  return
}
