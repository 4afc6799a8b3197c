// Operations that move elements.
// RUN: fattn-opt --interpret %s | FileCheck %s

// CHECK-LABEL: @shapes
func.func @shapes() {
  // CHECK: a [-2, -1, 0, 1, 2, 3]
  %a = tile.arange -2 : tensor<6xi32>
  tile.device_print "a", %a : tensor<6xi32>
  // CHECK: b {{\[}}[-2, -1, 0], [1, 2, 3]]
  %b = tile.reshape %a : tensor<6xi32> -> tensor<2x3xi32>
  tile.device_print "b", %b : tensor<2x3xi32>
  // CHECK: c {{\[}}[-2, 1], [-1, 2], [0, 3]]
  %c = tile.trans %b, [1, 0] : tensor<2x3xi32> -> tensor<3x2xi32>
  tile.device_print "c", %c : tensor<3x2xi32>
  // CHECK: d {{\[}}{{\[}}[-2, -1, 0]], {{\[}}[1, 2, 3]]]
  %d = tile.expand_dims %b, 1 : tensor<2x3xi32> -> tensor<2x1x3xi32>
  tile.device_print "d", %d : tensor<2x1x3xi32>
  // CHECK: e {{\[}}{{\[}}[-2, -1, 0], [-2, -1, 0]], {{\[}}[1, 2, 3], [1, 2, 3]]]
  %e = tile.broadcast %d : tensor<2x1x3xi32> -> tensor<2x2x3xi32>
  tile.device_print "e", %e : tensor<2x2x3xi32>
  // dim 0 of f is dim 2 of e, dim 1 is dim 0, dim 2 is dim 1
  // CHECK: f {{\[}}{{\[}}[-2, -2], [1, 1]], {{\[}}[-1, -1], [2, 2]], {{\[}}[0, 0], [3, 3]]]
  %f = tile.trans %e, [2, 0, 1] : tensor<2x2x3xi32> -> tensor<3x2x2xi32>
  tile.device_print "f", %f : tensor<3x2x2xi32>
  // CHECK: g {{\[}}[-2, 1], [-1, 1], [0, 1], [1, 1], [2, 1], [3, 1]]
  %one = arith.constant 1 : i32
  %ones = tile.splat %one : i32 -> tensor<6xi32>
  %g = tile.join %a, %ones : tensor<6xi32> -> tensor<6x2xi32>
  tile.device_print "g", %g : tensor<6x2xi32>
  // CHECK: h [-2, -1, 0, 1, 2, 3] [1, 1, 1, 1, 1, 1]
  %h, %i = tile.split %g : tensor<6x2xi32> -> tensor<6xi32>
  tile.device_print "h", %h, %i : tensor<6xi32>, tensor<6xi32>
  return
}
