// SPDX-License-Identifier: Apache-2.0
// Shape operations only rename registers; numbers of elements are computed from lane and warp.
// RUN: fattn-opt %s -nvidia-lower-tensors | FileCheck %s

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#turned = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (0,8); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 | dim0: 8, dim1: 16">
#half = #tilegpu.regs<"register: 1 -> (0,1); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 8, dim1: 8">
#row = #tilegpu.regs<"register: 1 -> (8); lane: 1 -> (0), 2 -> (0), 4 -> (1), 8 -> (2), 16 -> (4); warp: 1 | dim0: 16">
#column = #tilegpu.regs<"register: 1 -> (8,0); lane: 1 -> (0,0), 2 -> (0,0), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 1">

// The second register is the first plus 8; nothing else is computed for 16 x 8 elements turned around.
// CHECK-LABEL: func.func @renames
// CHECK: %[[FIRST:.*]] = arith.xori
// CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]], %{{.*}} overflow<nsw, nuw> : i32
// CHECK-DAG: arith.muli %[[FIRST]], %[[FIRST]]
// CHECK-DAG: arith.muli %[[SECOND]], %[[SECOND]]
// CHECK-NOT: arith.muli
func.func @renames() attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %r = tile.arange 0 : tensor<16xi32, #row>
  %c = tile.expand_dims %r, 1 : tensor<16xi32, #row> -> tensor<16x1xi32, #column>
  %b = tile.broadcast %c : tensor<16x1xi32, #column> -> tensor<16x8xi32, #acc>
  %t = tile.trans %b, [1, 0] : tensor<16x8xi32, #acc> -> tensor<8x16xi32, #turned>
  %s = arith.muli %t, %t : tensor<8x16xi32, #turned>
  return
}

// The lower half of the rows.
// CHECK-LABEL: func.func @box
// CHECK: %[[FIRST:.*]] = arith.xori
// CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]]
// CHECK: arith.muli %[[SECOND]], %[[SECOND]]
// CHECK-NOT: arith.muli
func.func @box() attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %r = tile.arange 0 : tensor<16xi32, #row>
  %c = tile.expand_dims %r, 1 : tensor<16xi32, #row> -> tensor<16x1xi32, #column>
  %b = tile.broadcast %c : tensor<16x1xi32, #column> -> tensor<16x8xi32, #acc>
  %h = tilegpu.slice %b [8, 0] : tensor<16x8xi32, #acc> -> tensor<8x8xi32, #half>
  %s = arith.muli %h, %h : tensor<8x8xi32, #half>
  return
}

// Each thread has the element: nothing is exchanged.
// CHECK-LABEL: func.func @unsplat
// CHECK-SAME: (%[[X:.*]]: f16)
// CHECK: %[[BITS:.*]] = arith.bitcast %[[X]] : f16 to i16
// CHECK-NOT: nvvm.shfl
// CHECK: %[[BACK:.*]] = arith.bitcast %{{.*}} : i16 to f16
// CHECK: arith.addf %[[BACK]], %[[BACK]] : f16
#one = #tilegpu.regs<"register: 1; lane: 1 -> (0), 2 -> (0), 4 -> (0), 8 -> (0), 16 -> (0); warp: 1 | dim0: 1">
func.func @unsplat(%x: f16) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %t = tile.splat %x : f16 -> tensor<1xf16, #one>
  %y = tile.unsplat %t : tensor<1xf16, #one> -> f16
  %s = arith.addf %y, %y : f16
  return
}
