// Rows that begin within a sector of global memory grow to whole lines where boxes of them are copied for a matrix unit; others do not.
// RUN: fattn-opt %s -tilegpu-pad-tiles=target=nvidia:sm_90a | FileCheck %s
// RUN: fattn-opt %s -tilegpu-pad-tiles=target=nvidia:sm_80 | FileCheck %s --check-prefix=VECTORS
// RUN: fattn-opt %s -tilegpu-pad-tiles="target=nvidia:sm_90a warps=8" | FileCheck %s --check-prefix=SHARED

// CHECK-LABEL: func.func @rows
// CHECK: tile.load {{.*}}tilegpu.extents = array<i64: 64, 104>{{.*}} !tile.block_ptr<64x128xbf16>
// CHECK: tile.load {{.*}}tilegpu.extents = array<i64: 64, 40>{{.*}} !tile.block_ptr<64x64xbf16>
// CHECK: tile.load {{.*}} : !tile.block_ptr<64x112xbf16> -> tensor<64x112xbf16>
// Two groups share the columns of 64 rows: 112 would be parts of 16.
// SHARED-LABEL: func.func @rows
// SHARED: tile.load {{.*}}tilegpu.extents = array<i64: 64, 112>{{.*}} !tile.block_ptr<64x128xbf16>
// VECTORS-LABEL: func.func @rows
// VECTORS: tile.load %{{[a-z0-9]+}} : !tile.block_ptr<64x104xbf16>
// VECTORS: tile.load %{{[a-z0-9]+}} : !tile.block_ptr<64x40xbf16>
// VECTORS: tile.load %{{[a-z0-9]+}} : !tile.block_ptr<64x112xbf16>
func.func @rows(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %s: i64 {tile.divisibility = 8 : i64}, %a: !tile.ptr<bf16>, %o: !tile.ptr<f32>)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %n = arith.constant 64 : i64
  %w0 = arith.constant 104 : i64
  %w1 = arith.constant 40 : i64
  %w2 = arith.constant 112 : i64
  %p0 = tile.make_block_ptr %p, shape [%n, %w0], strides [%s, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x104xbf16>
  %p1 = tile.make_block_ptr %p, shape [%n, %w1], strides [%s, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x40xbf16>
  %p2 = tile.make_block_ptr %p, shape [%n, %w2], strides [%s, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x112xbf16>
  %pa = tile.make_block_ptr %a, shape [%n, %n], strides [%s, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %x = tile.load %pa : !tile.block_ptr<64x64xbf16> -> tensor<64x64xbf16>
  %b0 = tile.load %p0 : !tile.block_ptr<64x104xbf16> -> tensor<64x104xbf16>
  %b1 = tile.load %p1 : !tile.block_ptr<64x40xbf16> -> tensor<64x40xbf16>
  %b2 = tile.load %p2 : !tile.block_ptr<64x112xbf16> -> tensor<64x112xbf16>
  %z0 = arith.constant dense<0.0> : tensor<64x104xf32>
  %z1 = arith.constant dense<0.0> : tensor<64x40xf32>
  %z2 = arith.constant dense<0.0> : tensor<64x112xf32>
  %d0 = tile.dot %x, %b0, %z0 : tensor<64x64xbf16>, tensor<64x104xbf16> -> tensor<64x104xf32>
  %d1 = tile.dot %x, %b1, %z1 : tensor<64x64xbf16>, tensor<64x40xbf16> -> tensor<64x40xf32>
  %d2 = tile.dot %x, %b2, %z2 : tensor<64x64xbf16>, tensor<64x112xbf16> -> tensor<64x112xf32>
  %q0 = tile.make_block_ptr %o, shape [%n, %w0], strides [%s, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x104xf32>
  %q1 = tile.make_block_ptr %o, shape [%n, %w1], strides [%s, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x40xf32>
  %q2 = tile.make_block_ptr %o, shape [%n, %w2], strides [%s, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x112xf32>
  tile.store %q0, %d0 : !tile.block_ptr<64x104xf32>, tensor<64x104xf32>
  tile.store %q1, %d1 : !tile.block_ptr<64x40xf32>, tensor<64x40xf32>
  tile.store %q2, %d2 : !tile.block_ptr<64x112xf32>, tensor<64x112xf32>
  return
}

// 240 elements are 15 sectors: no wider columns divide them, and the line is a fifteenth longer. At 112 above it would be a seventh.
// CHECK-LABEL: func.func @sectors
// CHECK: tile.load {{.*}}tilegpu.extents = array<i64: 64, 240>{{.*}} !tile.block_ptr<64x256xbf16>
// VECTORS-LABEL: func.func @sectors
// VECTORS: tile.load %{{[a-z0-9]+}} : !tile.block_ptr<64x240xbf16>
func.func @sectors(%p: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %s: i64 {tile.divisibility = 8 : i64}, %a: !tile.ptr<bf16>, %o: !tile.ptr<f32>)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %n = arith.constant 64 : i64
  %w = arith.constant 240 : i64
  %p0 = tile.make_block_ptr %p, shape [%n, %w], strides [%s, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x240xbf16>
  %pa = tile.make_block_ptr %a, shape [%n, %n], strides [%s, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %x = tile.load %pa : !tile.block_ptr<64x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %p0 : !tile.block_ptr<64x240xbf16> -> tensor<64x240xbf16>
  %z = arith.constant dense<0.0> : tensor<64x240xf32>
  %d = tile.dot %x, %b, %z : tensor<64x64xbf16>, tensor<64x240xbf16> -> tensor<64x240xf32>
  %q = tile.make_block_ptr %o, shape [%n, %w], strides [%s, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x240xf32>
  tile.store %q, %d : !tile.block_ptr<64x240xf32>, tensor<64x240xf32>
  return
}
