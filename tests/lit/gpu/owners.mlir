// SPDX-License-Identifier: Apache-2.0
// A product of what warps exchange, of which one warp group has all in a trip, and another one all in the next.
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=8 owners' -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies -canonicalize -tilegpu-exchange-operands | FileCheck %s --check-prefix=EXCHANGE
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=8 owners' -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies -canonicalize -tilegpu-exchange-operands -tilegpu-schedule-loops='forced="A a b B1 c1"' -tilegpu-async-dots -canonicalize -cse -canonicalize -tilegpu-assign-owners -tilegpu-store-boxes -tilegpu-place-waits -tilegpu-allocate-shared -tilegpu-place-fences -tilegpu-place-barriers -tilegpu-split-roles | FileCheck %s
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=8' -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies -canonicalize -tilegpu-exchange-operands | FileCheck %s --check-prefix=NONE

// The buffer has a slot for each of the two groups, and the product all columns in each of them.
// EXCHANGE: #[[ALL:.*]] = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32), 32 -> (0,64); {{.*}}warp: 1 -> (16,0), 2 -> (32,0), 4 -> (0,0)
// EXCHANGE: %[[B:.*]] = tilegpu.alloc {tilegpu.exchange} : !tilegpu.buffer<2 x 128x64xbf16
// EXCHANGE: scf.for
// EXCHANGE: %[[P:.*]] = arith.truncf
// EXCHANGE: tilegpu.store_buffer %[[P]], %[[B]][%{{.*}}]
// EXCHANGE-NOT: convert_layout
// EXCHANGE: %[[READ:.*]] = tilegpu.load_buffer %[[B]]
// EXCHANGE: %[[T:.*]] = tile.trans %[[READ]]
// EXCHANGE: tile.dot %[[T]], {{.*}} {tilegpu.instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>, tilegpu.owned} : {{.*}} -> tensor<64x128xf32, #[[ALL]]>
// EXCHANGE: tile.accumulate

// NONE-NOT: tilegpu.owned
// NONE-NOT: tilegpu.exchange

// A trip's owner computes in the next trip. A thread that does nothing else sends what it lays, in order, from one buffer.
// CHECK: #[[OWN:.*]] = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32), 32 -> (0,64); {{.*}}warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 128">
// CHECK: %[[SUMS:.*]] = tilegpu.alloc {barriers = {{.*}}} : !tilegpu.buffer<1 x 64x128xf32
// CHECK: %[[B:.*]] = tilegpu.alloc {barriers = {{.*}}tilegpu.exchange} : !tilegpu.buffer<2 x 128x64xbf16
// CHECK: tilegpu.is_copier thread 1
// CHECK: scf.for
// CHECK-NOT: owner_only
// CHECK: tilegpu.send_boxes %{{.*}} in %[[SUMS]]
// CHECK: tilegpu.send_boxes %{{.*}} in %[[SUMS]]
// CHECK: } else {
// CHECK: scf.for
// CHECK: tilegpu.slot_acquire %[[B]][%[[SLOT:[a-z0-9]+]]]
// CHECK-NEXT: tilegpu.store_buffer %{{.*}}, %[[B]][%[[SLOT]]]
// CHECK-NEXT: tilegpu.fence_async
// CHECK-NEXT: tilegpu.slot_commit %[[B]][%[[SLOT]]]
// CHECK-NOT: tilegpu.barrier
// CHECK: tilegpu.owner_only %[[TURN:[a-z0-9]+]] {
// CHECK-NEXT: tilegpu.slot_wait %[[B]][%[[TURN]]]
// CHECK: %[[D:.*]] = tilegpu.dot_async %[[B]][%[[TURN]]], {{.*}}tensor<64x128xf32, #[[OWN]]>
// CHECK-NEXT: %[[E:.*]] = tilegpu.dot_wait %[[D]]
// CHECK-NEXT: tilegpu.store_boxes %{{.*}}, %[[E]] in %[[SUMS]] map {{.*}} {add, {{.*}}tilegpu.made = "elsewhere"}
// CHECK-NEXT: tilegpu.release %[[B]][%[[TURN]]]
// CHECK-NEXT: }
// CHECK-NOT: tilegpu.barrier
// CHECK: scf.yield
// Behind the loop no acquire tells the last owner that the one before has begun its addition.
// CHECK: tilegpu.barrier
// CHECK-NEXT: tilegpu.owner_only %{{.*}} met {
func.func @sums(%q: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %k: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.noalias}, %n: i32) attributes {tile.kernel} {
  %i0 = arith.constant 0 : i32
  %i64 = arith.constant 64 : i32
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c128 = arith.constant 128 : i64
  %rows = arith.extsi %n : i32 to i64
  %pk = tile.make_block_ptr %k, shape [%c128, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<128x128xbf16>
  %pq = tile.make_block_ptr %q, shape [%rows, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x128xbf16>
  %po = tile.make_block_ptr %o, shape [%rows, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x128xf32>
  %none = arith.constant dense<0.0> : tensor<128x64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %tk = tile.load %pk : !tile.block_ptr<128x128xbf16> -> tensor<128x128xbf16>
  scf.for %i = %i0 to %n step %i64 : i32 {
    %row = arith.extsi %i : i32 to i64
    %pi = tile.advance %pq, [%row, %c0] : !tile.block_ptr<64x128xbf16>
    %tq = tile.load %pi {boundary_check = array<i64: 0>} : !tile.block_ptr<64x128xbf16> -> tensor<64x128xbf16>
    %qt = tile.trans %tq, [1, 0] : tensor<64x128xbf16> -> tensor<128x64xbf16>
    %s = tile.dot %tk, %qt, %none : tensor<128x128xbf16>, tensor<128x64xbf16> -> tensor<128x64xf32>
    %e = math.exp2 %s : tensor<128x64xf32>
    %p = arith.truncf %e : tensor<128x64xf32> to tensor<128x64xbf16>
    %pt = tile.trans %p, [1, 0] : tensor<128x64xbf16> -> tensor<64x128xbf16>
    %d = tile.dot %pt, %tk, %zero : tensor<64x128xbf16>, tensor<128x128xbf16> -> tensor<64x128xf32>
    %oi = tile.advance %po, [%row, %c0] : !tile.block_ptr<64x128xf32>
    tile.accumulate %oi, %d {boundary_check = array<i64: 0>} : !tile.block_ptr<64x128xf32>, tensor<64x128xf32>
  }
  return
}
