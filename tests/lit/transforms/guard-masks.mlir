// Trips that know a mask to be true branch around its select; the loop stays one.
// RUN: fattn-opt %s -tile-guard-masks -canonicalize -cse | FileCheck %s

// Columns i .. i+7 below n: true while i <= n - 8. The mask is computed only where it is needed.
// CHECK-LABEL: func.func @tail
// CHECK: %[[MID:.*]] = arith.trunci
// CHECK: scf.for %[[I:[a-z0-9]+]] = %c0_i32 to %arg1 step %c8_i32
// CHECK-NEXT: %[[KNOWN:.*]] = arith.cmpi slt, %[[I]], %[[MID]] : i32
// CHECK-NEXT: %[[V:.*]] = scf.if %[[KNOWN]]
// CHECK-NEXT: scf.yield %arg0
// CHECK-NEXT: } else {
// CHECK: arith.cmpi slt
// CHECK-NEXT: %[[MASKED:.*]] = arith.select
// CHECK-NEXT: scf.yield %[[MASKED]]
// CHECK: arith.addf %{{.*}}, %[[V]]
// CHECK-NOT: scf.for
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

// Both conditions of a conjunction are known in the trips below the lesser of their limits; the select inside of another branch is spared
// there as well.
// CHECK-LABEL: func.func @conjunction
// CHECK: scf.for
// CHECK-NEXT: %[[KNOWN:.*]] = arith.cmpi slt
// CHECK-NOT: tile.broadcast
// CHECK: scf.if %[[KNOWN]]
// CHECK: arith.andi
// CHECK: arith.select
// CHECK: scf.if %arg4
// CHECK: scf.if %[[KNOWN]]
// CHECK: arith.andi
// CHECK: arith.select
func.func @conjunction(%x: tensor<4x8xf32>, %rows: tensor<4xi32>, %n: i32, %m: i32, %c: i1) -> tensor<4x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x8xf32>
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %lanes = tile.arange 0 : tensor<8xi32>
  %r = scf.for %i = %c0 to %n step %c8 iter_args(%acc = %zero) -> (tensor<4x8xf32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<8xi32>
    %cols = arith.addi %lanes, %is : tensor<8xi32>
    %ns = tile.splat %n : i32 -> tensor<8xi32>
    %ms = tile.splat %m : i32 -> tensor<8xi32>
    %below = arith.cmpi slt, %cols, %ns : tensor<8xi32>
    %left = arith.cmpi sle, %cols, %ms : tensor<8xi32>
    %mask = arith.andi %below, %left : tensor<8xi1>
    %row = tile.expand_dims %mask, 0 : tensor<8xi1> -> tensor<1x8xi1>
    %wide = tile.broadcast %row : tensor<1x8xi1> -> tensor<4x8xi1>
    %v = arith.select %wide, %x, %zero : tensor<4x8xi1>, tensor<4x8xf32>
    %w = scf.if %c -> (tensor<4x8xf32>) {
      %double = arith.addf %x, %x : tensor<4x8xf32>
      %u = arith.select %wide, %double, %zero : tensor<4x8xi1>, tensor<4x8xf32>
      scf.yield %u : tensor<4x8xf32>
    } else {
      scf.yield %v : tensor<4x8xf32>
    }
    %s = arith.addf %acc, %w : tensor<4x8xf32>
    scf.yield %s : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

// A mask that depends on data is known in no trip, and one of equality neither.
// CHECK-LABEL: func.func @unknown
// CHECK-NOT: scf.if
// CHECK: return
func.func @unknown(%x: tensor<8xi32>, %n: i32) -> tensor<8xi32> {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %half = arith.constant dense<100> : tensor<8xi32>
  %lanes = tile.arange 0 : tensor<8xi32>
  %r = scf.for %i = %c0 to %n step %c8 iter_args(%acc = %x) -> (tensor<8xi32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<8xi32>
    %cols = arith.addi %lanes, %is : tensor<8xi32>
    %equal = arith.cmpi eq, %cols, %half : tensor<8xi32>
    %v = arith.select %equal, %acc, %is : tensor<8xi1>, tensor<8xi32>
    %data = arith.cmpi slt, %v, %is : tensor<8xi32>
    %w = arith.select %data, %v, %cols : tensor<8xi1>, tensor<8xi32>
    scf.yield %w : tensor<8xi32>
  }
  return %r : tensor<8xi32>
}

// A mask that is also stored stays in the loop for that; its select is spared all the same.
// CHECK-LABEL: func.func @stored
// CHECK: scf.for
// CHECK: %[[MASK:.*]] = arith.cmpi slt, %{{.*}} : tensor<8xi32>
// CHECK: scf.if
// CHECK: arith.select %[[MASK]]
// CHECK: arith.andi %{{.*}}, %[[MASK]]
func.func @stored(%x: tensor<8xf32>, %n: i32, %all: tensor<8xi1>) -> (tensor<8xf32>, tensor<8xi1>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %lanes = tile.arange 0 : tensor<8xi32>
  %r:2 = scf.for %i = %c0 to %n step %c8 iter_args(%acc = %zero, %seen = %all) -> (tensor<8xf32>, tensor<8xi1>) : i32 {
    %is = tile.splat %i : i32 -> tensor<8xi32>
    %cols = arith.addi %lanes, %is : tensor<8xi32>
    %ns = tile.splat %n : i32 -> tensor<8xi32>
    %mask = arith.cmpi slt, %cols, %ns : tensor<8xi32>
    %v = arith.select %mask, %x, %zero : tensor<8xi1>, tensor<8xf32>
    %s = arith.addf %acc, %v : tensor<8xf32>
    %both = arith.andi %seen, %mask : tensor<8xi1>
    scf.yield %s, %both : tensor<8xf32>, tensor<8xi1>
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<8xi1>
}
