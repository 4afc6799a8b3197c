// SPDX-License-Identifier: Apache-2.0
// A line of numbers that is copied and waited for behind a tile arrives with it.
// RUN: fattn-opt %s -split-input-file -tilegpu-share-arrivals | FileCheck %s
// RUN: fattn-opt %s -split-input-file -tilegpu-share-arrivals -nvidia-lower-tensors | FileCheck %s --check-prefix=CODE

#tile = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0) | dim0: 16, dim1: 64">
#line = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16) | dim0: 1, dim1: 32">

// CHECK-LABEL: func.func @line
// CHECK: tilegpu.alloc {barriers = 4352 : i64, offset = 0 : i64}
// CHECK: tilegpu.alloc {arrives = 4352 : i64, barriers = 4384 : i64, offset = 4096 : i64}
// 2048 bytes of the tile and 128 of the line are announced together, and there is one wait for both.
// CODE-LABEL: func.func @line
// CODE: scf.for
// CODE: mbarrier.arrive.expect_tx{{.*}} %c2176_i32
// CODE: cp.async.bulk.tensor
// CODE-NOT: expect_tx
// CODE: cp.async.bulk.tensor
// CODE: mbarrier.try_wait
// CODE-NOT: mbarrier.try_wait
// CODE: scf.yield
func.func @line(%k: !tile.ptr<bf16>, %l: !tile.ptr<f32>, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 4480 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 16>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 64>, array<i64: 2147483647>], strides = [array<i64: 64>], swizzle = 128 : i64}, {box = array<i64: 32, 1>, element = f32, pointer = 1 : i64, sizes = [array<i64: 2147483647>, array<i64: 1>], strides = [array<i64: 32>], swizzle = 0 : i64}]} {
  tilegpu.init_barriers
  tilegpu.barrier
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %m = arith.constant 2147483647 : i64
  %a = tilegpu.alloc {barriers = 4352 : i64, offset = 0 : i64} : !tilegpu.buffer<2 x 16x64xbf16, #tile>
  %b = tilegpu.alloc {barriers = 4384 : i64, offset = 4096 : i64} : !tilegpu.buffer<2 x 1x32xf32, #line>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
    %row = arith.extsi %i : i32 to i64
    %p = tile.make_block_ptr %k, shape [%m, %w], strides [%w, %u], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<16x64xbf16>
    %q = tile.make_block_ptr %l, shape [%u, %m], strides [%m, %u], offsets [%z, %row] : !tile.ptr<f32> -> !tile.block_ptr<1x32xf32>
    %t = tilegpu.copy_async %p, %a[%slot] map 0[] : !tile.block_ptr<16x64xbf16>, !tilegpu.buffer<2 x 16x64xbf16, #tile>
    %v = tilegpu.copy_async %q, %b[%slot] map 1[] : !tile.block_ptr<1x32xf32>, !tilegpu.buffer<2 x 1x32xf32, #line>
    tilegpu.copy_wait %t in %a[%slot] : !tilegpu.buffer<2 x 16x64xbf16, #tile>
    tilegpu.copy_wait %v in %b[%slot] : !tilegpu.buffer<2 x 1x32xf32, #line>
    %next = arith.xori %slot, %c1 : i32
    scf.yield %next : i32
  }
  return
}

// -----

#tile = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0) | dim0: 16, dim1: 64">
#line = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16) | dim0: 1, dim1: 32">

// Who waits for the line first would wait for a tile that it does not need yet; a predicate of its own may leave out one of the two.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: arrives
func.func @apart(%k: !tile.ptr<bf16>, %l: !tile.ptr<f32>, %n: i32, %if: i1) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 4480 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 16>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 64>, array<i64: 2147483647>], strides = [array<i64: 64>], swizzle = 128 : i64}, {box = array<i64: 32, 1>, element = f32, pointer = 1 : i64, sizes = [array<i64: 2147483647>, array<i64: 1>], strides = [array<i64: 32>], swizzle = 0 : i64}]} {
  tilegpu.init_barriers
  tilegpu.barrier
  %c0 = arith.constant 0 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %m = arith.constant 2147483647 : i64
  %a = tilegpu.alloc {barriers = 4352 : i64, offset = 0 : i64} : !tilegpu.buffer<1 x 16x64xbf16, #tile>
  %b = tilegpu.alloc {barriers = 4360 : i64, offset = 2048 : i64} : !tilegpu.buffer<1 x 1x32xf32, #line>
  %c = tilegpu.alloc {barriers = 4368 : i64, offset = 3072 : i64} : !tilegpu.buffer<1 x 1x32xf32, #line>
  %p = tile.make_block_ptr %k, shape [%m, %w], strides [%w, %u], offsets [%z, %z] : !tile.ptr<bf16> -> !tile.block_ptr<16x64xbf16>
  %q = tile.make_block_ptr %l, shape [%u, %m], strides [%m, %u], offsets [%z, %z] : !tile.ptr<f32> -> !tile.block_ptr<1x32xf32>
  %t = tilegpu.copy_async %p, %a[%c0] map 0[] : !tile.block_ptr<16x64xbf16>, !tilegpu.buffer<1 x 16x64xbf16, #tile>
  %v = tilegpu.copy_async %q, %b[%c0] map 1[] : !tile.block_ptr<1x32xf32>, !tilegpu.buffer<1 x 1x32xf32, #line>
  %x = tilegpu.copy_async %q, %c[%c0] if %if map 1[] : !tile.block_ptr<1x32xf32>, !tilegpu.buffer<1 x 1x32xf32, #line>
  tilegpu.copy_wait %v in %b[%c0] : !tilegpu.buffer<1 x 1x32xf32, #line>
  tilegpu.copy_wait %t in %a[%c0] : !tilegpu.buffer<1 x 16x64xbf16, #tile>
  tilegpu.copy_wait %x in %c[%c0] : !tilegpu.buffer<1 x 1x32xf32, #line>
  return
}
