// SPDX-License-Identifier: Apache-2.0
// Reductions within a warp: the registers of a line first, then lanes, one shuffle a word.
// RUN: fattn-opt %s -split-input-file -nvidia-lower-tensors | FileCheck %s

#acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
#row = #tilegpu.regs<"register: 1 -> (8); lane: 1 -> (0), 2 -> (0), 4 -> (1), 8 -> (2), 16 -> (4); warp: 1 | dim0: 16">

// Two rows a lane, four lanes a row.
// CHECK-LABEL: func.func @rows
// CHECK: %[[A:.*]] = arith.constant 1.000000e+00 : f32
// CHECK: %[[R0:.*]] = arith.addf %[[A]], %[[A]] : f32
// CHECK: %[[R1:.*]] = arith.addf %[[A]], %[[A]] : f32
// CHECK-COUNT-4: nvvm.shfl.sync
// CHECK-NOT: nvvm.shfl.sync
func.func @rows(%p: !tile.ptr<f32>) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %x = arith.constant dense<1.0> : tensor<16x8xf32, #acc>
  %s = tile.reduce %x axis 1 : tensor<16x8xf32, #acc> -> tensor<16xf32, #row> {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    tile.yield %sum : f32
  }
  return
}

// Two 16-bit elements travel in one word: half the shuffles.
// CHECK-LABEL: func.func @halves
// CHECK-COUNT-2: nvvm.shfl.sync
// CHECK-NOT: nvvm.shfl.sync
func.func @halves() attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %x = arith.constant dense<1.0> : tensor<16x8xf16, #acc>
  %s = tile.reduce %x axis 1 : tensor<16x8xf16, #acc> -> tensor<16xf16, #row> {
  ^bb0(%a: f16, %b: f16):
    %max = arith.maximumf %a, %b : f16
    tile.yield %max : f16
  }
  return
}

// A 64-bit element takes two words.
// CHECK-LABEL: func.func @wide
// CHECK-COUNT-8: nvvm.shfl.sync
// CHECK-NOT: nvvm.shfl.sync
func.func @wide() attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %x = arith.constant dense<1> : tensor<16x8xi64, #acc>
  %s = tile.reduce %x axis 1 : tensor<16x8xi64, #acc> -> tensor<16xi64, #row> {
  ^bb0(%a: i64, %b: i64):
    %sum = arith.addi %a, %b : i64
    tile.yield %sum : i64
  }
  return
}

// The position of the largest element: two operands, combined by one region.
// CHECK-LABEL: func.func @two
// CHECK: arith.cmpf ogt
// CHECK: arith.select {{.*}} : f32
// CHECK: arith.select {{.*}} : i32
// CHECK-COUNT-8: nvvm.shfl.sync
func.func @two() attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 1 : i64} {
  %x = arith.constant dense<1.0> : tensor<16x8xf32, #acc>
  %i = arith.constant dense<1> : tensor<16x8xi32, #acc>
  %s:2 = tile.reduce %x, %i axis 1 : tensor<16x8xf32, #acc>, tensor<16x8xi32, #acc> -> tensor<16xf32, #row>, tensor<16xi32, #row> {
  ^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):
    %larger = arith.cmpf ogt, %a, %b : f32
    %v = arith.select %larger, %a, %b : f32
    %w = arith.select %larger, %ai, %bi : i32
    tile.yield %v, %w : f32, i32
  }
  return
}
