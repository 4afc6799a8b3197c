// SPDX-License-Identifier: Apache-2.0
// Tiles of any size grow to what threads and matrix instructions divide, and what lies in the padding is seen by nobody.
// RUN: fattn-opt %s -split-input-file -tilegpu-pad-tiles="target=nvidia:sm_90" | FileCheck %s

// 33 becomes 48, 17 becomes 32. A sum takes -0.0 from the padding, a maximum NaN, which maxnumf leaves out.
// CHECK-LABEL: func.func @rows
// CHECK: tile.make_block_ptr {{.*}} -> !tile.block_ptr<48x32xf32>
// CHECK: %[[X:.*]] = tile.load %{{.*}} {boundary_check = array<i64: 0>, padding = 1.000000e+00 : f32, tilegpu.extents = array<i64: 33, 17>}
// CHECK: %[[E:.*]] = math.exp2 %[[X]] : tensor<48x32xf32>
// CHECK: %[[NUMBERS:.*]] = tile.arange 0 : tensor<32xi32>
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[NUMBERS]], %{{.*}} : tensor<32xi32>
// CHECK: %[[ALL:.*]] = tile.broadcast
// CHECK: %[[NEUTRAL:.*]] = arith.constant dense<-0.000000e+00> : tensor<48x32xf32>
// CHECK: %[[Z:.*]] = arith.select %[[ALL]], %[[E]], %[[NEUTRAL]]
// CHECK: tile.reduce %[[Z]] axis 1 : tensor<48x32xf32> -> tensor<48xf32>
// CHECK: %[[NAN:.*]] = arith.constant dense<0x7FC00000> : tensor<48x32xf32>
// CHECK: arith.select %{{.*}}, %[[E]], %[[NAN]]
// CHECK: tile.reduce %{{.*}} axis 0 : tensor<48x32xf32> -> tensor<32xf32>
// CHECK: tile.store {{.*}} {tilegpu.extents = array<i64: 33>}
// CHECK: tile.store {{.*}} {boundary_check = array<i64: 0>, tilegpu.extents = array<i64: 17>}
func.func @rows(%a: !tile.ptr<f32>, %n: i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %p = tile.make_block_ptr %a, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<33x17xf32>
  %x = tile.load %p {boundary_check = array<i64: 0>, padding = 1.0 : f32} : !tile.block_ptr<33x17xf32> -> tensor<33x17xf32>
  %e = math.exp2 %x : tensor<33x17xf32>
  %s = tile.reduce %e axis 1 : tensor<33x17xf32> -> tensor<33xf32> {
  ^bb0(%l: f32, %r: f32):
    %o = arith.addf %l, %r : f32
    tile.yield %o : f32
  }
  %m = tile.reduce %e axis 0 : tensor<33x17xf32> -> tensor<17xf32> {
  ^bb0(%l: f32, %r: f32):
    %o = arith.maxnumf %l, %r : f32
    tile.yield %o : f32
  }
  %q = tile.make_block_ptr %a, shape [%n], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<33xf32>
  tile.store %q, %s : !tile.block_ptr<33xf32>, tensor<33xf32>
  %t = tile.make_block_ptr %a, shape [%n], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<17xf32>
  tile.store %t, %m {boundary_check = array<i64: 0>} : !tile.block_ptr<17xf32>, tensor<17xf32>
  return
}

// -----

// A multiple of 8 stays unless a dot needs more of it, as here 24 rows in multiples of 16. What a load gives outside is zero already; a
// computed operand is zeroed along the depth.
// CHECK-LABEL: func.func @depth
// CHECK: %[[A:.*]] = tile.load {{.*}} {tilegpu.extents = array<i64: 24, 20>} : !tile.block_ptr<32x32xf16> -> tensor<32x32xf16>
// CHECK: %[[B:.*]] = tile.load {{.*}} {tilegpu.extents = array<i64: 20, 40>} : !tile.block_ptr<32x40xf16> -> tensor<32x40xf16>
// CHECK: %[[F:.*]] = math.absf %[[B]]
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<32x40xf16>
// CHECK: %[[Z:.*]] = arith.select %{{.*}}, %[[F]], %[[ZERO]]
// CHECK: tile.dot %[[A]], %[[Z]], %{{.*}} {tilegpu.used = array<i64: 20, 40>} : tensor<32x32xf16>, tensor<32x40xf16> -> tensor<32x40xf32>
func.func @depth(%a: !tile.ptr<f16>, %c: !tile.ptr<f32>, %n: i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %p = tile.make_block_ptr %a, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<24x20xf16>
  %q = tile.make_block_ptr %a, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<20x40xf16>
  %x = tile.load %p {padding = 1.0 : f16} : !tile.block_ptr<24x20xf16> -> tensor<24x20xf16>
  %y = tile.load %q : !tile.block_ptr<20x40xf16> -> tensor<20x40xf16>
  %f = math.absf %y : tensor<20x40xf16>
  %zero = arith.constant dense<0.0> : tensor<24x40xf32>
  %d = tile.dot %x, %f, %zero : tensor<24x20xf16>, tensor<20x40xf16> -> tensor<24x40xf32>
  %r = tile.make_block_ptr %c, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<24x40xf32>
  tile.store %r, %d : !tile.block_ptr<24x40xf32>, tensor<24x40xf32>
  return
}

// -----

// A region that is not one operation is told which elements count.
// CHECK-LABEL: func.func @argmax
// CHECK: %[[FLAGS:.*]] = arith.extui %{{.*}} : tensor<8xi1> to tensor<8xi32>
// CHECK: tile.reduce %{{.*}}, %{{.*}}, %[[FLAGS]] axis 0
// CHECK: ^bb0(%[[L:.*]]: i32, %{{.*}}: i32, %[[LF:.*]]: i32, %[[R:.*]]: i32, %{{.*}}: i32, %[[RF:.*]]: i32):
// CHECK-DAG: %[[ISL:.*]] = arith.cmpi ne, %[[LF]]
// CHECK-DAG: %[[ISR:.*]] = arith.cmpi ne, %[[RF]]
// CHECK: %[[BOTH:.*]] = arith.select %[[ISL]], %{{.*}}, %[[R]]
// CHECK: arith.select %[[ISR]], %[[BOTH]], %[[L]]
func.func @argmax(%a: !tile.ptr<i32>) attributes {tile.kernel} {
  %x = tile.arange 3 : tensor<7xi32>
  %i = tile.arange 0 : tensor<7xi32>
  %m:2 = tile.reduce %x, %i axis 0 : tensor<7xi32>, tensor<7xi32> -> tensor<i32>, tensor<i32> {
  ^bb0(%l: i32, %li: i32, %r: i32, %ri: i32):
    %g = arith.cmpi sge, %l, %r : i32
    %v = arith.select %g, %l, %r : i32
    %w = arith.select %g, %li, %ri : i32
    tile.yield %v, %w : i32, i32
  }
  %p = tile.splat %a : !tile.ptr<i32> -> tensor<1x!tile.ptr<i32>>
  %s = tile.splat %m#1 : tensor<i32> -> tensor<1xi32>
  tile.scatter %p, %s : tensor<1x!tile.ptr<i32>>, tensor<1xi32>
  return
}

// -----

// Sums from the front do not see the padding, sums from the end do. Masks of pointers leave it out.
// CHECK-LABEL: func.func @sums
// CHECK: %[[X:.*]] = tile.gather %{{.*}}, mask %{{.*}} : tensor<16xi1>
// CHECK: tile.cumsum %[[X]] axis 0 : tensor<16xf32>
// CHECK: %[[Z:.*]] = arith.select %{{.*}}, %[[X]]
// CHECK: tile.cumsum %[[Z]] axis 0 reverse : tensor<16xf32>
// CHECK: tile.scatter {{.*}} mask %{{.*}} : tensor<16xi1>
func.func @sums(%a: !tile.ptr<f32>) attributes {tile.kernel} {
  %i = tile.arange 0 : tensor<11xi32>
  %b = tile.splat %a : !tile.ptr<f32> -> tensor<11x!tile.ptr<f32>>
  %p = tile.addptr %b, %i : tensor<11x!tile.ptr<f32>>, tensor<11xi32>
  %x = tile.gather %p : tensor<11x!tile.ptr<f32>> -> tensor<11xf32>
  %f = tile.cumsum %x axis 0 : tensor<11xf32>
  %r = tile.cumsum %x axis 0 reverse : tensor<11xf32>
  %s = arith.addf %f, %r : tensor<11xf32>
  tile.scatter %p, %s : tensor<11x!tile.ptr<f32>>, tensor<11xf32>
  return
}

// -----

// Reshapes of padded tiles go by the elements that there are, and so do those that no layout follows. Dimensions of 1 come and go freely.
// CHECK-LABEL: func.func @reshapes
// CHECK: %[[X:.*]] = tile.load
// CHECK: %[[ONE:.*]] = tile.reshape %[[X]] : tensor<8x16xf32> -> tensor<8x1x16xf32>
// CHECK: tilegpu.reshape %[[ONE]] from [5, 1, 11] to [55] : tensor<8x1x16xf32> -> tensor<64xf32>
// CHECK: tilegpu.reshape %{{.*}} from [4, 24] to [96] : tensor<4x24xf32> -> tensor<96xf32>
// CHECK: tile.reshape %{{.*}} : tensor<24x4xf32> -> tensor<96xf32>
func.func @reshapes(%a: !tile.ptr<f32>, %n: i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %p = tile.make_block_ptr %a, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<5x11xf32>
  %x = tile.load %p : !tile.block_ptr<5x11xf32> -> tensor<5x11xf32>
  %e = tile.reshape %x : tensor<5x11xf32> -> tensor<5x1x11xf32>
  %f = tile.reshape %e : tensor<5x1x11xf32> -> tensor<55xf32>
  %q = tile.make_block_ptr %a, shape [%n], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<55xf32>
  tile.store %q, %f : !tile.block_ptr<55xf32>, tensor<55xf32>
  %r = tile.make_block_ptr %a, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<4x24xf32>
  %y = tile.load %r : !tile.block_ptr<4x24xf32> -> tensor<4x24xf32>
  %g = tile.reshape %y : tensor<4x24xf32> -> tensor<96xf32>
  %t = tile.trans %y, [1, 0] : tensor<4x24xf32> -> tensor<24x4xf32>
  %h = tile.reshape %t : tensor<24x4xf32> -> tensor<96xf32>
  %z = arith.addf %g, %h : tensor<96xf32>
  %s = tile.make_block_ptr %a, shape [%n], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<96xf32>
  tile.store %s, %z : !tile.block_ptr<96xf32>, tensor<96xf32>
  return
}

// -----

// Nothing grows where a caller has to know the type.
// CHECK-LABEL: func.func @arguments
// CHECK: math.exp2 %{{.*}} : tensor<33xf32>
func.func @arguments(%x: tensor<33xf32>) -> tensor<33xf32> {
  %e = math.exp2 %x : tensor<33xf32>
  return %e : tensor<33xf32>
}

// -----

// A depth of 88 takes 11 instructions of 8 and 6 of 16: it grows to 96, whose rows are whole columns of 64 bytes. 72 stays, as the rows of 80
// would be none.
// CHECK-LABEL: func.func @deep
// CHECK: %[[A:.*]] = tile.load {{.*}} {boundary_check = array<i64: 0>, tilegpu.extents = array<i64: 16, 88>} : !tile.block_ptr<16x96xf16> -> tensor<16x96xf16>
// CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} {tilegpu.used = array<i64: 88, 8>} : tensor<16x96xf16>, tensor<96x8xf16> -> tensor<16x8xf32>
// CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<16x72xf16>, tensor<72x8xf16> -> tensor<16x8xf32>
func.func @deep(%a: !tile.ptr<f16>, %c: !tile.ptr<f32>, %n: i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %p = tile.make_block_ptr %a, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<16x88xf16>
  %q = tile.make_block_ptr %a, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<88x8xf16>
  %r = tile.make_block_ptr %a, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<16x72xf16>
  %s = tile.make_block_ptr %a, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<72x8xf16>
  %zero = arith.constant dense<0.0> : tensor<16x8xf32>
  %x = tile.load %p {boundary_check = array<i64: 0>} : !tile.block_ptr<16x88xf16> -> tensor<16x88xf16>
  %y = tile.load %q {boundary_check = array<i64: 0>} : !tile.block_ptr<88x8xf16> -> tensor<88x8xf16>
  %d = tile.dot %x, %y, %zero : tensor<16x88xf16>, tensor<88x8xf16> -> tensor<16x8xf32>
  %u = tile.load %r {boundary_check = array<i64: 0>} : !tile.block_ptr<16x72xf16> -> tensor<16x72xf16>
  %v = tile.load %s {boundary_check = array<i64: 0>} : !tile.block_ptr<72x8xf16> -> tensor<72x8xf16>
  %e = tile.dot %u, %v, %d : tensor<16x72xf16>, tensor<72x8xf16> -> tensor<16x8xf32>
  %t = tile.make_block_ptr %c, shape [%n, %n], strides [%n, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<16x8xf32>
  tile.store %t, %e : !tile.block_ptr<16x8xf32>, tensor<16x8xf32>
  return
}
