// SPDX-License-Identifier: Apache-2.0
// A product that has an owner is added in the order in which threads have it: 16 rows of 128 columns are 64 lines of 32 numbers, of which a
// lane has four beside each other. Nothing is exchanged, and the engine adds one box.
// RUN: fattn-opt %s -tilegpu-assign-layouts='target=nvidia:sm_90a warps=8 owners' -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies -canonicalize -tilegpu-exchange-operands -tilegpu-schedule-loops='forced="A a b B1 c1"' -tilegpu-async-dots -canonicalize -cse -canonicalize -tilegpu-assign-owners -tilegpu-store-boxes -tilegpu-place-waits -tilegpu-allocate-shared -tilegpu-place-fences -tilegpu-place-barriers -tilegpu-split-roles | FileCheck %s

// CHECK: #[[LINES:.*]] = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (4,0), 8 -> (8,0), 16 -> (16,0), 32 -> (32,0); lane: 1 -> (0,4), 2 -> (0,8), 4 -> (0,16), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (64,0), 2 -> (128,0) | dim0: 256, dim1: 32">
// CHECK: %[[SUMS:.*]] = tilegpu.alloc {barriers = {{.*}}} : !tilegpu.buffer<1 x 256x32xf32
// CHECK: tilegpu.owner_only
// CHECK: %[[D:.*]] = tilegpu.dot_async
// CHECK-NEXT: %[[E:.*]] = tilegpu.dot_wait %[[D]]
// CHECK-NEXT: %[[DIGITS:.*]] = tile.reshape %[[E]]
// CHECK-NEXT: %[[ORDER:.*]] = tile.trans %[[DIGITS]], [0, 3, 2, 4, 1, 5]
// CHECK-NEXT: %[[LINE:.*]] = tile.reshape %[[ORDER]] : {{.*}} -> tensor<256x32xf32, #[[LINES]]>
// CHECK-NEXT: tilegpu.store_boxes %{{.*}}, %[[LINE]] in %[[SUMS]] map
// CHECK-NOT: convert_layout
func.func @sums(%q: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %k: !tile.ptr<bf16> {tile.divisibility = 16 : i64, tile.noalias}, %o: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.noalias}, %n: i32) attributes {tile.kernel} {
  %i0 = arith.constant 0 : i32
  %i64 = arith.constant 64 : i32
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c4 = arith.constant 4 : i64
  %c32 = arith.constant 32 : i64
  %c128 = arith.constant 128 : i64
  %rows = arith.extsi %n : i32 to i64
  %lines = arith.muli %rows, %c4 : i64
  %pk = tile.make_block_ptr %k, shape [%c128, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<128x128xbf16>
  %pq = tile.make_block_ptr %q, shape [%rows, %c128], strides [%c128, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x128xbf16>
  %po = tile.make_block_ptr %o, shape [%lines, %c32], strides [%c32, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<256x32xf32>
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
    %digits = tile.reshape %d : tensor<64x128xf32> -> tensor<4x2x8x16x4x2xf32>
    %order = tile.trans %digits, [0, 3, 2, 4, 1, 5] : tensor<4x2x8x16x4x2xf32> -> tensor<4x16x8x4x2x2xf32>
    %line = tile.reshape %order : tensor<4x16x8x4x2x2xf32> -> tensor<256x32xf32>
    %at = arith.muli %row, %c4 : i64
    %oi = tile.advance %po, [%at, %c0] : !tile.block_ptr<256x32xf32>
    tile.accumulate %oi, %line {boundary_check = array<i64: 0>} : !tile.block_ptr<256x32xf32>, tensor<256x32xf32>
  }
  return
}
