// Masks in both directions count what they count without the passes, where nothing wraps around and where a sum does.
// RUN: fattn-opt --interpret %s | FileCheck %s
// RUN: fattn-opt -tile-guard-masks -canonicalize --interpret %s | FileCheck %s
// RUN: fattn-opt -tile-split-loops -canonicalize --interpret %s | FileCheck %s
// RUN: fattn-opt -tile-guard-masks -tile-split-loops -canonicalize --interpret %s | FileCheck %s

// Columns i .. i+3 from n on, in steps of 3 from 2: the first whole trip is in no multiple of the step from 0.
// CHECK-LABEL: @rises
// CHECK: counts [129, 129, 140, 140]
func.func @rises(%n: i32 {tile.init = 13 : i32}, %end: i32 {tile.init = 30 : i32}) {
  %none = arith.constant dense<0> : tensor<4xi32>
  %lanes = tile.arange 0 : tensor<4xi32>
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %r = scf.for %i = %c2 to %end step %c3 iter_args(%acc = %none) -> (tensor<4xi32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<4xi32>
    %cols = arith.addi %lanes, %is : tensor<4xi32>
    %ns_mask = tile.splat %n : i32 -> tensor<4xi32>
    %mask = arith.cmpi sge, %cols, %ns_mask : tensor<4xi32>
    %p = tile.splat %i : i32 -> tensor<4xi32>
    %v = arith.select %mask, %p, %none : tensor<4xi1>, tensor<4xi32>
    %s = arith.addi %acc, %v : tensor<4xi32>
    scf.yield %s : tensor<4xi32>
  }
  tile.device_print "counts", %r : tensor<4xi32>
  return
}

// A bound beyond the last trip: no trip knows it, some are partial.
// CHECK-LABEL: @never
// CHECK: counts [0, 0, 8, 8]
func.func @never(%n: i32 {tile.init = 9 : i32}, %end: i32 {tile.init = 12 : i32}) {
  %none = arith.constant dense<0> : tensor<4xi32>
  %lanes = tile.arange 0 : tensor<4xi32>
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %r = scf.for %i = %c0 to %end step %c4 iter_args(%acc = %none) -> (tensor<4xi32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<4xi32>
    %cols = arith.addi %lanes, %is : tensor<4xi32>
    %ns_mask = tile.splat %n : i32 -> tensor<4xi32>
    %mask = arith.cmpi sgt, %cols, %ns_mask : tensor<4xi32>
    %p = tile.splat %i : i32 -> tensor<4xi32>
    %v = arith.select %mask, %p, %none : tensor<4xi1>, tensor<4xi32>
    %s = arith.addi %acc, %v : tensor<4xi32>
    scf.yield %s : tensor<4xi32>
  }
  tile.device_print "counts", %r : tensor<4xi32>
  return
}

// No trips at all.
// CHECK-LABEL: @no_trips
// CHECK: counts [0, 0, 0, 0]
func.func @no_trips(%n: i32 {tile.init = -9 : i32}, %end: i32 {tile.init = -5 : i32}) {
  %none = arith.constant dense<0> : tensor<4xi32>
  %lanes = tile.arange 0 : tensor<4xi32>
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %r = scf.for %i = %c0 to %end step %c4 iter_args(%acc = %none) -> (tensor<4xi32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<4xi32>
    %cols = arith.addi %lanes, %is : tensor<4xi32>
    %ns_mask = tile.splat %n : i32 -> tensor<4xi32>
    %mask = arith.cmpi sgt, %cols, %ns_mask : tensor<4xi32>
    %p = tile.splat %i : i32 -> tensor<4xi32>
    %v = arith.select %mask, %p, %none : tensor<4xi1>, tensor<4xi32>
    %s = arith.addi %acc, %v : tensor<4xi32>
    scf.yield %s : tensor<4xi32>
  }
  tile.device_print "counts", %r : tensor<4xi32>
  return
}

// Blocks from the last one down; the tail comes first.
// CHECK-LABEL: @downwards
// CHECK: counts [6, 6, 6, 6]
func.func @downwards(%n: i32 {tile.init = 14 : i32}, %blocks: i32 {tile.init = 4 : i32}) {
  %none = arith.constant dense<0> : tensor<4xi32>
  %lanes = tile.arange 0 : tensor<4xi32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %last = arith.subi %blocks, %c1 : i32
  %r = scf.for %i = %c0 to %blocks step %c1 iter_args(%acc = %none) -> (tensor<4xi32>) : i32 {
    %block = arith.subi %last, %i : i32
    %at = arith.muli %block, %c4 : i32
    %is = tile.splat %at : i32 -> tensor<4xi32>
    %cols = arith.addi %lanes, %is : tensor<4xi32>
    %ns_mask = tile.splat %n : i32 -> tensor<4xi32>
    %mask = arith.cmpi slt, %cols, %ns_mask : tensor<4xi32>
    %p = tile.splat %i : i32 -> tensor<4xi32>
    %v = arith.select %mask, %p, %none : tensor<4xi1>, tensor<4xi32>
    %s = arith.addi %acc, %v : tensor<4xi32>
    scf.yield %s : tensor<4xi32>
  }
  tile.device_print "counts", %r : tensor<4xi32>
  return
}

// A window of 9 columns in steps of 2, which an argument gives, with a dot in the trip.
// CHECK-LABEL: @window
// CHECK: counts [75, 56, 65, 48]
func.func @window(%from: i32 {tile.init = 11 : i32}, %to: i32 {tile.init = 20 : i32}, %end: i32 {tile.init = 40 : i32}, %by: i32 {tile.init = 2 : i32}) {
  %none = arith.constant dense<0> : tensor<4xi32>
  %square = arith.constant dense<0.0> : tensor<4x4xf32>
  %lanes = tile.arange 0 : tensor<4xi32>
  %c1 = arith.constant 1 : i32
  %r:2 = scf.for %i = %c1 to %end step %by iter_args(%acc = %none, %dots = %square) -> (tensor<4xi32>, tensor<4x4xf32>) : i32 {
    %unused = tile.dot %square, %square, %dots : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %is = tile.splat %i : i32 -> tensor<4xi32>
    %cols = arith.addi %lanes, %is : tensor<4xi32>
    %froms_above = tile.splat %from : i32 -> tensor<4xi32>
    %above = arith.cmpi sge, %cols, %froms_above : tensor<4xi32>
    %tos_below = tile.splat %to : i32 -> tensor<4xi32>
    %below = arith.cmpi slt, %cols, %tos_below : tensor<4xi32>
    %mask = arith.andi %above, %below : tensor<4xi1>
    %p = tile.splat %i : i32 -> tensor<4xi32>
    %v = arith.select %mask, %p, %none : tensor<4xi1>, tensor<4xi32>
    %s = arith.addi %acc, %v : tensor<4xi32>
    scf.yield %s, %unused : tensor<4xi32>, tensor<4x4xf32>
  }
  tile.device_print "counts", %r#0 : tensor<4xi32>
  return
}

// A window narrower than the tile is whole in no trip.
// CHECK-LABEL: @narrow
// CHECK: counts [12, 12, 0, 8]
func.func @narrow(%from: i32 {tile.init = 11 : i32}, %to: i32 {tile.init = 14 : i32}, %end: i32 {tile.init = 40 : i32}) {
  %none = arith.constant dense<0> : tensor<4xi32>
  %square = arith.constant dense<0.0> : tensor<4x4xf32>
  %lanes = tile.arange 0 : tensor<4xi32>
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %r:2 = scf.for %i = %c0 to %end step %c4 iter_args(%acc = %none, %dots = %square) -> (tensor<4xi32>, tensor<4x4xf32>) : i32 {
    %unused = tile.dot %square, %square, %dots : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %is = tile.splat %i : i32 -> tensor<4xi32>
    %cols = arith.addi %lanes, %is : tensor<4xi32>
    %froms_above = tile.splat %from : i32 -> tensor<4xi32>
    %above = arith.cmpi sge, %cols, %froms_above : tensor<4xi32>
    %tos_below = tile.splat %to : i32 -> tensor<4xi32>
    %below = arith.cmpi slt, %cols, %tos_below : tensor<4xi32>
    %mask = arith.andi %above, %below : tensor<4xi1>
    %p = tile.splat %i : i32 -> tensor<4xi32>
    %v = arith.select %mask, %p, %none : tensor<4xi1>, tensor<4xi32>
    %s = arith.addi %acc, %v : tensor<4xi32>
    scf.yield %s, %unused : tensor<4xi32>, tensor<4x4xf32>
  }
  tile.device_print "counts", %r#0 : tensor<4xi32>
  return
}

// What the mask leaves out: columns below from, and from `to` on.
// CHECK-LABEL: @excluded
// CHECK: counts [100, 100, 72, 80]
func.func @excluded(%from: i32 {tile.init = 11 : i32}, %to: i32 {tile.init = 30 : i32}, %end: i32 {tile.init = 40 : i32}) {
  %none = arith.constant dense<0> : tensor<4xi32>
  %lanes = tile.arange 0 : tensor<4xi32>
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %r = scf.for %i = %c0 to %end step %c4 iter_args(%acc = %none) -> (tensor<4xi32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<4xi32>
    %cols = arith.addi %lanes, %is : tensor<4xi32>
    %froms_before = tile.splat %from : i32 -> tensor<4xi32>
    %before = arith.cmpi slt, %cols, %froms_before : tensor<4xi32>
    %tos_behind = tile.splat %to : i32 -> tensor<4xi32>
    %behind = arith.cmpi sge, %cols, %tos_behind : tensor<4xi32>
    %mask = arith.ori %before, %behind : tensor<4xi1>
    %p = tile.splat %i : i32 -> tensor<4xi32>
    %v = arith.select %mask, %none, %p : tensor<4xi1>, tensor<4xi32>
    %s = arith.addi %acc, %v : tensor<4xi32>
    scf.yield %s : tensor<4xi32>
  }
  tile.device_print "counts", %r : tensor<4xi32>
  return
}

// a + b wraps around to a negative number: all columns are at least that.
// CHECK-LABEL: @limit_wraps
// CHECK: counts [12, 12, 12, 12]
func.func @limit_wraps(%a: i32 {tile.init = 2147483600 : i32}, %b: i32 {tile.init = 100 : i32}, %end: i32 {tile.init = 12 : i32}) {
  %none = arith.constant dense<0> : tensor<4xi32>
  %lanes = tile.arange 0 : tensor<4xi32>
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %n = arith.addi %a, %b : i32
  %r = scf.for %i = %c0 to %end step %c4 iter_args(%acc = %none) -> (tensor<4xi32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<4xi32>
    %cols = arith.addi %lanes, %is : tensor<4xi32>
    %ns_mask = tile.splat %n : i32 -> tensor<4xi32>
    %mask = arith.cmpi sge, %cols, %ns_mask : tensor<4xi32>
    %p = tile.splat %i : i32 -> tensor<4xi32>
    %v = arith.select %mask, %p, %none : tensor<4xi1>, tensor<4xi32>
    %s = arith.addi %acc, %v : tensor<4xi32>
    scf.yield %s : tensor<4xi32>
  }
  tile.device_print "counts", %r : tensor<4xi32>
  return
}

// The columns wrap around: from 2147483648 on they are negative, below every limit.
// CHECK-LABEL: @tile_wraps
// CHECK: counts [12, 12, 4, 4]
func.func @tile_wraps(%base: i32 {tile.init = 2147483638 : i32}, %n: i32 {tile.init = 0 : i32}, %end: i32 {tile.init = 16 : i32}) {
  %none = arith.constant dense<0> : tensor<4xi32>
  %lanes = tile.arange 0 : tensor<4xi32>
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %r = scf.for %i = %c0 to %end step %c4 iter_args(%acc = %none) -> (tensor<4xi32>) : i32 {
    %js = arith.addi %base, %i : i32
    %is = tile.splat %js : i32 -> tensor<4xi32>
    %cols = arith.addi %lanes, %is : tensor<4xi32>
    %ns_mask = tile.splat %n : i32 -> tensor<4xi32>
    %mask = arith.cmpi sge, %cols, %ns_mask : tensor<4xi32>
    %p = tile.splat %i : i32 -> tensor<4xi32>
    %v = arith.select %mask, %p, %none : tensor<4xi1>, tensor<4xi32>
    %s = arith.addi %acc, %v : tensor<4xi32>
    scf.yield %s : tensor<4xi32>
  }
  tile.device_print "counts", %r : tensor<4xi32>
  return
}

// One end of a window wraps around, the other does not: no column is inside.
// CHECK-LABEL: @window_wraps
// CHECK: counts [0, 0, 0, 0]
func.func @window_wraps(%a: i32 {tile.init = 2147483600 : i32}, %b: i32 {tile.init = 100 : i32}, %from: i32 {tile.init = 2 : i32}, %end: i32 {tile.init = 16 : i32}) {
  %none = arith.constant dense<0> : tensor<4xi32>
  %square = arith.constant dense<0.0> : tensor<4x4xf32>
  %lanes = tile.arange 0 : tensor<4xi32>
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %to = arith.addi %a, %b : i32
  %r:2 = scf.for %i = %c0 to %end step %c4 iter_args(%acc = %none, %dots = %square) -> (tensor<4xi32>, tensor<4x4xf32>) : i32 {
    %unused = tile.dot %square, %square, %dots : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %is = tile.splat %i : i32 -> tensor<4xi32>
    %cols = arith.addi %lanes, %is : tensor<4xi32>
    %froms_above = tile.splat %from : i32 -> tensor<4xi32>
    %above = arith.cmpi sge, %cols, %froms_above : tensor<4xi32>
    %tos_below = tile.splat %to : i32 -> tensor<4xi32>
    %below = arith.cmpi slt, %cols, %tos_below : tensor<4xi32>
    %mask = arith.andi %above, %below : tensor<4xi1>
    %p = tile.splat %i : i32 -> tensor<4xi32>
    %v = arith.select %mask, %p, %none : tensor<4xi1>, tensor<4xi32>
    %s = arith.addi %acc, %v : tensor<4xi32>
    scf.yield %s, %unused : tensor<4xi32>, tensor<4x4xf32>
  }
  tile.device_print "counts", %r#0 : tensor<4xi32>
  return
}
