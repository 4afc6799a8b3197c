// SPDX-License-Identifier: Apache-2.0
// Two products of the same shape, of which each warp group computes one, and what follows from it alone.
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=8 pairs' -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies -canonicalize -tilegpu-exchange-pairs | FileCheck %s --check-prefix=EXCHANGE
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=8 pairs' -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies -canonicalize -tilegpu-exchange-pairs -tilegpu-schedule-loops='forced="A B a b c d C D_"' -tilegpu-async-dots -canonicalize -cse -canonicalize -tilegpu-assign-pairs -tilegpu-place-waits -tilegpu-allocate-shared -tilegpu-place-fences -tilegpu-place-barriers -tilegpu-split-roles -tilegpu-place-turns | FileCheck %s
// RUN: not fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=12 pairs' -tilegpu-exchange-pairs 2>&1 | FileCheck %s --check-prefix=NONE

// Both products, and what follows from them, are in each group. What the first group leaves is bf16, not the f32 that it is widened to.
// EXCHANGE: #[[ALL:.*]] = #tilegpu.regs<"{{.*}}warp: 1 -> (16,0), 2 -> (32,0), 4 -> (0,0) | dim0: 64, dim1: 64">
// EXCHANGE-DAG: %[[P:.*]] = tilegpu.alloc {tilegpu.exchange, tilegpu.paired} : !tilegpu.buffer<1 x 64x64xbf16
// EXCHANGE: scf.for
// EXCHANGE: tile.dot {{.*}}tilegpu.paired = 0 : i64} : {{.*}} -> tensor<64x64xf32, #[[ALL]]>
// EXCHANGE: %[[ROUNDED:.*]] = arith.truncf
// EXCHANGE: tilegpu.store_buffer %[[ROUNDED]], %[[B:.*]][
// EXCHANGE: %[[READ:.*]] = tilegpu.load_buffer %[[B]][
// EXCHANGE: arith.extf %[[READ]]
// EXCHANGE: tile.dot {{.*}}tilegpu.paired = 1 : i64} : {{.*}} -> tensor<64x64xf32, #[[ALL]]>
// EXCHANGE: %[[DS:.*]] = arith.truncf
// EXCHANGE: tilegpu.store_buffer %[[DS]], %[[C:.*]][
// EXCHANGE: %[[A:.*]] = tilegpu.load_buffer %[[B]][
// EXCHANGE: tile.dot %[[A]], {{.*}} {tilegpu.instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>}
// EXCHANGE: %[[A2:.*]] = tilegpu.load_buffer %[[C]][
// EXCHANGE: tile.dot %[[A2]], {{.*}} {tilegpu.instruction = #tilegpu.instruction<"wgmma" depth 16 shared a b>}

// NONE: error: an order with `pairs` cannot be kept, by which each warp group computes a product of its own: no loop has as many products

// One instruction for both groups, which begin it in turns. A region has what one group computes; all warps wait for what it leaves, and no
// barrier of the block stands in the loop.
// CHECK: #[[BOTH:.*]] = #tilegpu.regs<"{{.*}}warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 64">
// CHECK: #[[OWN:.*]] = #tilegpu.regs<"{{.*}}warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
// CHECK: } else {
// CHECK: scf.for
// CHECK-NOT: tilegpu.barrier
// CHECK: tilegpu.turn_wait
// CHECK: %[[X:.*]] = tilegpu.dot_async %{{.*}}, %{{.*}}, %{{.*}} others(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : {{.*}}tensor<128x64xf32, #[[BOTH]]>
// CHECK-NEXT: tilegpu.turn_pass
// CHECK: %[[Y:.*]] = tilegpu.dot_wait %[[X]]
// CHECK-NEXT: tilegpu.dot_wait %{{.*}} {covered}
// CHECK: tilegpu.owner_only %{{.*}} {
// CHECK: tilegpu.group_part %[[Y]] : tensor<128x64xf32, #[[BOTH]]> -> tensor<64x64xf32, #[[OWN]]>
// CHECK: math.exp2
// CHECK: tilegpu.slot_acquire %[[B:.*]][%[[S:.*]]]
// CHECK-NEXT: tilegpu.store_buffer %{{.*}}, %[[B]][%[[S]]] : tensor<64x64xbf16, #[[OWN]]>
// CHECK-NEXT: tilegpu.fence_async
// CHECK-NEXT: tilegpu.slot_commit %[[B]][%[[S]]]
// CHECK: }
// CHECK: tilegpu.slot_wait %[[B]][%[[S]]]
// CHECK: tilegpu.owner_only %{{.*}} {
// CHECK: tilegpu.load_buffer %[[B]][%[[S]]]
// CHECK: tilegpu.group_part %[[Y]]
// CHECK: tilegpu.slot_commit %[[C:[a-z0-9]+]][%[[T:[a-z0-9]+]]]
// CHECK: }
// CHECK: tilegpu.dot_async %[[B]][%[[S]]]
// CHECK: tilegpu.slot_wait %[[C]][%[[T]]]
// CHECK: %[[LAST:.*]] = tilegpu.dot_async %[[C]][%[[T]]]
// CHECK: tilegpu.release %[[B]][%[[S]]]
// CHECK: scf.yield %[[LAST]]
func.func @gradients(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %v: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %q: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %o: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %dk: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.noalias}, %dv: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.noalias}, %n: i32) attributes {tile.kernel} {
  %i0 = arith.constant 0 : i32
  %i64 = arith.constant 64 : i32
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %rows = arith.extsi %n : i32 to i64
  %pk = tile.make_block_ptr %k, shape [%c64, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x128xbf16>
  %pv = tile.make_block_ptr %v, shape [%c64, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x128xbf16>
  %pq = tile.make_block_ptr %q, shape [%rows, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x128xbf16>
  %po = tile.make_block_ptr %o, shape [%rows, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x128xbf16>
  %pdk = tile.make_block_ptr %dk, shape [%c64, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x128xf32>
  %pdv = tile.make_block_ptr %dv, shape [%c64, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x128xf32>
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %tk = tile.load %pk : !tile.block_ptr<64x128xbf16> -> tensor<64x128xbf16>
  %tv = tile.load %pv : !tile.block_ptr<64x128xbf16> -> tensor<64x128xbf16>
  %sums:2 = scf.for %i = %i0 to %n step %i64 iter_args(%a = %zero, %b = %zero) -> (tensor<64x128xf32>, tensor<64x128xf32>) : i32 {
    %row = arith.extsi %i : i32 to i64
    %pqi = tile.advance %pq, [%row, %c0] : !tile.block_ptr<64x128xbf16>
    %poi = tile.advance %po, [%row, %c0] : !tile.block_ptr<64x128xbf16>
    %tq = tile.load %pqi {boundary_check = array<i64: 0>} : !tile.block_ptr<64x128xbf16> -> tensor<64x128xbf16>
    %to = tile.load %poi {boundary_check = array<i64: 0>} : !tile.block_ptr<64x128xbf16> -> tensor<64x128xbf16>
    %qt = tile.trans %tq, [1, 0] : tensor<64x128xbf16> -> tensor<128x64xbf16>
    %ot = tile.trans %to, [1, 0] : tensor<64x128xbf16> -> tensor<128x64xbf16>
    %s = tile.dot %tk, %qt, %none : tensor<64x128xbf16>, tensor<128x64xbf16> -> tensor<64x64xf32>
    %e = math.exp2 %s : tensor<64x64xf32>
    %p = arith.truncf %e : tensor<64x64xf32> to tensor<64x64xbf16>
    %w = arith.extf %p : tensor<64x64xbf16> to tensor<64x64xf32>
    %d = tile.dot %tv, %ot, %none : tensor<64x128xbf16>, tensor<128x64xbf16> -> tensor<64x64xf32>
    %m = arith.mulf %w, %d : tensor<64x64xf32>
    %ds = arith.truncf %m : tensor<64x64xf32> to tensor<64x64xbf16>
    %x = tile.dot %p, %to, %b : tensor<64x64xbf16>, tensor<64x128xbf16> -> tensor<64x128xf32>
    %y = tile.dot %ds, %tq, %a : tensor<64x64xbf16>, tensor<64x128xbf16> -> tensor<64x128xf32>
    scf.yield %y, %x : tensor<64x128xf32>, tensor<64x128xf32>
  }
  tile.store %pdk, %sums#0 : !tile.block_ptr<64x128xf32>, tensor<64x128xf32>
  tile.store %pdv, %sums#1 : !tile.block_ptr<64x128xf32>, tensor<64x128xf32>
  return
}
