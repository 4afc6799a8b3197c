// SPDX-License-Identifier: Apache-2.0
// Conversions become fewer, smaller and rarer where that is cheaper.
// RUN: fattn-opt %s -split-input-file -tilegpu-remove-conversions | FileCheck %s

#c = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 32">
#l = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (32,0); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (8,0), 2 -> (16,0) | dim0: 64, dim1: 32">

// There and back again is where it was.
// CHECK-LABEL: func.func @fold
// CHECK-NEXT: return %arg0
func.func @fold(%x: tensor<64x32xf32, #c>) -> tensor<64x32xf32, #c> attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %0 = tilegpu.convert_layout %x : tensor<64x32xf32, #c> -> tensor<64x32xf32, #l>
  %1 = tilegpu.convert_layout %0 : tensor<64x32xf32, #l> -> tensor<64x32xf32, #c>
  return %1 : tensor<64x32xf32, #c>
}

// A cheap chain is made again in the other layout.
// CHECK-LABEL: func.func @cheap
// CHECK-NOT: convert_layout
// CHECK: return
func.func @cheap(%n: f32) -> tensor<64x32xf32, #l> attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %one = arith.constant dense<1.0> : tensor<64x32xf32, #c>
  %s = tile.splat %n : f32 -> tensor<64x32xf32, #c>
  %x = arith.addf %s, %one : tensor<64x32xf32, #c>
  %0 = tilegpu.convert_layout %x : tensor<64x32xf32, #c> -> tensor<64x32xf32, #l>
  return %0 : tensor<64x32xf32, #l>
}

// The narrower elements are moved: before extf, after truncf.
// CHECK-LABEL: func.func @extend
// CHECK: %[[C:.*]] = tilegpu.convert_layout %arg0 : tensor<64x32xbf16, #regs> -> tensor<64x32xbf16, #regs1>
// CHECK: arith.extf %[[C]]
func.func @extend(%x: tensor<64x32xbf16, #c>) -> tensor<64x32xf32, #l> attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %e = arith.extf %x : tensor<64x32xbf16, #c> to tensor<64x32xf32, #c>
  %0 = tilegpu.convert_layout %e : tensor<64x32xf32, #c> -> tensor<64x32xf32, #l>
  return %0 : tensor<64x32xf32, #l>
}
// CHECK-LABEL: func.func @truncate
// CHECK: %[[T:.*]] = arith.truncf %arg0
// CHECK: tilegpu.convert_layout %[[T]]
func.func @truncate(%x: tensor<64x32xf32, #c>) -> tensor<64x32xbf16, #l> attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %0 = tilegpu.convert_layout %x : tensor<64x32xf32, #c> -> tensor<64x32xf32, #l>
  %t = arith.truncf %0 : tensor<64x32xf32, #l> to tensor<64x32xbf16, #l>
  return %t : tensor<64x32xbf16, #l>
}

// Two conversions become one behind the operation; a constant beside them is no obstacle.
// CHECK-LABEL: func.func @join
// CHECK: %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<64x32xf32, #regs>
// CHECK: %[[F:.*]] = math.fma %arg0, %[[TWO]], %arg1 : tensor<64x32xf32, #regs>
// CHECK: %[[C:.*]] = tilegpu.convert_layout %[[F]]
// CHECK: return %[[C]]
func.func @join(%x: tensor<64x32xf32, #c>, %y: tensor<64x32xf32, #c>) -> tensor<64x32xf32, #l> attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %two = arith.constant dense<2.0> : tensor<64x32xf32, #l>
  %0 = tilegpu.convert_layout %x : tensor<64x32xf32, #c> -> tensor<64x32xf32, #l>
  %1 = tilegpu.convert_layout %y : tensor<64x32xf32, #c> -> tensor<64x32xf32, #l>
  %f = math.fma %0, %two, %1 : tensor<64x32xf32, #l>
  return %f : tensor<64x32xf32, #l>
}

// What is reduced is smaller than what reduces to it, and what is broadcast smaller than what it becomes.
// CHECK-LABEL: func.func @reduce
// CHECK: %[[R:.*]] = tile.reduce %arg0 axis 1
// CHECK: %[[C:.*]] = tilegpu.convert_layout %[[R]] : tensor<64xf32
// CHECK: return %[[C]]
func.func @reduce(%x: tensor<64x32xf32, #c>) -> tensor<64xf32, #tilegpu.regs<"register: 1 -> (32); lane: 1 -> (0), 2 -> (0), 4 -> (1), 8 -> (2), 16 -> (4); warp: 1 -> (8), 2 -> (16) | dim0: 64">> attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %0 = tilegpu.convert_layout %x : tensor<64x32xf32, #c> -> tensor<64x32xf32, #l>
  %r = tile.reduce %0 axis 1 : tensor<64x32xf32, #l> -> tensor<64xf32, #tilegpu.regs<"register: 1 -> (32); lane: 1 -> (0), 2 -> (0), 4 -> (1), 8 -> (2), 16 -> (4); warp: 1 -> (8), 2 -> (16) | dim0: 64">> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  }
  return %r : tensor<64xf32, #tilegpu.regs<"register: 1 -> (32); lane: 1 -> (0), 2 -> (0), 4 -> (1), 8 -> (2), 16 -> (4); warp: 1 -> (8), 2 -> (16) | dim0: 64">>
}
// CHECK-LABEL: func.func @broadcast
// CHECK: %[[C:.*]] = tilegpu.convert_layout %arg0 : tensor<64x1xf32
// CHECK: tile.broadcast %[[C]]
func.func @broadcast(%x: tensor<64x1xf32, #tilegpu.regs<"register: 1 -> (8,0); lane: 1 -> (0,0), 2 -> (0,0), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 1">>) -> tensor<64x32xf32, #l> attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %b = tile.broadcast %x : tensor<64x1xf32, #tilegpu.regs<"register: 1 -> (8,0); lane: 1 -> (0,0), 2 -> (0,0), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 1">> -> tensor<64x32xf32, #c>
  %0 = tilegpu.convert_layout %b : tensor<64x32xf32, #c> -> tensor<64x32xf32, #l>
  return %0 : tensor<64x32xf32, #l>
}

// What does not change in a loop is converted before it.
// CHECK-LABEL: func.func @hoist
// CHECK: tilegpu.convert_layout
// CHECK: scf.for
// CHECK-NOT: tilegpu.convert_layout
// CHECK: return
func.func @hoist(%x: tensor<64x32xf32, #c>, %y: tensor<64x32xf32, #l>, %n: index) -> tensor<64x32xf32, #l> attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %y) -> tensor<64x32xf32, #l> {
    %0 = tilegpu.convert_layout %x : tensor<64x32xf32, #c> -> tensor<64x32xf32, #l>
    %next = arith.addf %acc, %0 : tensor<64x32xf32, #l>
    scf.yield %next : tensor<64x32xf32, #l>
  }
  return %r : tensor<64x32xf32, #l>
}
