// Program ids are those of a program that follows the one before on the same die.
// RUN: fattn-opt %s -tilegpu-gather-programs -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @plain
// CHECK-SAME: tilegpu.die_order = array<i64: 8, 0>
// CHECK: %[[DIES:.*]] = arith.constant 8 : i32
// CHECK: %[[X:.*]] = tile.program_id x
// CHECK: %[[GX:.*]] = tile.num_programs x
// CHECK: %[[Y:.*]] = tile.program_id y
// CHECK: %[[GY:.*]] = tile.num_programs y
// CHECK: %[[Z:.*]] = tile.program_id z
// CHECK: %[[GZ:.*]] = tile.num_programs z
// CHECK: %[[FITS:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : i64
// CHECK: %[[PLANE:.*]] = arith.muli %[[GX]], %[[GY]]
// CHECK: %[[ALL:.*]] = arith.muli %[[PLANE]], %[[GZ]]
// CHECK: %[[BLOCK:.*]] = arith.addi %[[X]], %{{.*}}
// CHECK: %[[FEW:.*]] = arith.divui %[[ALL]], %[[DIES]]
// CHECK: %[[MORE:.*]] = arith.remui %[[ALL]], %[[DIES]]
// CHECK: %[[DIE:.*]] = arith.remui %[[BLOCK]], %[[DIES]]
// CHECK: %[[TURN:.*]] = arith.divui %[[BLOCK]], %[[DIES]]
// CHECK: %[[BEFORE:.*]] = arith.muli %[[DIE]], %[[FEW]]
// CHECK: %[[LONGER:.*]] = arith.minui %[[DIE]], %[[MORE]]
// CHECK: %[[BEGIN:.*]] = arith.addi %[[BEFORE]], %[[LONGER]]
// CHECK: %[[PROGRAM:.*]] = arith.addi %[[BEGIN]], %[[TURN]]
// CHECK: %[[PX:.*]] = arith.remui %[[PROGRAM]], %[[GX]]
// CHECK: %[[REST:.*]] = arith.divui %[[PROGRAM]], %[[GX]]
// CHECK: %[[PY:.*]] = arith.remui %[[REST]], %[[GY]]
// CHECK: %[[PZ:.*]] = arith.divui %[[REST]], %[[GY]]
// CHECK: %[[ID:.*]] = arith.select %[[FITS]], %[[PX]], %[[X]]
// CHECK: arith.select %[[FITS]], %[[PY]], %[[Y]]
// CHECK: arith.select %[[FITS]], %[[PZ]], %[[Z]]
// CHECK-NOT: tile.program_id
// CHECK: arith.extsi %[[ID]]
func.func @plain(%p: !tile.ptr<f32>, %n: i64) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 4 : i64} {
  %v = arith.constant dense<1.0> : tensor<4xf32>
  %x = tile.program_id x : i32
  %at = arith.extsi %x : i32 to i64
  %q = tile.make_block_ptr %p, shape[%n], strides[%n], offsets[%at] : !tile.ptr<f32> -> !tile.block_ptr<4xf32>
  tile.store %q, %v : !tile.block_ptr<4xf32>, tensor<4xf32>
  return
}

// -----

// Loops are as long as the id along y says: programs are numbered along y first.
// CHECK-LABEL: func.func @uneven
// CHECK-SAME: tilegpu.die_order = array<i64: 8, 1>
// CHECK: %[[GX:.*]] = tile.num_programs x
// CHECK: %[[GY:.*]] = tile.num_programs y
// CHECK: arith.minui %{{.*}}, %{{.*}} : i32
// CHECK: arith.addi
// CHECK: %[[PROGRAM:.*]] = arith.addi
// CHECK: arith.remui %[[PROGRAM]], %[[GY]]
// CHECK: %[[REST:.*]] = arith.divui %[[PROGRAM]], %[[GY]]
// CHECK: arith.remui %[[REST]], %[[GX]]
func.func @uneven(%p: !tile.ptr<f32>, %n: i64) attributes {tile.kernel, tilegpu.target = "amd:gfx950", tilegpu.warps = 4 : i64} {
  %x = tile.program_id x : i32
  %y = tile.program_id y : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %v = arith.constant dense<1.0> : tensor<4xf32>
  %at = arith.extsi %x : i32 to i64
  %q = tile.make_block_ptr %p, shape[%n], strides[%n], offsets[%at] : !tile.ptr<f32> -> !tile.block_ptr<4xf32>
  scf.for %i = %c0 to %y step %c1 : i32 {
    tile.store %q, %v : !tile.block_ptr<4xf32>, tensor<4xf32>
  }
  return
}

// -----

// CHECK-LABEL: func.func @asks_for_no_id
// CHECK-NOT: die_order
// CHECK-NEXT: return
func.func @asks_for_no_id() attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 4 : i64} {
  return
}

// -----

// expected-error-re @below {{{{an order with `dies` gathers programs on dies, of which amd:gfx1100 has one.*it is for amd:gfx942, amd:gfx950}}}}
func.func @one_die() attributes {tile.kernel, tilegpu.target = "amd:gfx1100", tilegpu.warps = 4 : i64} {
  return
}
