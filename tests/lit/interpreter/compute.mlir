// dot, reduce, cumsum, select_lazy and the hints, against values worked out by hand.
// RUN: fattn-opt --interpret %s | FileCheck %s
// RUN: fattn-opt --interpret="take-exact-everywhere" %s | FileCheck %s --check-prefix=EXACT

// CHECK-LABEL: @dot
func.func @dot() {
  // [[1, 2, 3], [4, 5, 6]] . [[1, 2], [3, 4], [5, 6]] + [[100, 0], [0, 100]]
  // CHECK: f32 {{\[}}[122, 28], [49, 164]]
  %a = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %b = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %c = arith.constant dense<[[100.0, 0.0], [0.0, 100.0]]> : tensor<2x2xf32>
  %0 = tile.dot %a, %b, %c : tensor<2x3xf32>, tensor<3x2xf32> -> tensor<2x2xf32>
  tile.device_print "f32", %0 : tensor<2x2xf32>
  // 2048 + 1 + 1 rounds once, to 2050; two roundings would give 2048.
  // CHECK: f16 {{\[}}[2050]]
  %h = arith.constant dense<[[2048.0, 1.0, 1.0]]> : tensor<1x3xf16>
  %ones = arith.constant dense<1.0> : tensor<3x1xf16>
  %zero = arith.constant dense<0.0> : tensor<1x1xf16>
  %1 = tile.dot %h, %ones, %zero : tensor<1x3xf16>, tensor<3x1xf16> -> tensor<1x1xf16>
  tile.device_print "f16", %1 : tensor<1x1xf16>
  // -128 * -128 * 2 + 2147483647 wraps
  // CHECK: i8 {{\[}}[-2147450881]]
  %i = arith.constant dense<-128> : tensor<1x2xi8>
  %j = arith.constant dense<-128> : tensor<2x1xi8>
  %k = arith.constant dense<2147483647> : tensor<1x1xi32>
  %2 = tile.dot %i, %j, %k : tensor<1x2xi8>, tensor<2x1xi8> -> tensor<1x1xi32>
  tile.device_print "i8", %2 : tensor<1x1xi32>
  // 1.00048828125 = 1 + 2^-11 is halfway between two tf32 numbers and rounds to the even one, 1; ieee keeps it.
  // CHECK: tf32 {{\[}}[1]] {{\[}}[1.0004883]]
  %x = arith.constant dense<1.00048828125> : tensor<1x1xf32>
  %one = arith.constant dense<1.0> : tensor<1x1xf32>
  %none = arith.constant dense<0.0> : tensor<1x1xf32>
  %3 = tile.dot %x, %one, %none precision tf32 : tensor<1x1xf32>, tensor<1x1xf32> -> tensor<1x1xf32>
  %4 = tile.dot %x, %one, %none : tensor<1x1xf32>, tensor<1x1xf32> -> tensor<1x1xf32>
  tile.device_print "tf32", %3, %4 : tensor<1x1xf32>, tensor<1x1xf32>
  // CHECK: f8 {{\[}}[-672]]
  %e4 = arith.constant dense<448.0> : tensor<1x1xf8E4M3FN>
  %e5 = arith.constant dense<-1.5> : tensor<1x1xf8E5M2>
  %5 = tile.dot %e4, %e5, %none : tensor<1x1xf8E4M3FN>, tensor<1x1xf8E5M2> -> tensor<1x1xf32>
  tile.device_print "f8", %5 : tensor<1x1xf32>
  return
}

// CHECK-LABEL: @reduce
func.func @reduce() {
  %x = arith.constant dense<[[3.0, 9.0, 0x7FC00000], [5.0, -1.0, 5.0]]> : tensor<2x3xf32>
  // CHECK: max {{\[}}9, 5] [5, 9, 5]
  %0 = tile.reduce %x axis 1 : tensor<2x3xf32> -> tensor<2xf32> {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maxnumf %a, %b : f32
    tile.yield %m : f32
  }
  %1 = tile.reduce %x axis 0 : tensor<2x3xf32> -> tensor<3xf32> {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maxnumf %a, %b : f32
    tile.yield %m : f32
  }
  tile.device_print "max", %0, %1 : tensor<2xf32>, tensor<3xf32>
  // The greatest and where it is first: a combination of two values with control flow in it.
  // CHECK: argmax [9, 7] [1, 2]
  %y = arith.constant dense<[[3, 9, 9], [5, 6, 7]]> : tensor<2x3xi32>
  %i = arith.constant dense<[[0, 1, 2], [0, 1, 2]]> : tensor<2x3xi32>
  %2, %3 = tile.reduce %y, %i axis 1 : tensor<2x3xi32>, tensor<2x3xi32> -> tensor<2xi32>, tensor<2xi32> {
  ^bb0(%a: i32, %ai: i32, %b: i32, %bi: i32):
    %less = arith.cmpi slt, %a, %b : i32
    %m, %mi = scf.if %less -> (i32, i32) {
      scf.yield %b, %bi : i32, i32
    } else {
      scf.yield %a, %ai : i32, i32
    }
    tile.yield %m, %mi : i32, i32
  }
  tile.device_print "argmax", %2, %3 : tensor<2xi32>, tensor<2xi32>
  // Each addition rounds: 2048 + 1 is 2048 in f16.
  // CHECK: sum 2048
  // CHECK: one [3]
  %h = arith.constant dense<[2048.0, 1.0, 1.0]> : tensor<3xf16>
  %4 = tile.reduce %h axis 0 : tensor<3xf16> -> tensor<f16> {
  ^bb0(%a: f16, %b: f16):
    %s = arith.addf %a, %b : f16
    tile.yield %s : f16
  }
  %z = arith.constant dense<[[3]]> : tensor<1x1xi32>
  %5 = tile.reduce %z axis 0 : tensor<1x1xi32> -> tensor<1xi32> {
  ^bb0(%a: i32, %b: i32):
    %s = arith.muli %a, %b : i32
    tile.yield %s : i32
  }
  tile.device_print "sum", %4 : tensor<f16>
  tile.device_print "one", %5 : tensor<1xi32>
  return
}

// CHECK-LABEL: @cumsum
func.func @cumsum() {
  %x = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %b = arith.constant dense<[100, 100, 100]> : tensor<3xi8>
  %h = arith.constant dense<[2048.0, 1.0, 1.0]> : tensor<3xf16>
  %0 = tile.cumsum %x axis 1 : tensor<2x3xi32>
  %1 = tile.cumsum %x axis 1 reverse : tensor<2x3xi32>
  %2 = tile.cumsum %x axis 0 : tensor<2x3xi32>
  %3 = tile.cumsum %b axis 0 : tensor<3xi8>
  %4 = tile.cumsum %h axis 0 : tensor<3xf16>
  // CHECK: rows {{\[}}[1, 3, 6], [4, 9, 15]] {{\[}}[6, 5, 3], [15, 11, 6]]
  tile.device_print "rows", %0, %1 : tensor<2x3xi32>, tensor<2x3xi32>
  // CHECK: columns {{\[}}[1, 2, 3], [5, 7, 9]]
  tile.device_print "columns", %2 : tensor<2x3xi32>
  // CHECK: wraps [100, -56, 44]
  tile.device_print "wraps", %3 : tensor<3xi8>
  // The sum is not rounded on its way: 2048 + 1 + 1 = 2050.
  // CHECK: rounds [2048, 2048, 2050]
  tile.device_print "rounds", %4 : tensor<3xf16>
  return
}

// CHECK-LABEL: @select_lazy
// EXACT-LABEL: @select_lazy
func.func @select_lazy() {
  %usual = arith.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %better = arith.constant dense<[[10, 20], [30, 40], [50, 60]]> : tensor<3x2xi32>
  %one = arith.constant 1 : i32
  %ten = arith.constant 10 : i32
  %rows = arith.constant dense<[false, true, false]> : tensor<3xi1>
  %no = arith.constant dense<false> : tensor<3xi1>
  %false = arith.constant false
  %true = arith.constant true
  // CHECK: rows {{\[}}[1, 2], [30, 40], [5, 6]]
  // EXACT: rows {{\[}}[10, 20], [30, 40], [50, 60]]
  %0 = tile.select_lazy %rows usual(%usual) : tensor<3xi1>, tensor<3x2xi32> -> tensor<3x2xi32> {
    tile.yield %better : tensor<3x2xi32>
  }
  tile.device_print "rows", %0 : tensor<3x2xi32>
  // Where no row needs it the exact side does not run.
  // CHECK-NOT: exact side
  // CHECK: none {{\[}}[1, 2], [3, 4], [5, 6]]
  // EXACT: exact side
  // EXACT: none {{\[}}[10, 20], [30, 40], [50, 60]]
  %1 = tile.select_lazy %no usual(%usual) : tensor<3xi1>, tensor<3x2xi32> -> tensor<3x2xi32> {
    tile.device_print "exact side"
    tile.yield %better : tensor<3x2xi32>
  }
  tile.device_print "none", %1 : tensor<3x2xi32>
  // CHECK: scalar 1 {{\[}}[10, 20], [30, 40], [50, 60]]
  // EXACT: scalar 10 {{\[}}[10, 20], [30, 40], [50, 60]]
  %2 = tile.select_lazy %false usual(%one) : i1, i32 -> i32 {
    tile.yield %ten : i32
  }
  %3 = tile.select_lazy %true usual(%usual) : i1, tensor<3x2xi32> -> tensor<3x2xi32> {
    tile.yield %better : tensor<3x2xi32>
  }
  tile.device_print "scalar", %2, %3 : i32, tensor<3x2xi32>
  return
}

// CHECK-LABEL: @assume_divisible
// CHECK-NEXT: [0,0,0] kept -24
func.func @assume_divisible(%n: i32 {tile.init = -24 : i32}) {
  %0 = tile.assume_divisible %n, 8 : i32
  tile.device_print "kept", %0 : i32
  return
}

// A number that was found out about a tile ends a loop.
// CHECK-LABEL: @unsplat
func.func @unsplat() {
  %x = arith.constant dense<[1, 4, 2]> : tensor<3xi32>
  %0 = tile.reduce %x axis 0 : tensor<3xi32> -> tensor<i32> {
  ^bb0(%a: i32, %b: i32):
    %m = arith.maxsi %a, %b : i32
    tile.yield %m : i32
  }
  %n = tile.unsplat %0 : tensor<i32> -> i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %trips = scf.for %i = %c0 to %n step %c1 iter_args(%t = %c0) -> (i32) : i32 {
    %next = arith.addi %t, %c1 : i32
    scf.yield %next : i32
  }
  // CHECK: trips 4
  tile.device_print "trips", %trips : i32
  return
}
