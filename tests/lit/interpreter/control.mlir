// Loops and branches.
// RUN: fattn-opt --interpret %s | FileCheck %s

// CHECK-LABEL: @loops
func.func @loops(%n: i32 {tile.init = 10 : i32}) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %tile = arith.constant dense<0> : tensor<2xi32>
  // 0, 3, 6, 9
  // CHECK: for 18 [0, 36]
  %0, %1 = scf.for %i = %c0 to %n step %c3 iter_args(%sum = %c0, %t = %tile) -> (i32, tensor<2xi32>) : i32 {
    %next = arith.addi %sum, %i : i32
    %pair = tile.arange 0 : tensor<2xi32>
    %splat = tile.splat %i : i32 -> tensor<2xi32>
    %product = arith.muli %pair, %splat : tensor<2xi32>
    %twice = arith.addi %product, %product : tensor<2xi32>
    %more = arith.addi %t, %twice : tensor<2xi32>
    scf.yield %next, %more : i32, tensor<2xi32>
  }
  tile.device_print "for", %0, %1 : i32, tensor<2xi32>
  // CHECK: empty 0
  %2 = scf.for %i = %n to %c0 step %c1 iter_args(%sum = %c0) -> (i32) : i32 {
    scf.yield %c1 : i32
  }
  tile.device_print "empty", %2 : i32
  // Collatz from 10: 5 16 8 4 2 1
  // CHECK: while 6 1
  %c2 = arith.constant 2 : i32
  %3, %4 = scf.while (%steps = %c0, %x = %n) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi ne, %x, %c1 : i32
    scf.condition(%more) %steps, %x : i32, i32
  } do {
  ^bb0(%steps: i32, %x: i32):
    %half = arith.divsi %x, %c2 : i32
    %triple = arith.muli %x, %c3 : i32
    %up = arith.addi %triple, %c1 : i32
    %rest = arith.remsi %x, %c2 : i32
    %even = arith.cmpi eq, %rest, %c0 : i32
    %next = scf.if %even -> (i32) {
      scf.yield %half : i32
    } else {
      scf.yield %up : i32
    }
    %count = arith.addi %steps, %c1 : i32
    scf.yield %count, %next : i32, i32
  }
  tile.device_print "while", %3, %4 : i32, i32
  // CHECK-NOT: never
  // CHECK: always
  %false = arith.constant false
  %true = arith.constant true
  scf.if %false {
    tile.device_print "never"
  }
  scf.if %true {
    tile.device_print "always"
  }
  return
}

// A loop carries a block pointer.
// CHECK-LABEL: @carried_pointer
// CHECK-NEXT: [0,0,0] sum [4, 6]
func.func @carried_pointer(%p: !tile.ptr<i64> {tile.init = dense<[1, 2, 3, 4]> : tensor<4xi64>}) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c4 = arith.constant 4 : i64
  %zero = arith.constant dense<0> : tensor<2xi64>
  %block = tile.make_block_ptr %p, shape [%c4], strides [%c1], offsets [%c0] : !tile.ptr<i64> -> !tile.block_ptr<2xi64>
  %sum, %end = scf.for %i = %c0 to %c2 step %c1 iter_args(%acc = %zero, %at = %block) -> (tensor<2xi64>, !tile.block_ptr<2xi64>) : i64 {
    %x = tile.load %at : !tile.block_ptr<2xi64> -> tensor<2xi64>
    %more = arith.addi %acc, %x : tensor<2xi64>
    %next = tile.advance %at, [%c2] : !tile.block_ptr<2xi64>
    scf.yield %more, %next : tensor<2xi64>, !tile.block_ptr<2xi64>
  }
  tile.device_print "sum", %sum : tensor<2xi64>
  return
}

// CHECK-LABEL: @poison
// CHECK-NEXT: [0,0,0] poison nan 0
func.func @poison() {
  %0 = ub.poison : f32
  %1 = ub.poison : i32
  tile.device_print "poison", %0, %1 : f32, i32
  return
}
