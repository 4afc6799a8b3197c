// Products that are only added to something become fused multiply-adds.
// RUN: fattn-opt %s -tile-fold-scales | FileCheck %s

// CHECK-LABEL: func.func @sub
// CHECK: %[[N:.*]] = arith.negf %arg2
// CHECK: math.fma %arg0, %arg1, %[[N]]
// CHECK-NOT: arith.mulf
func.func @sub(%x: tensor<4xf32>, %c: tensor<4xf32>, %m: tensor<4xf32>) -> tensor<4xf32> {
  %t = arith.mulf %x, %c : tensor<4xf32>
  %r = arith.subf %t, %m : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @add
// CHECK: math.fma %arg0, %arg1, %arg2
func.func @add(%x: tensor<4xf32>, %c: tensor<4xf32>, %m: tensor<4xf32>) -> tensor<4xf32> {
  %t = arith.mulf %x, %c : tensor<4xf32>
  %r = arith.addf %m, %t : tensor<4xf32>
  return %r : tensor<4xf32>
}

// A product somebody else needs, too, would be computed twice.
// CHECK-LABEL: func.func @shared
// CHECK-NOT: math.fma
func.func @shared(%x: tensor<4xf32>, %c: tensor<4xf32>, %m: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %t = arith.mulf %x, %c : tensor<4xf32>
  %r = arith.addf %t, %m : tensor<4xf32>
  %s = arith.negf %t : tensor<4xf32>
  return %r, %s : tensor<4xf32>, tensor<4xf32>
}

// f16 is computed in f32 and rounded an operation: fusing would change its values.
// CHECK-LABEL: func.func @half
// CHECK-NOT: math.fma
func.func @half(%x: tensor<4xf16>, %c: tensor<4xf16>, %m: tensor<4xf16>) -> tensor<4xf16> {
  %t = arith.mulf %x, %c : tensor<4xf16>
  %r = arith.addf %t, %m : tensor<4xf16>
  return %r : tensor<4xf16>
}

// The product is computed before its addend arrives: one tile waits for it, and not two. A product with one number leaves one tile either way.
// CHECK-LABEL: func.func @loaded
// CHECK: %[[T:.*]] = arith.mulf
// CHECK: tile.load
// CHECK: arith.addf %[[T]]
// CHECK: math.fma
func.func @loaded(%x: tensor<4xf32>, %c: tensor<4xf32>, %s: f32, %p: !tile.block_ptr<4xbf16>) -> (tensor<4xf32>, tensor<4xf32>) {
  %t = arith.mulf %x, %c : tensor<4xf32>
  %one = tile.splat %s : f32 -> tensor<4xf32>
  %u = arith.mulf %x, %one : tensor<4xf32>
  %l = tile.load %p : !tile.block_ptr<4xbf16> -> tensor<4xbf16>
  %m = arith.extf %l : tensor<4xbf16> to tensor<4xf32>
  %r = arith.addf %t, %m : tensor<4xf32>
  %v = arith.addf %u, %m : tensor<4xf32>
  return %r, %v : tensor<4xf32>, tensor<4xf32>
}
