// The trips in which a mask is true for every element get a loop without it; the others keep it.
// RUN: fattn-opt %s -tile-split-loops -canonicalize -cse | FileCheck %s

// Columns i .. i+7 below n: true while i <= n - 8, that is for n / 8 whole steps.
// CHECK-LABEL: func.func @tail
// CHECK: %[[MID:.*]] = arith.trunci
// CHECK: %[[FULL:.*]] = scf.for %{{.*}} = %c0_i32 to %[[MID]] step %c8_i32
// CHECK-NOT: arith.select
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %[[MID]] to %arg1 step %c8_i32 iter_args(%{{.*}} = %[[FULL]])
// CHECK: arith.cmpi slt
// CHECK: arith.select
func.func @tail(%x: tensor<8xf32>, %n: i32) -> tensor<8xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %lanes = tile.arange 0 : tensor<8xi32>
  %r = scf.for %i = %c0 to %n step %c8 iter_args(%acc = %zero) -> (tensor<8xf32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<8xi32>
    %cols = arith.addi %lanes, %is : tensor<8xi32>
    %ns = tile.splat %n : i32 -> tensor<8xi32>
    %mask = arith.cmpi slt, %cols, %ns : tensor<8xi32>
    %v = arith.select %mask, %x, %zero : tensor<8xi1>, tensor<8xf32>
    %s = arith.addf %acc, %v : tensor<8xf32>
    scf.yield %s : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// A mask that depends on data is left alone.
// CHECK-LABEL: func.func @data
// CHECK-COUNT-1: scf.for
// CHECK-NOT: scf.for
func.func @data(%x: tensor<8xi32>, %n: i32) -> tensor<8xi32> {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %r = scf.for %i = %c0 to %n step %c8 iter_args(%acc = %x) -> (tensor<8xi32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<8xi32>
    %mask = arith.cmpi slt, %acc, %is : tensor<8xi32>
    %v = arith.select %mask, %acc, %is : tensor<8xi1>, tensor<8xi32>
    scf.yield %v : tensor<8xi32>
  }
  return %r : tensor<8xi32>
}

// A load of the trips before the tail needs no boundary check along the dimension that the mask is about; the other dimension keeps its own.
// CHECK-LABEL: func.func @access
// CHECK: scf.for
// CHECK: tile.load %{{.*}} {boundary_check = array<i64: 1>}
// CHECK: scf.for
// CHECK: tile.load %{{.*}} {boundary_check = array<i64: 0, 1>}
func.func @access(%base: !tile.ptr<f32>, %n: i64, %m: i64) -> tensor<8x4xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x4xf32>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c8 = arith.constant 8 : i64
  %rows = tile.arange 0 : tensor<8xi64>
  %ptr = tile.make_block_ptr %base, shape [%n, %m], strides [%m, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<8x4xf32>
  %r = scf.for %i = %c0 to %n step %c8 iter_args(%acc = %zero) -> (tensor<8x4xf32>) : i64 {
    %at = tile.advance %ptr, [%i, %c0] : !tile.block_ptr<8x4xf32>
    %x = tile.load %at {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<8x4xf32> -> tensor<8x4xf32>
    %is = tile.splat %i : i64 -> tensor<8xi64>
    %row = arith.addi %rows, %is : tensor<8xi64>
    %ns = tile.splat %n : i64 -> tensor<8xi64>
    %below = arith.cmpi slt, %row, %ns : tensor<8xi64>
    %column = tile.expand_dims %below, 1 : tensor<8xi1> -> tensor<8x1xi1>
    %mask = tile.broadcast %column : tensor<8x1xi1> -> tensor<8x4xi1>
    %v = arith.select %mask, %x, %zero : tensor<8x4xi1>, tensor<8x4xf32>
    %s = arith.addf %acc, %v : tensor<8x4xf32>
    scf.yield %s : tensor<8x4xf32>
  }
  return %r : tensor<8x4xf32>
}
