// A reduction moves up to the tile that it reduces, past a dot that takes it, too.
// RUN: fattn-opt %s -cpu-raise-reductions | FileCheck %s

// CHECK-LABEL: func.func @sum_behind_a_dot
// CHECK: %[[P:.*]] = math.exp2
// CHECK-NEXT: tile.reduce %[[P]]
// CHECK: tile.dot %[[P]]
func.func @sum_behind_a_dot(%x: tensor<16x16xf32>, %v: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16xf32>) {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %p = math.exp2 %x : tensor<16x16xf32>
  %d = tile.dot %p, %v, %zero : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %l = tile.reduce %p axis 1 : tensor<16x16xf32> -> tensor<16xf32> {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    tile.yield %sum : f32
  }
  return %d, %l : tensor<16x16xf32>, tensor<16xf32>
}

// What is not computed elementwise stays where it is: the sum of a dot's result.
// CHECK-LABEL: func.func @sum_of_a_dot
// CHECK: tile.dot
// CHECK-NEXT: math.exp2
// CHECK-NEXT: tile.reduce
func.func @sum_of_a_dot(%x: tensor<16x16xf32>, %v: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16xf32>) {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %d = tile.dot %x, %v, %zero : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %p = math.exp2 %x : tensor<16x16xf32>
  %l = tile.reduce %d axis 1 : tensor<16x16xf32> -> tensor<16xf32> {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    tile.yield %sum : f32
  }
  return %p, %l : tensor<16x16xf32>, tensor<16xf32>
}
