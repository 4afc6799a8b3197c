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
