// Where masks are partial in the first trips, these get the loop with masks; where first and last ones are, there are three loops if the work of
// a trip is worth it.
// RUN: fattn-opt %s -tile-split-loops -canonicalize -cse | FileCheck %s

// CHECK-LABEL: func.func @later
// CHECK: %[[FIRST:.*]] = arith.trunci
// CHECK: %[[HEAD:.*]] = scf.for %{{.*}} = %c0_i32 to %[[FIRST]] step %c8_i32
// CHECK: arith.cmpi sge
// CHECK: arith.select
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %arg2 step %c8_i32 iter_args(%{{.*}} = %[[HEAD]])
// CHECK-NOT: arith.select
// CHECK-NOT: scf.for
// CHECK: return
func.func @later(%x: tensor<8xf32>, %n: i32, %end: i32) -> tensor<8xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %lanes = tile.arange 0 : tensor<8xi32>
  %r = scf.for %i = %c0 to %end step %c8 iter_args(%acc = %zero) -> (tensor<8xf32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<8xi32>
    %cols = arith.addi %lanes, %is : tensor<8xi32>
    %ns = tile.splat %n : i32 -> tensor<8xi32>
    %mask = arith.cmpi sge, %cols, %ns : tensor<8xi32>
    %v = arith.select %mask, %x, %zero : tensor<8xi1>, tensor<8xf32>
    %s = arith.addf %acc, %v : tensor<8xf32>
    scf.yield %s : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// A window over dots: head, middle, tail.
// CHECK-LABEL: func.func @window
// CHECK: %[[HEAD:.*]] = scf.for %{{.*}} = %c0_i32 to %[[FIRST:[a-z0-9]+]] step
// CHECK: tile.dot
// CHECK: arith.select
// CHECK: %[[FULL:.*]] = scf.for %{{.*}} = %[[FIRST]] to %[[LAST:[a-z0-9]+]] step {{.*}} iter_args(%{{.*}} = %[[HEAD]])
// CHECK: tile.dot
// CHECK-NOT: arith.select
// CHECK: scf.for %{{.*}} = %[[LAST]] to %arg4 step {{.*}} iter_args(%{{.*}} = %[[FULL]])
// CHECK: tile.dot
// CHECK: arith.select
// CHECK-NOT: scf.for
// CHECK: return
func.func @window(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %row: i32, %w: i32, %end: i32) -> tensor<8x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %lanes = tile.arange 0 : tensor<8xi32>
  %rs = tile.splat %row : i32 -> tensor<8xi32>
  %rowline = arith.addi %lanes, %rs : tensor<8xi32>
  %rowcolumn = tile.expand_dims %rowline, 1 : tensor<8xi32> -> tensor<8x1xi32>
  %rows = tile.broadcast %rowcolumn : tensor<8x1xi32> -> tensor<8x8xi32>
  %ws = tile.splat %w : i32 -> tensor<8x8xi32>
  %edges = arith.subi %rows, %ws : tensor<8x8xi32>
  %r = scf.for %i = %c0 to %end step %c8 iter_args(%acc = %zero) -> (tensor<8x8xf32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<8xi32>
    %line = arith.addi %lanes, %is : tensor<8xi32>
    %colrow = tile.expand_dims %line, 0 : tensor<8xi32> -> tensor<1x8xi32>
    %cols = tile.broadcast %colrow : tensor<1x8xi32> -> tensor<8x8xi32>
    %below = arith.cmpi sle, %cols, %rows : tensor<8x8xi32>
    %above = arith.cmpi sgt, %cols, %edges : tensor<8x8xi32>
    %mask = arith.andi %below, %above : tensor<8x8xi1>
    %p = tile.dot %a, %b, %acc : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %v = arith.select %mask, %p, %zero : tensor<8x8xi1>, tensor<8x8xf32>
    scf.yield %v : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}

// A window over little work is split once: the middle keeps the mask of its first trips.
// CHECK-LABEL: func.func @small
// CHECK: scf.for
// CHECK: arith.cmpi sgt
// CHECK-NOT: arith.cmpi slt
// CHECK: scf.for
// CHECK: arith.cmpi
// CHECK: arith.cmpi
// CHECK-NOT: scf.for
// CHECK: return
func.func @small(%x: tensor<8xf32>, %from: i32, %n: i32) -> tensor<8xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %lanes = tile.arange 0 : tensor<8xi32>
  %ns = tile.splat %n : i32 -> tensor<8xi32>
  %froms = tile.splat %from : i32 -> tensor<8xi32>
  %r = scf.for %i = %c0 to %n step %c8 iter_args(%acc = %zero) -> (tensor<8xf32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<8xi32>
    %cols = arith.addi %lanes, %is : tensor<8xi32>
    %below = arith.cmpi slt, %cols, %ns : tensor<8xi32>
    %above = arith.cmpi sgt, %cols, %froms : tensor<8xi32>
    %mask = arith.andi %below, %above : tensor<8xi1>
    %v = arith.select %mask, %x, %zero : tensor<8xi1>, tensor<8xf32>
    %s = arith.addf %acc, %v : tensor<8xf32>
    scf.yield %s : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// Downwards: that the window begins inside of the array is known in the first trips, the mask in the last ones. A third loop is not worth it: the
// load keeps its checks.
// CHECK-LABEL: func.func @access
// CHECK: scf.for
// CHECK: tile.load %{{.*}} {boundary_check = array<i64: 0, 1>}
// CHECK: arith.select
// CHECK: scf.for
// CHECK: tile.load %{{.*}} {boundary_check = array<i64: 0, 1>}
// CHECK-NOT: arith.select
// CHECK: return
func.func @access(%base: !tile.ptr<f32>, %n: i64, %m: i64, %blocks: i64) -> tensor<8x4xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x4xf32>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c8 = arith.constant 8 : i64
  %rows = tile.arange 0 : tensor<8xi64>
  %last = arith.subi %blocks, %c1 : i64
  %ptr = tile.make_block_ptr %base, shape [%n, %m], strides [%m, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<8x4xf32>
  %r = scf.for %i = %c0 to %blocks step %c1 iter_args(%acc = %zero) -> (tensor<8x4xf32>) : i64 {
    %block = arith.subi %last, %i : i64
    %down = arith.muli %block, %c8 : i64
    %at = tile.advance %ptr, [%down, %c0] : !tile.block_ptr<8x4xf32>
    %x = tile.load %at {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<8x4xf32> -> tensor<8x4xf32>
    %is = tile.splat %down : i64 -> tensor<8xi64>
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

// A mask that stays the same in all trips and is computed before the loop is worth no second loop.
// CHECK-LABEL: func.func @fixed
// CHECK-COUNT-1: scf.for
// CHECK-NOT: scf.for
// CHECK: return
func.func @fixed(%x: tensor<8xf32>, %from: i32, %n: i32) -> tensor<8xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %lanes = tile.arange 0 : tensor<8xi32>
  %froms = tile.splat %from : i32 -> tensor<8xi32>
  %mask = arith.cmpi slt, %lanes, %froms : tensor<8xi32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<8xf32>) : i32 {
    %p = arith.addf %acc, %x : tensor<8xf32>
    %v = arith.select %mask, %p, %zero : tensor<8xi1>, tensor<8xf32>
    scf.yield %v : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}
