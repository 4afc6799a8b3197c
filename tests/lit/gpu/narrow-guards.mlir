// SPDX-License-Identifier: Apache-2.0
// A warp leaves out a mask where its own rows do not need one.
// RUN: fattn-opt %s -tilegpu-narrow-guards | FileCheck %s

#s = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 16">
#rows = #tilegpu.regs<"register: 1 -> (8,0); lane: 1 -> (0,0), 2 -> (0,0), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0), 4 -> (64,0) | dim0: 128, dim1: 1">
#columns = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,8); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (0,0), 8 -> (0,0), 16 -> (0,0); warp: 1 -> (0,0), 2 -> (0,0), 4 -> (0,0) | dim0: 1, dim1: 16">
#line = #tilegpu.regs<"register: 1 -> (1), 2 -> (8); lane: 1 -> (2), 2 -> (4), 4 -> (0), 8 -> (0), 16 -> (0); warp: 1 -> (0), 2 -> (0), 4 -> (0) | dim0: 16">

// n + 15 <= row, so n < row - 14, and n + 15 < end, so n < end - 15: the lesser of both takes the place of what holds for the whole block.
// CHECK-LABEL: func.func @rows_and_end
// CHECK: %[[LEAST:.*]] = tilegpu.warp_least %{{.*}} : tensor<128x1xi32
// CHECK-DAG: %[[WIDE:.*]] = arith.extsi %[[LEAST]] : i32 to i64
// CHECK-DAG: %[[C:.*]] = arith.constant -14 : i64
// CHECK: %[[BYROWS:.*]] = arith.addi %[[WIDE]], %[[C]] : i64
// CHECK-DAG: %[[C2:.*]] = arith.constant -15 : i64
// CHECK-DAG: %[[END:.*]] = arith.extsi %arg1 : i32 to i64
// CHECK: %[[BYEND:.*]] = arith.addi %[[END]], %[[C2]]
// CHECK: %[[BOTH:.*]] = arith.minsi %[[BYROWS]], %[[BYEND]] : i64
// CHECK: %[[KEPT:.*]] = arith.maxsi %[[BOTH]], %{{.*}} : i64
// CHECK: %[[FITS:.*]] = arith.minsi %[[KEPT]], %{{.*}} : i64
// CHECK: %[[MINE:.*]] = arith.trunci %[[FITS]] : i64 to i32
// CHECK: scf.for %[[N:[a-z0-9]*]] =
// CHECK: %[[USUAL:.*]] = arith.cmpi slt, %[[N]], %[[MINE]] : i32
// CHECK: scf.if %[[USUAL]]
func.func @rows_and_end(%n: i32, %end: i32, %bound: i32, %x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %s = tile.splat %x : f32 -> tensor<128x16xf32, #s>
  %zero = arith.constant dense<0.0> : tensor<128x16xf32, #s>
  %rows = tile.splat %n : i32 -> tensor<128x1xi32, #rows>
  %line = tile.arange 0 : tensor<16xi32, #line>
  %columns = tile.expand_dims %line, 0 : tensor<16xi32, #line> -> tensor<1x16xi32, #columns>
  %moved = arith.addi %rows, %rows : tensor<128x1xi32, #rows>
  %r = scf.for %i = %c0 to %n step %c16 iter_args(%acc = %zero) -> (tensor<128x16xf32, #s>) : i32 {
    %usual = arith.cmpi slt, %i, %bound : i32
    %masked = scf.if %usual -> (tensor<128x16xf32, #s>) {
      scf.yield %s : tensor<128x16xf32, #s>
    } else {
      %at = tile.splat %i : i32 -> tensor<1x16xi32, #columns>
      %column = arith.addi %columns, %at : tensor<1x16xi32, #columns>
      %all = tile.splat %end : i32 -> tensor<1x16xi32, #columns>
      %inside = arith.cmpi slt, %column, %all : tensor<1x16xi32, #columns>
      %a = tile.broadcast %column : tensor<1x16xi32, #columns> -> tensor<128x16xi32, #s>
      %b = tile.broadcast %moved : tensor<128x1xi32, #rows> -> tensor<128x16xi32, #s>
      %seen = arith.cmpi sle, %a, %b : tensor<128x16xi32, #s>
      %there = tile.broadcast %inside : tensor<1x16xi1, #columns> -> tensor<128x16xi1, #s>
      %mask = arith.andi %seen, %there : tensor<128x16xi1, #s>
      %chosen = arith.select %mask, %s, %zero : tensor<128x16xi1, #s>, tensor<128x16xf32, #s>
      scf.yield %chosen : tensor<128x16xf32, #s>
    }
    %sum = arith.addf %acc, %masked : tensor<128x16xf32, #s>
    scf.yield %sum : tensor<128x16xf32, #s>
  }
  return
}

// A first trip in front of its loop: n is 0, and 0 < bound stands turned round.
// CHECK-LABEL: func.func @first_trip
// CHECK: %[[LEAST:.*]] = tilegpu.warp_least %{{.*}} : tensor<128x1xi32
// CHECK: %[[MINE:.*]] = arith.trunci %{{.*}} : i64 to i32
// CHECK: %[[USUAL:.*]] = arith.cmpi slt, %c0_i32, %[[MINE]] : i32
// CHECK: scf.if %[[USUAL]]
func.func @first_trip(%n: i32, %bound: i32, %x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %s = tile.splat %x : f32 -> tensor<128x16xf32, #s>
  %zero = arith.constant dense<0.0> : tensor<128x16xf32, #s>
  %rows = tile.splat %n : i32 -> tensor<128x1xi32, #rows>
  %moved = arith.addi %rows, %rows : tensor<128x1xi32, #rows>
  %line = tile.arange 0 : tensor<16xi32, #line>
  %columns = tile.expand_dims %line, 0 : tensor<16xi32, #line> -> tensor<1x16xi32, #columns>
  %usual = arith.cmpi sgt, %bound, %c0 : i32
  %masked = scf.if %usual -> (tensor<128x16xf32, #s>) {
    scf.yield %s : tensor<128x16xf32, #s>
  } else {
    %a = tile.broadcast %columns : tensor<1x16xi32, #columns> -> tensor<128x16xi32, #s>
    %b = tile.broadcast %moved : tensor<128x1xi32, #rows> -> tensor<128x16xi32, #s>
    %seen = arith.cmpi sle, %a, %b : tensor<128x16xi32, #s>
    %chosen = arith.select %seen, %s, %zero : tensor<128x16xi1, #s>, tensor<128x16xf32, #s>
    scf.yield %chosen : tensor<128x16xf32, #s>
  }
  return
}

// n does not begin at 0: what is compared is not what the mask asks for.
// CHECK-LABEL: func.func @another_trip
// CHECK-NOT: warp_least
func.func @another_trip(%n: i32, %bound: i32, %x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64} {
  %c16 = arith.constant 16 : i32
  %s = tile.splat %x : f32 -> tensor<128x16xf32, #s>
  %zero = arith.constant dense<0.0> : tensor<128x16xf32, #s>
  %rows = tile.splat %n : i32 -> tensor<128x1xi32, #rows>
  %moved = arith.addi %rows, %rows : tensor<128x1xi32, #rows>
  %line = tile.arange 0 : tensor<16xi32, #line>
  %columns = tile.expand_dims %line, 0 : tensor<16xi32, #line> -> tensor<1x16xi32, #columns>
  %usual = arith.cmpi sgt, %bound, %c16 : i32
  %masked = scf.if %usual -> (tensor<128x16xf32, #s>) {
    scf.yield %s : tensor<128x16xf32, #s>
  } else {
    %a = tile.broadcast %columns : tensor<1x16xi32, #columns> -> tensor<128x16xi32, #s>
    %b = tile.broadcast %moved : tensor<128x1xi32, #rows> -> tensor<128x16xi32, #s>
    %seen = arith.cmpi sle, %a, %b : tensor<128x16xi32, #s>
    %chosen = arith.select %seen, %s, %zero : tensor<128x16xi1, #s>, tensor<128x16xf32, #s>
    scf.yield %chosen : tensor<128x16xf32, #s>
  }
  return
}

// The rows move with the trips: no one number holds for all of them.
// CHECK-LABEL: func.func @moving_rows
// CHECK-NOT: warp_least
func.func @moving_rows(%n: i32, %bound: i32, %x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %s = tile.splat %x : f32 -> tensor<128x16xf32, #s>
  %zero = arith.constant dense<0.0> : tensor<128x16xf32, #s>
  %rows = tile.splat %n : i32 -> tensor<128x1xi32, #rows>
  %line = tile.arange 0 : tensor<16xi32, #line>
  %columns = tile.expand_dims %line, 0 : tensor<16xi32, #line> -> tensor<1x16xi32, #columns>
  %r:2 = scf.for %i = %c0 to %n step %c16 iter_args(%acc = %zero, %row = %rows) -> (tensor<128x16xf32, #s>, tensor<128x1xi32, #rows>) : i32 {
    %usual = arith.cmpi slt, %i, %bound : i32
    %masked = scf.if %usual -> (tensor<128x16xf32, #s>) {
      scf.yield %s : tensor<128x16xf32, #s>
    } else {
      %at = tile.splat %i : i32 -> tensor<1x16xi32, #columns>
      %column = arith.addi %columns, %at : tensor<1x16xi32, #columns>
      %a = tile.broadcast %column : tensor<1x16xi32, #columns> -> tensor<128x16xi32, #s>
      %b = tile.broadcast %row : tensor<128x1xi32, #rows> -> tensor<128x16xi32, #s>
      %seen = arith.cmpi sle, %a, %b : tensor<128x16xi32, #s>
      %chosen = arith.select %seen, %s, %zero : tensor<128x16xi1, #s>, tensor<128x16xf32, #s>
      scf.yield %chosen : tensor<128x16xf32, #s>
    }
    %sum = arith.addf %acc, %masked : tensor<128x16xf32, #s>
    %next = arith.addi %row, %rows : tensor<128x1xi32, #rows>
    scf.yield %sum, %next : tensor<128x16xf32, #s>, tensor<128x1xi32, #rows>
  }
  return
}

// Where all warps meet in each trip nothing is gained: a block without a role of its own for copies keeps its branch.
// CHECK-LABEL: func.func @together
// CHECK-NOT: warp_least
func.func @together(%n: i32, %bound: i32, %x: f32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %s = tile.splat %x : f32 -> tensor<128x16xf32, #s>
  %zero = arith.constant dense<0.0> : tensor<128x16xf32, #s>
  %rows = tile.splat %n : i32 -> tensor<128x1xi32, #rows>
  %line = tile.arange 0 : tensor<16xi32, #line>
  %columns = tile.expand_dims %line, 0 : tensor<16xi32, #line> -> tensor<1x16xi32, #columns>
  %r = scf.for %i = %c0 to %n step %c16 iter_args(%acc = %zero) -> (tensor<128x16xf32, #s>) : i32 {
    %usual = arith.cmpi slt, %i, %bound : i32
    %masked = scf.if %usual -> (tensor<128x16xf32, #s>) {
      scf.yield %s : tensor<128x16xf32, #s>
    } else {
      %at = tile.splat %i : i32 -> tensor<1x16xi32, #columns>
      %column = arith.addi %columns, %at : tensor<1x16xi32, #columns>
      %a = tile.broadcast %column : tensor<1x16xi32, #columns> -> tensor<128x16xi32, #s>
      %b = tile.broadcast %rows : tensor<128x1xi32, #rows> -> tensor<128x16xi32, #s>
      %seen = arith.cmpi sle, %a, %b : tensor<128x16xi32, #s>
      %chosen = arith.select %seen, %s, %zero : tensor<128x16xi1, #s>, tensor<128x16xf32, #s>
      scf.yield %chosen : tensor<128x16xf32, #s>
    }
    %sum = arith.addf %acc, %masked : tensor<128x16xf32, #s>
    scf.yield %sum : tensor<128x16xf32, #s>
  }
  return
}
