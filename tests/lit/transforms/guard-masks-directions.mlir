// Masks that are partial in the first trips, in the last ones, in both, or in all: the branch asks for the trips that know them.
// RUN: fattn-opt %s -tile-guard-masks -canonicalize -cse | FileCheck %s

// Columns i .. i+7 at least n: true from i = n on.
// CHECK-LABEL: func.func @later
// CHECK: %[[FIRST:.*]] = arith.trunci
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK-NEXT: %[[KNOWN:.*]] = arith.cmpi sge, %[[I]], %[[FIRST]] : i32
// CHECK-NEXT: %[[V:.*]] = scf.if %[[KNOWN]]
// CHECK-NEXT: scf.yield %arg0
// CHECK-NEXT: } else {
// CHECK: arith.cmpi sge
// CHECK-NEXT: arith.select
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

// The blocks come from the last one downwards: a tail is partial in the first trip, (n - 1) / 8 - i being the block.
// CHECK-LABEL: func.func @downwards
// CHECK: %[[FIRST:.*]] = arith.trunci
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK-NEXT: %[[KNOWN:.*]] = arith.cmpi sge, %[[I]], %[[FIRST]] : i32
// CHECK: scf.if %[[KNOWN]]
func.func @downwards(%x: tensor<8xf32>, %n: i32, %blocks: i32) -> tensor<8xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %lanes = tile.arange 0 : tensor<8xi32>
  %last = arith.subi %blocks, %c1 : i32
  %r = scf.for %i = %c0 to %blocks step %c1 iter_args(%acc = %zero) -> (tensor<8xf32>) : i32 {
    %block = arith.subi %last, %i : i32
    %at = arith.muli %block, %c8 : i32
    %is = tile.splat %at : i32 -> tensor<8xi32>
    %cols = arith.addi %lanes, %is : tensor<8xi32>
    %ns = tile.splat %n : i32 -> tensor<8xi32>
    %mask = arith.cmpi slt, %cols, %ns : tensor<8xi32>
    %v = arith.select %mask, %x, %zero : tensor<8xi1>, tensor<8xf32>
    %s = arith.addf %acc, %v : tensor<8xf32>
    scf.yield %s : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// A window that slides, row - w < column <= row: partial where it begins and where it ends. The step is an argument.
// CHECK-LABEL: func.func @window
// CHECK-DAG: %[[FIRST:.*]] = arith.trunci
// CHECK-DAG: %[[LAST:.*]] = arith.trunci
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK-NEXT: %[[BEGUN:.*]] = arith.cmpi sge, %[[I]], %{{.*}} : i32
// CHECK-NEXT: %[[ENDS:.*]] = arith.cmpi slt, %[[I]], %{{.*}} : i32
// CHECK-NEXT: %[[KNOWN:.*]] = arith.andi %[[BEGUN]], %[[ENDS]] : i1
// CHECK: %[[V:.*]] = scf.if %[[KNOWN]]
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } else {
// CHECK: arith.cmpi
// CHECK: arith.cmpi
// CHECK: arith.select
func.func @window(%x: tensor<4x8xf32>, %row: i32, %w: i32, %end: i32, %step: i32) -> tensor<4x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x8xf32>
  %c0 = arith.constant 0 : i32
  %lanes = tile.arange 0 : tensor<8xi32>
  %offsets = tile.arange 0 : tensor<4xi32>
  %rs = tile.splat %row : i32 -> tensor<4xi32>
  %rowline = arith.addi %offsets, %rs : tensor<4xi32>
  %rowcolumn = tile.expand_dims %rowline, 1 : tensor<4xi32> -> tensor<4x1xi32>
  %rows = tile.broadcast %rowcolumn : tensor<4x1xi32> -> tensor<4x8xi32>
  %ws = tile.splat %w : i32 -> tensor<4x8xi32>
  %edges = arith.subi %rows, %ws : tensor<4x8xi32>
  %r = scf.for %i = %c0 to %end step %step iter_args(%acc = %zero) -> (tensor<4x8xf32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<8xi32>
    %line = arith.addi %lanes, %is : tensor<8xi32>
    %colrow = tile.expand_dims %line, 0 : tensor<8xi32> -> tensor<1x8xi32>
    %cols = tile.broadcast %colrow : tensor<1x8xi32> -> tensor<4x8xi32>
    %below = arith.cmpi sle, %cols, %rows : tensor<4x8xi32>
    %above = arith.cmpi sgt, %cols, %edges : tensor<4x8xi32>
    %mask = arith.andi %below, %above : tensor<4x8xi1>
    %p = arith.addf %acc, %x : tensor<4x8xf32>
    %v = arith.select %mask, %p, %zero : tensor<4x8xi1>, tensor<4x8xf32>
    scf.yield %v : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

// A mask that says what to leave out: no element of (column > limit | row >= rows) may be true. One side moves, the other is known before the
// loop. The bound is loaded.
// CHECK-LABEL: func.func @excluded
// CHECK: %[[BOUND:.*]] = tile.gather %arg1
// CHECK: %[[LAST:.*]] = arith.trunci
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK-NEXT: %[[KNOWN:.*]] = arith.cmpi slt, %[[I]], %[[LAST]] : i32
// CHECK-NEXT: %[[P:.*]] = arith.addf
// CHECK-NEXT: scf.if %[[KNOWN]]
// CHECK-NEXT: scf.yield %[[P]]
// CHECK-NEXT: } else {
// CHECK: arith.ori
// CHECK: arith.select
func.func @excluded(%x: tensor<8x8xf32>, %address: !tile.ptr<i32>, %row: i32, %rows: i32, %end: i32) -> tensor<8x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %bound = tile.gather %address : !tile.ptr<i32> -> i32
  %lanes = tile.arange 0 : tensor<8xi32>
  %rs = tile.splat %row : i32 -> tensor<8xi32>
  %rowline = arith.addi %lanes, %rs : tensor<8xi32>
  %limits = tile.splat %rows : i32 -> tensor<8xi32>
  %outside = arith.cmpi sge, %rowline, %limits : tensor<8xi32>
  %outsidecolumn = tile.expand_dims %outside, 1 : tensor<8xi1> -> tensor<8x1xi1>
  %outsides = tile.broadcast %outsidecolumn : tensor<8x1xi1> -> tensor<8x8xi1>
  %bounds = tile.splat %bound : i32 -> tensor<8xi32>
  %r = scf.for %i = %c0 to %end step %c8 iter_args(%acc = %zero) -> (tensor<8x8xf32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<8xi32>
    %cols = arith.addi %lanes, %is : tensor<8xi32>
    %beyond = arith.cmpi sgt, %cols, %bounds : tensor<8xi32>
    %beyondrow = tile.expand_dims %beyond, 0 : tensor<8xi1> -> tensor<1x8xi1>
    %beyonds = tile.broadcast %beyondrow : tensor<1x8xi1> -> tensor<8x8xi1>
    %mask = arith.ori %beyonds, %outsides : tensor<8x8xi1>
    %p = arith.addf %acc, %x : tensor<8x8xf32>
    %v = arith.select %mask, %zero, %p : tensor<8x8xi1>, tensor<8x8xf32>
    scf.yield %v : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}

// Two selects with masks of their own: each is spared where its own mask is known.
// CHECK-LABEL: func.func @two
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK-DAG: %[[FALLS:.*]] = arith.cmpi slt, %[[I]], %{{.*}} : i32
// CHECK-DAG: %[[RISES:.*]] = arith.cmpi sge, %[[I]], %{{.*}} : i32
// CHECK: scf.if %[[FALLS]]
// CHECK: scf.if %[[RISES]]
func.func @two(%x: tensor<8xf32>, %n: i32, %end: i32) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %lanes = tile.arange 0 : tensor<8xi32>
  %ns = tile.splat %n : i32 -> tensor<8xi32>
  %r:2 = scf.for %i = %c0 to %end step %c8 iter_args(%acc = %zero, %acc2 = %zero) -> (tensor<8xf32>, tensor<8xf32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<8xi32>
    %cols = arith.addi %lanes, %is : tensor<8xi32>
    %before = arith.cmpi slt, %cols, %ns : tensor<8xi32>
    %v = arith.select %before, %x, %zero : tensor<8xi1>, tensor<8xf32>
    %behind = arith.cmpi sge, %cols, %ns : tensor<8xi32>
    %w = arith.select %behind, %x, %zero : tensor<8xi1>, tensor<8xf32>
    %s = arith.addf %acc, %v : tensor<8xf32>
    %t = arith.addf %acc2, %w : tensor<8xf32>
    scf.yield %s, %t : tensor<8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}

// A select in the inner loop with a mask of the outer one is in one branch, which asks for the outer loop's trip.
// CHECK-LABEL: func.func @nested
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK-NEXT: %[[KNOWN:.*]] = arith.cmpi sge, %[[I]]
// CHECK-NEXT: scf.for
// CHECK: scf.if %[[KNOWN]]
// CHECK-NOT: scf.if
// CHECK: return
func.func @nested(%x: tensor<8xf32>, %n: i32, %end: i32) -> tensor<8xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %lanes = tile.arange 0 : tensor<8xi32>
  %ns = tile.splat %n : i32 -> tensor<8xi32>
  %r = scf.for %i = %c0 to %end step %c8 iter_args(%acc = %zero) -> (tensor<8xf32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<8xi32>
    %cols = arith.addi %lanes, %is : tensor<8xi32>
    %mask = arith.cmpi sge, %cols, %ns : tensor<8xi32>
    %s = scf.for %k = %c0 to %n step %c1 iter_args(%inner = %acc) -> (tensor<8xf32>) : i32 {
      %p = arith.addf %inner, %x : tensor<8xf32>
      %v = arith.select %mask, %p, %zero : tensor<8xi1>, tensor<8xf32>
      scf.yield %v : tensor<8xf32>
    }
    scf.yield %s : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// Where both sides are computed alike, it is open which one is usual: a mask that rises stays.
// CHECK-LABEL: func.func @alike
// CHECK-NOT: scf.if
// CHECK: return
func.func @alike(%x: tensor<8xf32>, %y: tensor<8xf32>, %n: i32, %end: i32) -> tensor<8xf32> {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %lanes = tile.arange 0 : tensor<8xi32>
  %ns = tile.splat %n : i32 -> tensor<8xi32>
  %r = scf.for %i = %c0 to %end step %c8 iter_args(%acc = %x) -> (tensor<8xf32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<8xi32>
    %cols = arith.addi %lanes, %is : tensor<8xi32>
    %mask = arith.cmpi sge, %cols, %ns : tensor<8xi32>
    %p = arith.addf %acc, %x : tensor<8xf32>
    %q = arith.addf %acc, %y : tensor<8xf32>
    %v = arith.select %mask, %p, %q : tensor<8xi1>, tensor<8xf32>
    scf.yield %v : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}
