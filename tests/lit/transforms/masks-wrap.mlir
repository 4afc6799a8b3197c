// Integers wrap around: a mask computed from a sum beyond the greatest integer is what the wrapped sum says, in all trips.
// RUN: fattn-opt --interpret %s | FileCheck %s
// RUN: fattn-opt -tile-guard-masks -canonicalize --interpret %s | FileCheck %s
// RUN: fattn-opt -tile-split-loops -canonicalize --interpret %s | FileCheck %s

// The columns i .. i+3 below a + b, where a + b wraps around to a negative number: no column is. Where it does not wrap, 9 columns are.
// CHECK-LABEL: @limit_wraps
// CHECK: wraps [0, 0, 0, 0]
// CHECK: does not [3, 2, 2, 2]
func.func @limit_wraps(%a: i32 {tile.init = 2147483600 : i32}, %b: i32 {tile.init = 100 : i32}) {
  %none = arith.constant dense<0> : tensor<4xi32>
  %one = arith.constant dense<1> : tensor<4xi32>
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %c12 = arith.constant 12 : i32
  %c91 = arith.constant -91 : i32
  %lanes = tile.arange 0 : tensor<4xi32>
  %limit = arith.addi %a, %b : i32
  %r = scf.for %i = %c0 to %c12 step %c4 iter_args(%acc = %none) -> (tensor<4xi32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<4xi32>
    %cols = arith.addi %lanes, %is : tensor<4xi32>
    %limits = tile.splat %limit : i32 -> tensor<4xi32>
    %mask = arith.cmpi slt, %cols, %limits : tensor<4xi32>
    %v = arith.select %mask, %one, %none : tensor<4xi1>, tensor<4xi32>
    %s = arith.addi %acc, %v : tensor<4xi32>
    scf.yield %s : tensor<4xi32>
  }
  tile.device_print "wraps", %r : tensor<4xi32>
  %less = arith.addi %b, %c91 : i32
  %t = scf.for %i = %c0 to %c12 step %c4 iter_args(%acc = %none) -> (tensor<4xi32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<4xi32>
    %cols = arith.addi %lanes, %is : tensor<4xi32>
    %limits = tile.splat %less : i32 -> tensor<4xi32>
    %mask = arith.cmpi slt, %cols, %limits : tensor<4xi32>
    %v = arith.select %mask, %one, %none : tensor<4xi1>, tensor<4xi32>
    %s = arith.addi %acc, %v : tensor<4xi32>
    scf.yield %s : tensor<4xi32>
  }
  tile.device_print "does not", %t : tensor<4xi32>
  return
}

// The tile itself wraps around: 2147483640 + 4 .. 11 are below 0 from 2147483648 on, which is below every limit.
// CHECK-LABEL: @tile_wraps
// CHECK: [1, 1, 1, 1]
func.func @tile_wraps(%base: i32 {tile.init = 2147483640 : i32}) {
  %none = arith.constant dense<0> : tensor<4xi32>
  %one = arith.constant dense<1> : tensor<4xi32>
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %c12 = arith.constant 12 : i32
  %lanes = tile.arange 0 : tensor<4xi32>
  %r = scf.for %i = %c0 to %c12 step %c4 iter_args(%acc = %none) -> (tensor<4xi32>) : i32 {
    %is = arith.addi %base, %i : i32
    %iss = tile.splat %is : i32 -> tensor<4xi32>
    %cols = arith.addi %lanes, %iss : tensor<4xi32>
    %mask = arith.cmpi slt, %cols, %none : tensor<4xi32>
    %v = arith.select %mask, %one, %none : tensor<4xi1>, tensor<4xi32>
    %s = arith.addi %acc, %v : tensor<4xi32>
    scf.yield %s : tensor<4xi32>
  }
  tile.device_print "tile", %r : tensor<4xi32>
  return
}

// The same in 64 bits, where nothing wider is at hand: a + b is -2 modulo 2^64, and 3 * c is negative.
// CHECK-LABEL: @wide
// CHECK: sum [0, 0, 0, 0]
// CHECK: product [0, 0, 0, 0]
func.func @wide(%a: i64 {tile.init = 9223372036854775807 : i64}, %c: i64 {tile.init = 4611686018427387904 : i64}) {
  %none = arith.constant dense<0> : tensor<4xi32>
  %one = arith.constant dense<1> : tensor<4xi32>
  %c0 = arith.constant 0 : i64
  %c4 = arith.constant 4 : i64
  %c3 = arith.constant 3 : i64
  %c12 = arith.constant 12 : i64
  %lanes = tile.arange 0 : tensor<4xi64>
  %limit = arith.addi %a, %a : i64
  %product = arith.muli %c, %c3 : i64
  %r:2 = scf.for %i = %c0 to %c12 step %c4 iter_args(%acc = %none, %acc2 = %none) -> (tensor<4xi32>, tensor<4xi32>) : i64 {
    %is = tile.splat %i : i64 -> tensor<4xi64>
    %cols = arith.addi %lanes, %is : tensor<4xi64>
    %limits = tile.splat %limit : i64 -> tensor<4xi64>
    %mask = arith.cmpi slt, %cols, %limits : tensor<4xi64>
    %v = arith.select %mask, %one, %none : tensor<4xi1>, tensor<4xi32>
    %s = arith.addi %acc, %v : tensor<4xi32>
    %products = tile.splat %product : i64 -> tensor<4xi64>
    %mask2 = arith.cmpi sle, %cols, %products : tensor<4xi64>
    %v2 = arith.select %mask2, %one, %none : tensor<4xi1>, tensor<4xi32>
    %s2 = arith.addi %acc2, %v2 : tensor<4xi32>
    scf.yield %s, %s2 : tensor<4xi32>, tensor<4xi32>
  }
  tile.device_print "sum", %r#0 : tensor<4xi32>
  tile.device_print "product", %r#1 : tensor<4xi32>
  return
}
