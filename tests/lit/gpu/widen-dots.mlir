// SPDX-License-Identifier: Apache-2.0
// Dots that are smaller than a matrix instruction work on copies of their rows, columns and depth.
// RUN: fattn-opt %s -split-input-file -tilegpu-widen-dots="target=nvidia:sm_80" | FileCheck %s

// Four copies of 4 rows, two of 4 columns. Any copy of the result will do.
// CHECK-LABEL: func.func @small
// CHECK: tile.broadcast %{{.*}} : tensor<1x4x16xf16> -> tensor<4x4x16xf16>
// CHECK: %[[A:.*]] = tile.reshape %{{.*}} : tensor<4x4x16xf16> -> tensor<16x16xf16>
// CHECK: tile.broadcast %{{.*}} : tensor<16x1x4xf16> -> tensor<16x2x4xf16>
// CHECK: %[[B:.*]] = tile.reshape %{{.*}} : tensor<16x2x4xf16> -> tensor<16x8xf16>
// CHECK: %[[D:.*]] = tile.dot %[[A]], %[[B]], %{{.*}} : tensor<16x16xf16>, tensor<16x8xf16> -> tensor<16x8xf32>
// CHECK: %[[R:.*]] = tile.reshape %[[D]] : tensor<16x8xf32> -> tensor<4x4x8xf32>
// CHECK: tile.reduce %[[R]] axis 0 : tensor<4x4x8xf32> -> tensor<4x8xf32>
// CHECK: ^bb0(%[[L:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: tile.yield %[[L]]
// CHECK: tile.reduce %{{.*}} axis 1 : tensor<4x2x4xf32> -> tensor<4x4xf32>
func.func @small(%a: tensor<4x16xf16>, %b: tensor<16x4xf16>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %d = tile.dot %a, %b, %c : tensor<4x16xf16>, tensor<16x4xf16> -> tensor<4x4xf32>
  return %d : tensor<4x4xf32>
}

// -----

// Copies along the depth are zero on both sides: zero times an infinity would be NaN.
// CHECK-LABEL: func.func @shallow
// CHECK: %[[A:.*]] = tile.reshape %{{.*}} : tensor<16x2x4xf32> -> tensor<16x8xf32>
// CHECK: %[[B:.*]] = tile.reshape %{{.*}} : tensor<2x4x8xf32> -> tensor<8x8xf32>
// CHECK: %[[AZ:.*]] = arith.select %{{.*}}, %[[A]]
// CHECK: %[[BZ:.*]] = arith.select %{{.*}}, %[[B]]
// CHECK: tile.dot %[[AZ]], %[[BZ]], %{{.*}} precision tf32
func.func @shallow(%a: tensor<16x4xf32>, %b: tensor<4x8xf32>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %d = tile.dot %a, %b, %c precision tf32 : tensor<16x4xf32>, tensor<4x8xf32> -> tensor<16x8xf32>
  return %d : tensor<16x8xf32>
}

// -----

// sm_80 has no products of f8.
// CHECK-LABEL: func.func @halves
// CHECK: %[[A:.*]] = arith.extf %{{.*}} : tensor<16x32xf8E4M3FN> to tensor<16x32xf16>
// CHECK: %[[B:.*]] = arith.extf %{{.*}} : tensor<32x16xf8E5M2> to tensor<32x16xf16>
// CHECK: tile.dot %[[A]], %[[B]], %{{.*}} : tensor<16x32xf16>, tensor<32x16xf16> -> tensor<16x16xf32>
func.func @halves(%a: tensor<16x32xf8E4M3FN>, %b: tensor<32x16xf8E5M2>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %d = tile.dot %a, %b, %c : tensor<16x32xf8E4M3FN>, tensor<32x16xf8E5M2> -> tensor<16x16xf32>
  return %d : tensor<16x16xf32>
}

// -----

// What fits is left as it is.
// CHECK-LABEL: func.func @whole
// CHECK-NEXT: tile.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<16x24xbf16>, tensor<24x40xbf16> -> tensor<16x40xf32>
// CHECK-NEXT: return
func.func @whole(%a: tensor<16x24xbf16>, %b: tensor<24x40xbf16>, %c: tensor<16x40xf32>) -> tensor<16x40xf32> {
  %d = tile.dot %a, %b, %c : tensor<16x24xbf16>, tensor<24x40xbf16> -> tensor<16x40xf32>
  return %d : tensor<16x40xf32>
}

// -----

// What does not change in the loop is copied before it.
// CHECK-LABEL: func.func @invariant
// CHECK: tile.broadcast %{{.*}} : tensor<1x4x16xf16> -> tensor<4x4x16xf16>
// CHECK: scf.for
// CHECK-NOT: tensor<4x4x16xf16>
// CHECK: tile.dot
func.func @invariant(%a: tensor<4x16xf16>, %b: tensor<16x8xf16>, %c: tensor<4x8xf32>, %n: index) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c) -> (tensor<4x8xf32>) {
    %d = tile.dot %a, %b, %sum : tensor<4x16xf16>, tensor<16x8xf16> -> tensor<4x8xf32>
    scf.yield %d : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}
